package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"inventory/internal/cli"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/explain"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

type explainCommand struct {
	For time.Duration `help:"How long rounds go on, 1s to 24h: until all intervals are narrow enough, or no round would end in time. Default: ${default}." default:"3m" placeholder:"DURATION"`
	seedFlag
	Tiny        bool   `help:"Hardly anything of each combination, for tests." hidden:""`
	RedisURL    string `help:"The Redis of all processes: redis://USER:PASSWORD@HOST:PORT/DB, or rediss://… with TLS. Default: one started for this run." placeholder:"URL"`
	DatabaseURL string `help:"A database on the PostgreSQL of all processes, which must sync its commits and let this user create a database, which is dropped in the end: postgres://USER:PASSWORD@HOST:PORT/DATABASE. Default: a server started for this run." placeholder:"URL"`
	reportFlags
}

// Help is what --help and list tell beside the flags.
func (*explainCommand) Help() string {
	return about{
		Shows: "in five sentences, with intervals, what batches, segments, locks and processes each buy, and when a lock costs more " +
			"than it brings; below them all sixteen combinations.",
		Full: "about three minutes; --for says otherwise", Needs: needsServers,
	}.String()
}

// Validate tells kong which flag is wrong.
func (c *explainCommand) Validate() error {
	if c.For < time.Second || c.For > 24*time.Hour {
		return errors.New("--for must be 1s to 24h")
	}
	return nil
}

// Run measures, and delivers the report.
func (c *explainCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.deliver(ctx, s, func(ctx context.Context) (report.Document, error) { return c.measure(ctx, s) })
}

func (c *explainCommand) measure(ctx context.Context, s cli.Streams) (report.Document, error) {
	program, err := os.Executable()
	if err != nil {
		return report.Document{}, fmt.Errorf("find the program, which other processes run too: %w", err)
	}
	config := explain.Config{
		URLs:  servers.URLs{RedisURL: c.RedisURL, DatabaseURL: c.DatabaseURL},
		Scale: explain.Full(), Seed: c.drawn(), Worker: []string{program, "crowd-worker"},
		Progress: func(rounds int) { _, _ = fmt.Fprintf(s.Err, "measured: %d rounds\n", rounds) },
	}
	config.Scale.For = c.For
	if c.Tiny {
		config.Scale = explain.Tiny()
	}
	result, err := explain.Run(ctx, config)
	if result.Started.IsZero() {
		return report.Document{}, err
	}
	document, wrong := result.Document()
	return document, errors.Join(err, wrong, result.Err())
}

// crowdWorkerCommand is a service with a crowd of callers, in a process of its own: the lab starts it.
type crowdWorkerCommand struct{}

// Run does what standard input says.
func (*crowdWorkerCommand) Run(ctx context.Context) error {
	return crowd.Work(ctx, os.Stdin, os.Stdout)
}
