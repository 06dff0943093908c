package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"inventory/internal/cli"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/segments"
	"inventory/loadtest/internal/servers"
)

type segmentsCommand struct {
	JSON        string   `help:"Write the result as one JSON object to this file; - is standard output, which then holds nothing else. Default: none." placeholder:"FILE"`
	Quick       bool     `help:"One short round of each case, with fewer numbers of segments. Default: off."`
	Tiny        bool     `help:"Hardly anything of each case, for tests." hidden:""`
	Case        []string `help:"Only the cases of these names, separated by semicolons. Default: all." sep:";" placeholder:"NAME"`
	Markdown    string   `help:"Write the tables as Markdown to this file: between its lines <!-- segments: begin --> and <!-- segments: end -->, or as all of it where it has none. Default: none." placeholder:"FILE"`
	Lock        string   `help:"Kind of lock of the segments: reentrant, fair or none; redlock would need several servers. Default: ${default}." default:"reentrant" enum:"reentrant,fair,none" placeholder:"KIND"`
	RedisURL    string   `help:"The Redis of all processes: redis://USER:PASSWORD@HOST:PORT/DB, or rediss://… with TLS. Default: one started for this run." placeholder:"URL"`
	DatabaseURL string   `help:"A database on the PostgreSQL of all processes, which must sync its commits and let this user create a database, which is dropped in the end: postgres://USER:PASSWORD@HOST:PORT/DATABASE. Default: a server started for this run." placeholder:"URL"`
}

// Run measures and prints.
func (c *segmentsCommand) Run(ctx context.Context, s cli.Streams) error {
	return benchmark(c.JSON, c.Markdown, s.Out, func() (comparison, error) { return c.measure(ctx, s) })
}

func (c *segmentsCommand) measure(ctx context.Context, s cli.Streams) (segments.Result, error) {
	program, err := os.Executable()
	if err != nil {
		return segments.Result{}, fmt.Errorf("find the program, which other processes run too: %w", err)
	}
	config := segments.Config{
		URLs:  servers.URLs{RedisURL: c.RedisURL, DatabaseURL: c.DatabaseURL},
		Scale: segments.Full(), Cases: c.Case, Lock: c.Lock,
		Worker:   []string{program, "segments-worker"},
		Progress: func(name string) { _, _ = fmt.Fprintf(s.Err, "measuring: %s\n", name) },
	}
	switch {
	case c.Tiny:
		config.Scale = segments.Tiny()
	case c.Quick:
		config.Scale = segments.Quick()
	}
	return segments.Run(ctx, config)
}

// Help is what --help tells beside the flags.
func (c *segmentsCommand) Help() string {
	return "Cases: " + strings.Join(segments.Names(), ", ") + "."
}

// segmentsWorkerCommand is a service with a crowd of callers, in a process of its own: the lab starts it.
type segmentsWorkerCommand struct{}

// Run does what standard input says.
func (*segmentsWorkerCommand) Run(ctx context.Context) error {
	return crowd.Work(ctx, os.Stdin, os.Stdout)
}
