package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/loadtest/internal/contenders"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/explain"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/segments"
	"inventory/loadtest/internal/servers"
)

// comparisonFlags are those of all comparisons.
type comparisonFlags struct {
	reportFlags
	seedFlag
	Tiny        bool   `help:"Hardly anything of each case, for tests." hidden:""`
	RedisURL    string `help:"The Redis of all who are compared: redis://USER:PASSWORD@HOST:PORT/DB, or rediss://… with TLS. Default: one started for this run." placeholder:"URL"`
	DatabaseURL string `help:"A database on the PostgreSQL of all who are compared, which must sync its commits where orders are sold, and let this user create databases, which are dropped in the end: postgres://USER:PASSWORD@HOST:PORT/DATABASE. Default: a server started for this run." placeholder:"URL"`
}

// caseFlags choose among cases.
type caseFlags struct {
	Quick bool     `help:"One short round of each case, with fewer contenders or less of them. Default: off."`
	Case  []string `help:"Only the cases of these names, separated by semicolons. Default: all." sep:";" placeholder:"NAME"`
}

// config is what the flags say, for some cases.
func (f comparisonFlags) config(cases, worker []string, progress func(name string)) experiment.Config {
	return experiment.Config{
		URLs: servers.URLs{RedisURL: f.RedisURL, DatabaseURL: f.DatabaseURL}, Seed: f.drawn(), Cases: cases, Worker: worker, Progress: progress,
	}
}

// scaleOf is how much is measured.
func scaleOf[S any](tiny, quick bool, tinyScale, quickScale, full func() S) S {
	switch {
	case tiny:
		return tinyScale()
	case quick:
		return quickScale()
	}
	return full()
}

// telling tells what is done.
func telling(s cli.Streams, format string) func(name string) {
	return func(name string) { _, _ = fmt.Fprintf(s.Err, format+"\n", name) }
}

// result is what a run has come to.
type result interface {
	Began() bool // there is something to tell
	Document() (report.Document, error)
	Err() error // what must not be
}

// documented is what a result tells, beside what has ended the run and what must not be.
func documented(r result, err error) (report.Document, error) {
	if !r.Began() {
		return report.Document{}, err
	}
	document, unwritten := r.Document()
	return document, errors.Join(err, unwritten, r.Err())
}

// compare measures, and delivers the report.
func (f comparisonFlags) compare(ctx context.Context, s cli.Streams, worker string, measure func(ctx context.Context, worker []string) (result, error)) error {
	return f.deliver(ctx, s, func(ctx context.Context) (report.Document, error) {
		command, err := itself(worker)
		if err != nil {
			return report.Document{}, err
		}
		return documented(measure(ctx, command))
	})
}

type contendersCommand struct {
	comparisonFlags
	caseFlags
	Generator string `help:"What sends the requests over HTTP: wrk, or lab, which is this program. Default: wrk where it is on PATH, else lab." placeholder:"NAME"`
}

// Help is what --help and list tell beside the flags.
func (c *contendersCommand) Help() string {
	return about{
		Shows: "accepted orders a second and latencies of each design, from a row with a conditional UPDATE to this service over HTTP, with ratios within each round; of one hot SKU, and of mixes of many.",
		Full:  "about half an hour, of which the mixes take half, and two tables with 5 million orders each some", Quick: "under two minutes, with 50,000 orders",
		Needs: needsServers + " Over HTTP wrk sends where it is on PATH.", Cases: contenders.Names(),
	}.String()
}

// Validate tells kong which flag is wrong.
func (c *contendersCommand) Validate() error {
	return errors.Join(wrongFlag("--case", experiment.Check(contenders.Names(), c.Case)), contenders.CheckGenerator(c.Generator))
}

// Run measures, and delivers the report.
func (c *contendersCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.compare(ctx, s, "contenders", func(ctx context.Context, worker []string) (result, error) {
		app.SpendMemory(nil) // contenders inside this process collect garbage as the service does
		return contenders.Run(ctx, contenders.Config{
			Config: c.config(c.Case, worker, telling(s, "measuring: %s")), Generator: c.Generator,
			Scale: scaleOf(c.Tiny, c.Quick, contenders.Tiny, contenders.Quick, contenders.Full),
		})
	})
}

type segmentsCommand struct {
	comparisonFlags
	caseFlags
	Lock string `help:"Kind of lock of the segments: reentrant, fair or none; redlock would need several servers. Default: ${default}." default:"reentrant" enum:"reentrant,fair,none" placeholder:"KIND"`
}

// Help is what --help and list tell beside the flags.
func (c *segmentsCommand) Help() string {
	return about{
		Shows: "accepted orders a second and p99 by segments and processes; throughput over time while a process stands still; goodput and latency over time under three times the capacity.",
		Full:  "about ten minutes", Quick: "40 seconds", Needs: needsServers, Cases: segments.Names(),
	}.String()
}

// Validate tells kong which flag is wrong.
func (c *segmentsCommand) Validate() error {
	return wrongFlag("--case", experiment.Check(segments.Names(), c.Case))
}

// Run measures, and delivers the report.
func (c *segmentsCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.compare(ctx, s, "crowd", func(ctx context.Context, worker []string) (result, error) {
		return segments.Run(ctx, segments.Config{
			Config: c.config(c.Case, worker, telling(s, "measuring: %s")), Lock: c.Lock,
			Scale: scaleOf(c.Tiny, c.Quick, segments.Tiny, segments.Quick, segments.Full),
		})
	})
}

type explainCommand struct {
	comparisonFlags
	For time.Duration `help:"How long rounds go on, 1s to 24h: until all intervals are narrow enough, or no round would end in time. Default: ${default}." default:"3m" placeholder:"DURATION" least:"1s" most:"24h"`
}

// Help is what --help and list tell beside the flags.
func (*explainCommand) Help() string {
	return about{
		Shows: "in five sentences, with intervals, what batches, segments, locks and processes each buy, and when a lock costs more " +
			"than it brings; below them all sixteen combinations.",
		Full: "about three minutes; --for says otherwise", Needs: needsServers,
	}.String()
}

// Run measures, and delivers the report.
func (c *explainCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.compare(ctx, s, "crowd", func(ctx context.Context, worker []string) (result, error) {
		scale := explain.Full()
		if scale.For = c.For; c.Tiny {
			scale = explain.Tiny()
		}
		return explain.Run(ctx, explain.Config{
			Config: c.config(nil, worker, func(string) {}), Scale: scale,
			Told: func(rounds int) { _, _ = fmt.Fprintf(s.Err, "measured: %d rounds\n", rounds) },
		})
	})
}
