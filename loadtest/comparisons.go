package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/internal/stock"
	"inventory/loadtest/internal/breaks"
	"inventory/loadtest/internal/chaos"
	"inventory/loadtest/internal/contenders"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/explain"
	"inventory/loadtest/internal/lockbench"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
	"inventory/loadtest/internal/years"
)

// comparisonFlags are those of all comparisons.
type comparisonFlags struct {
	reportFlags
	Quick       bool   `help:"One short round of each case. Default: off."`
	Seed        uint64 `help:"Decides the order of the contenders in each round. 0 draws one. Default: ${default}." default:"0" placeholder:"NUMBER"`
	Tiny        bool   `help:"Hardly anything of each case, for tests." hidden:""`
	RedisURL    string `secret:"" help:"The Redis of all who are compared: redis://USER:PASSWORD@HOST:PORT/DB, or rediss://… with TLS. Default: one started for this run." placeholder:"URL"`
	DatabaseURL string `secret:"" help:"A database on the PostgreSQL of all who are compared, which must sync its commits where orders are sold, and let this user create databases, which are dropped in the end: postgres://USER:PASSWORD@HOST:PORT/DATABASE. Default: a server started for this run." placeholder:"URL"`
}

// compare measures as the flags say, tells each case as it begins, and delivers the report.
func (f comparisonFlags) compare(ctx context.Context, s cli.Streams, cases []string, measure func(ctx context.Context, c experiment.Config) (report.Document, error)) error {
	size := experiment.Full
	switch {
	case f.Tiny:
		size = experiment.Tiny
	case f.Quick:
		size = experiment.Quick
	}
	return f.deliver(ctx, s, func(ctx context.Context) (report.Document, error) {
		return measure(ctx, experiment.Config{
			URLs: servers.URLs{RedisURL: f.RedisURL, DatabaseURL: f.DatabaseURL}, Size: size, Seed: drawnSeed(f.Seed), Cases: cases,
			Progress: func(line string) { _, _ = fmt.Fprintln(s.Err, line) },
		})
	})
}

type contendersCommand struct {
	comparisonFlags
	Case  []string `help:"Only the cases of these names, separated by semicolons. Default: all." sep:";" placeholder:"NAME"`
	Lines []int    `help:"Numbers of lines of the orders that the case baskets sells, 1 to 100 each. Default: ${default}." default:"3,10,20" placeholder:"NUMBER,…"`
}

// Validate returns an error that names the wrong flag.
func (c *contendersCommand) Validate() error {
	const mostLines = 100
	return errors.Join(wrongFlag("--case", experiment.Check(contenders.Names(), c.Case)), wrongFlag("--lines", explain.CheckLevels(c.Lines, mostLines)))
}

// Run measures, and delivers the report.
func (c *contendersCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.compare(ctx, s, c.Case, func(ctx context.Context, config experiment.Config) (report.Document, error) {
		app.SpendMemory(nil) // contenders inside this process collect garbage as the service does
		return contenders.Run(ctx, contenders.Config{Config: config, Lines: c.Lines})
	})
}

type explainCommand struct {
	comparisonFlags
	Segments  []int         `help:"Numbers of segments that are compared, 1 to 1024 each, with the first. Default: ${default}." default:"1,10" placeholder:"NUMBER,…"`
	Processes []int         `help:"Numbers of processes that are compared, 1 to 16 each, with the first. Default: ${default}." default:"1,3" placeholder:"NUMBER,…"`
	For       time.Duration `help:"How long rounds go on, 1s to 24h: until all intervals are narrow enough, or no round would end in time. Default: ${default}." default:"3m" placeholder:"DURATION" least:"1s" most:"24h"`
}

// Validate returns an error that names the wrong flag.
func (c *explainCommand) Validate() error {
	const mostProcesses = 16
	return errors.Join(wrongFlag("--segments", explain.CheckLevels(c.Segments, stock.MaxSegments)), wrongFlag("--processes", explain.CheckLevels(c.Processes, mostProcesses)))
}

// Run measures, and delivers the report.
func (c *explainCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.compare(ctx, s, nil, func(ctx context.Context, config experiment.Config) (report.Document, error) {
		return explain.Run(ctx, explain.Config{Config: config, Segments: c.Segments, Processes: c.Processes, For: c.For})
	})
}

type locksCommand struct {
	comparisonFlags
	Break      bool     `help:"Instead of measuring, break locks: let what happens in production happen to ours, to libraries and to SET NX. Exit status 1 if one of ours broke, or the known flaw of another did not show. Default: off."`
	Case       []string `help:"Only the cases of these names, or with --break the faults, separated by semicolons. Default: all." sep:";" placeholder:"NAME"`
	MongoDBURL string   `name:"mongodb-url" secret:"" help:"The MongoDB of locks that are documents, in its database inventory_lab: mongodb://USER:PASSWORD@HOST:PORT/. Default: one started for this run, where mongod is on PATH." placeholder:"URL"`
}

// Validate returns an error that names the wrong flag.
func (c *locksCommand) Validate() error {
	names := lockbench.Names()
	if c.Break {
		names = breaks.Names()
	}
	return wrongFlag("--case", experiment.Check(names, c.Case))
}

// Run measures or breaks, and delivers the report.
func (c *locksCommand) Run(ctx context.Context, s cli.Streams) error {
	if c.Break {
		return c.compare(ctx, s, c.Case, breaks.Run)
	}
	return c.compare(ctx, s, c.Case, func(ctx context.Context, config experiment.Config) (report.Document, error) {
		config.MongoDBURL = c.MongoDBURL
		return lockbench.Run(ctx, config)
	})
}

type yearsCommand struct {
	Orders      int64  `help:"How many orders the old database has, 10000 to 100000000. Default: ${default}." default:"10000000" placeholder:"ORDERS" least:"10000" most:"100000000"`
	Quick       bool   `help:"At most 50000 orders. Default: off."`
	Seed        uint64 `help:"Makes the order ids. 0 draws one. Default: ${default}." default:"0" placeholder:"NUMBER"`
	DatabaseURL string `secret:"" help:"A database on the PostgreSQL to measure, which must sync its commits and let this user create databases, which are dropped in the end: postgres://USER:PASSWORD@HOST:PORT/DATABASE. Default: a server started for this run." placeholder:"URL"`
	reportFlags
}

// Run measures, and delivers the report.
func (c *yearsCommand) Run(ctx context.Context, s cli.Streams) error {
	const few, quick, times = 10_000, 50_000, 20
	config := years.Config{
		URLs: servers.URLs{DatabaseURL: c.DatabaseURL}, Orders: c.Orders, Few: few, Times: times, Seed: drawnSeed(c.Seed),
		Progress: func(line string) { _, _ = fmt.Fprintln(s.Err, line) },
	}
	if c.Quick {
		config.Orders = min(c.Orders, quick)
	}
	return c.deliver(ctx, s, func(ctx context.Context) (report.Document, error) { return years.Run(ctx, config) })
}

// The scenario that starts servers and services of their own.

type chaosCommand struct {
	chaos.Config
	Quick bool `help:"One round of 8 seconds. Default: off."`
	Logs  bool `help:"Show the errors that processes log. Default: off."`
	reportFlags
}

// Run plays rounds, and delivers the report.
func (c *chaosCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.deliver(ctx, s, func(ctx context.Context) (report.Document, error) {
		config, logs := c.Config, io.Discard
		if c.Logs {
			logs = s.Err
		}
		config.Process = target.Process{Logs: logs, LogLevel: slog.LevelError}
		config.Seed, config.Progress = drawnSeed(c.Seed), s.Err
		if c.Quick {
			config.Rounds, config.Length = 1, 8*time.Second
		}
		return chaos.Run(ctx, config)
	})
}
