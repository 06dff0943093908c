package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"inventory/internal/cli"
	"inventory/loadtest/internal/breaks"
	"inventory/loadtest/internal/lockbench"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

type locksCommand struct {
	reportFlags
	Quick bool     `help:"One short round of each case, with fewer contenders. Default: off."`
	Break bool     `help:"Instead of measuring, break locks: let what happens in production happen to ours, to libraries and to those of textbooks. Exit status 1 if one of ours broke, or the known flaw of another did not show. Default: off."`
	Tiny  bool     `help:"Hardly anything of each case, for tests." hidden:""`
	Case  []string `help:"Only the cases of these names, or with --break the faults, separated by semicolons. Default: all." sep:";" placeholder:"NAME"`
	seedFlag
	RedisURL    string `help:"The Redis of the locks: redis://USER:PASSWORD@HOST:PORT/DB, or rediss://… with TLS. Default: one started for this run." placeholder:"URL"`
	DatabaseURL string `help:"The PostgreSQL of advisory locks: postgres://USER:PASSWORD@HOST:PORT/DATABASE. Default: one started for this run." placeholder:"URL"`
	MongoDBURL  string `name:"mongodb-url" help:"The MongoDB of locks that are documents, in its database inventory_lab: mongodb://USER:PASSWORD@HOST:PORT/. Default: one started for this run, where mongod or ferretdb is on PATH." placeholder:"URL"`
}

// Help is what --help and list tell beside the flags.
func (c *locksCommand) Help() string {
	return about{
		Shows: "cycles a second, waits, fairness and commands of each kind of lock, beside bsm/redislock, redsync and the locks of textbooks; " +
			"with --break, what becomes of each of them when its holder dies, stands still, or loses its network.",
		Full: "about twelve minutes", Quick: "40 seconds, or with --break 20",
		Needs: needsServers + " ZooKeeper and MongoDB too where they are installed.", Cases: lockbench.Names(),
	}.String() + "\n\nFaults of --break: " + strings.Join(breaks.Names(), "; ") + "."
}

// Validate tells kong which flag is wrong.
func (c *locksCommand) Validate() error {
	check := lockbench.Check
	if c.Break {
		check = breaks.Check
	}
	return wrongFlag("--case", check(c.Case))
}

// Run measures or breaks, and delivers the report.
func (c *locksCommand) Run(ctx context.Context, s cli.Streams) error {
	measure := c.measure
	if c.Break {
		measure = c.breakAll
	}
	return c.deliver(ctx, s, func(ctx context.Context) (report.Document, error) { return measure(ctx, s) })
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

func (c *locksCommand) urls() servers.URLs {
	return servers.URLs{RedisURL: c.RedisURL, DatabaseURL: c.DatabaseURL, MongoDBURL: c.MongoDBURL}
}

func (c *locksCommand) config(s cli.Streams) lockbench.Config {
	config := lockbench.Config{
		URLs:  c.urls(),
		Scale: lockbench.Full(), Seed: c.drawn(), Cases: c.Case,
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
