package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"inventory/internal/cli"
	"inventory/loadtest/internal/lockbench"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

type locksCommand struct {
	reportFlags
	Quick       bool     `help:"One short round of each case. Default: off."`
	Tiny        bool     `help:"Hardly anything of each case, for tests." hidden:""`
	Case        []string `help:"Only the cases of these names, separated by semicolons. Default: all." sep:";" placeholder:"NAME"`
	RedisURL    string   `help:"The Redis of the locks: redis://USER:PASSWORD@HOST:PORT/DB, or rediss://… with TLS. Default: one started for this run." placeholder:"URL"`
	DatabaseURL string   `help:"The PostgreSQL of advisory locks: postgres://USER:PASSWORD@HOST:PORT/DATABASE. Default: one started for this run." placeholder:"URL"`
}

// Help is what --help and list tell beside the flags.
func (c *locksCommand) Help() string {
	return about{
		Shows: "cycles a second, waits, fairness and commands of each kind of lock, beside bsm/redislock, redsync and PostgreSQL's advisory locks.",
		Full:  "about six minutes", Quick: "40 seconds", Needs: needsServers, Cases: lockbench.Names(),
	}.String()
}

// Validate tells kong which flag is wrong.
func (c *locksCommand) Validate() error { return wrongFlag("--case", lockbench.Check(c.Case)) }

// Run measures, and delivers the report.
func (c *locksCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.deliver(ctx, s, func(ctx context.Context) (report.Document, error) { return c.measure(ctx, s) })
}

func (c *locksCommand) measure(ctx context.Context, s cli.Streams) (report.Document, error) {
	program, err := os.Executable()
	if err != nil {
		return report.Document{}, fmt.Errorf("find the program, which other processes run too: %w", err)
	}
	config := c.config(s)
	config.Worker = []string{program, "locks-worker"}
	result, err := lockbench.Run(ctx, config)
	if result.Started.IsZero() {
		return report.Document{}, err
	}
	document, wrong := result.Document()
	return document, errors.Join(err, wrong, result.Err())
}

func (c *locksCommand) config(s cli.Streams) lockbench.Config {
	config := lockbench.Config{
		URLs:  servers.URLs{RedisURL: c.RedisURL, DatabaseURL: c.DatabaseURL},
		Scale: lockbench.Full(), Cases: c.Case,
		Progress: func(name string) { _, _ = fmt.Fprintf(s.Err, "measuring: %s\n", name) },
	}
	switch {
	case c.Tiny:
		config.Scale = lockbench.Tiny()
	case c.Quick:
		config.Scale = lockbench.Quick()
	}
	return config
}

// locksWorkerCommand is a process that competes with others: the lab starts it.
type locksWorkerCommand struct{}

// Run does what standard input says.
func (*locksWorkerCommand) Run(ctx context.Context) error {
	return lockbench.Work(ctx, os.Stdin, os.Stdout)
}
