package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/loadtest/internal/contenders"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

type contendersCommand struct {
	reportFlags
	Quick     bool     `help:"One short round of each case, and 50,000 orders where a full run has 5 million. Default: off."`
	Tiny      bool     `help:"Hardly anything of each case, for tests." hidden:""`
	Case      []string `help:"Only the cases of these names, separated by semicolons. Default: all." sep:";" placeholder:"NAME"`
	Generator string   `help:"What sends the requests over HTTP: wrk, or lab, which is this program. Default: wrk where it is on PATH, else lab." placeholder:"NAME"`
	seedFlag
	RedisURL    string `help:"The Redis of all designs: redis://USER:PASSWORD@HOST:PORT/DB, or rediss://… with TLS. Default: one started for this run." placeholder:"URL"`
	DatabaseURL string `help:"A database on the PostgreSQL of all designs, which must sync its commits and let this user create databases, which are dropped in the end: postgres://USER:PASSWORD@HOST:PORT/DATABASE. Default: a server started for this run." placeholder:"URL"`
}

// Help is what --help and list tell beside the flags.
func (c *contendersCommand) Help() string {
	return about{
		Shows: "accepted orders a second and latencies of each design, from a row with a conditional UPDATE to this service over HTTP, with ratios within each round.",
		Full:  "about ten minutes, most of it to fill two tables with 5 million orders each", Quick: "under a minute",
		Needs: needsServers + " Over HTTP wrk sends where it is on PATH.", Cases: contenders.Names(),
	}.String()
}

// Validate tells kong which flag is wrong.
func (c *contendersCommand) Validate() error {
	return errors.Join(wrongFlag("--case", contenders.Check(c.Case)), contenders.CheckGenerator(c.Generator))
}

// Run measures, and delivers the report.
func (c *contendersCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.deliver(ctx, s, func(ctx context.Context) (report.Document, error) { return c.measure(ctx, s) })
}

func (c *contendersCommand) measure(ctx context.Context, s cli.Streams) (report.Document, error) {
	program, err := os.Executable()
	if err != nil {
		return report.Document{}, fmt.Errorf("find the program, which other processes run too: %w", err)
	}
	config := contenders.Config{
		URLs:  servers.URLs{RedisURL: c.RedisURL, DatabaseURL: c.DatabaseURL},
		Scale: contenders.Full(), Seed: c.drawn(), Cases: c.Case, Generator: c.Generator,
		Worker:   []string{program, "contenders-worker"},
		Progress: func(name string) { _, _ = fmt.Fprintf(s.Err, "measuring: %s\n", name) },
	}
	switch {
	case c.Tiny:
		config.Scale = contenders.Tiny()
	case c.Quick:
		config.Scale = contenders.Quick()
	}
	app.SpendMemory(nil) // contenders inside this process collect garbage as the service does
	result, err := contenders.Run(ctx, config)
	if result.Started.IsZero() {
		return report.Document{}, err
	}
	document, wrong := result.Document()
	return document, errors.Join(err, wrong, result.Err())
}

// contendersWorkerCommand is a server, or a crowd of callers, in a process of its own: the lab starts it.
type contendersWorkerCommand struct{}

// Run does what standard input says.
func (*contendersWorkerCommand) Run(ctx context.Context) error {
	return contenders.Work(ctx, os.Stdin, os.Stdout)
}
