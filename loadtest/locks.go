package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"inventory/internal/cli"
	"inventory/loadtest/internal/lockbench"
	"inventory/loadtest/internal/servers"
)

type locksCommand struct {
	JSON        string   `help:"Write the result as one JSON object to this file; - is standard output, which then holds nothing else. Default: none." placeholder:"FILE"`
	Quick       bool     `help:"One short round of each case. Default: off."`
	Tiny        bool     `help:"Hardly anything of each case, for tests." hidden:""`
	Case        []string `help:"Only the cases of these names, separated by semicolons. Default: all." sep:";" placeholder:"NAME"`
	Markdown    string   `help:"Write the tables as Markdown to this file: between its lines <!-- locks: begin --> and <!-- locks: end -->, or as all of it where it has none. Default: none." placeholder:"FILE"`
	RedisURL    string   `help:"The Redis of the locks: redis://USER:PASSWORD@HOST:PORT/DB, or rediss://… with TLS. Default: one started for this run." placeholder:"URL"`
	DatabaseURL string   `help:"The PostgreSQL of advisory locks: postgres://USER:PASSWORD@HOST:PORT/DATABASE. Default: one started for this run." placeholder:"URL"`
}

// Run measures and prints.
func (c *locksCommand) Run(ctx context.Context, s cli.Streams) error {
	return benchmark(c.JSON, c.Markdown, s.Out, func() (comparison, error) { return c.measure(ctx, s) })
}

func (c *locksCommand) measure(ctx context.Context, s cli.Streams) (lockbench.Result, error) {
	program, err := os.Executable()
	if err != nil {
		return lockbench.Result{}, fmt.Errorf("find the program, which other processes run too: %w", err)
	}
	config := c.config(s)
	config.Worker = []string{program, "locks-worker"}
	return lockbench.Run(ctx, config)
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

// Help is what --help tells beside the flags.
func (c *locksCommand) Help() string {
	return "Cases: " + strings.Join(lockbench.Names(), ", ") + "."
}

// locksWorkerCommand is a process that competes with others: the lab starts it.
type locksWorkerCommand struct{}

// Run does what standard input says.
func (*locksWorkerCommand) Run(ctx context.Context) error {
	return lockbench.Work(ctx, os.Stdin, os.Stdout)
}
