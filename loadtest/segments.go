package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"inventory/internal/cli"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/segments"
	"inventory/loadtest/internal/servers"
)

type segmentsCommand struct {
	reportFlags
	Quick bool     `help:"One short round of each case, with fewer numbers of segments. Default: off."`
	Tiny  bool     `help:"Hardly anything of each case, for tests." hidden:""`
	Case  []string `help:"Only the cases of these names, separated by semicolons. Default: all." sep:";" placeholder:"NAME"`
	Lock  string   `help:"Kind of lock of the segments: reentrant, fair or none; redlock would need several servers. Default: ${default}." default:"reentrant" enum:"reentrant,fair,none" placeholder:"KIND"`
	seedFlag
	RedisURL    string `help:"The Redis of all processes: redis://USER:PASSWORD@HOST:PORT/DB, or rediss://… with TLS. Default: one started for this run." placeholder:"URL"`
	DatabaseURL string `help:"A database on the PostgreSQL of all processes, which must sync its commits and let this user create a database, which is dropped in the end: postgres://USER:PASSWORD@HOST:PORT/DATABASE. Default: a server started for this run." placeholder:"URL"`
}

// Help is what --help and list tell beside the flags.
func (c *segmentsCommand) Help() string {
	return about{
		Shows: "accepted orders a second and p99 by segments and processes; throughput over time while a process stands still; goodput and latency over time under three times the capacity.",
		Full:  "about ten minutes", Quick: "40 seconds", Needs: needsServers, Cases: segments.Names(),
	}.String()
}

// Validate tells kong which flag is wrong.
func (c *segmentsCommand) Validate() error { return wrongFlag("--case", segments.Check(c.Case)) }

// Run measures, and delivers the report.
func (c *segmentsCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.deliver(ctx, s, func(ctx context.Context) (report.Document, error) { return c.measure(ctx, s) })
}

func (c *segmentsCommand) measure(ctx context.Context, s cli.Streams) (report.Document, error) {
	program, err := os.Executable()
	if err != nil {
		return report.Document{}, fmt.Errorf("find the program, which other processes run too: %w", err)
	}
	config := segments.Config{
		URLs:  servers.URLs{RedisURL: c.RedisURL, DatabaseURL: c.DatabaseURL},
		Scale: segments.Full(), Seed: c.drawn(), Cases: c.Case, Lock: c.Lock,
		Worker:   []string{program, "crowd-worker"},
		Progress: func(name string) { _, _ = fmt.Fprintf(s.Err, "measuring: %s\n", name) },
	}
	switch {
	case c.Tiny:
		config.Scale = segments.Tiny()
	case c.Quick:
		config.Scale = segments.Quick()
	}
	result, err := segments.Run(ctx, config)
	if result.Started.IsZero() {
		return report.Document{}, err
	}
	document, wrong := result.Document()
	return document, errors.Join(err, wrong, result.Err())
}
