package main

import (
	"context"
	"strings"

	"inventory/internal/cli"
	"inventory/loadtest/internal/breaks"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/lockbench"
)

type locksCommand struct {
	comparisonFlags
	Quick      bool     `help:"One short round of each case, with fewer contenders. Default: off."`
	Break      bool     `help:"Instead of measuring, break locks: let what happens in production happen to ours, to libraries and to those of textbooks. Exit status 1 if one of ours broke, or the known flaw of another did not show. Default: off."`
	Case       []string `help:"Only the cases of these names, or with --break the faults, separated by semicolons. Default: all." sep:";" placeholder:"NAME"`
	MongoDBURL string   `name:"mongodb-url" help:"The MongoDB of locks that are documents, in its database inventory_lab: mongodb://USER:PASSWORD@HOST:PORT/. Default: one started for this run, where mongod or ferretdb is on PATH." placeholder:"URL"`
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
	if c.Break {
		return wrongFlag("--case", breaks.Check(c.Case))
	}
	return wrongFlag("--case", experiment.Check(lockbench.Names(), c.Case))
}

// Run measures or breaks, and delivers the report.
func (c *locksCommand) Run(ctx context.Context, s cli.Streams) error {
	if c.Break {
		return c.compare(ctx, s, "holder", func(ctx context.Context, worker []string) (result, error) {
			return breaks.Run(ctx, c.on(worker, telling(s, "breaking: the holder %s")))
		})
	}
	return c.compare(ctx, s, "locks", func(ctx context.Context, worker []string) (result, error) {
		return lockbench.Run(ctx, lockbench.Config{
			Config: c.on(worker, telling(s, "measuring: %s")), Scale: scaleOf(c.Tiny, c.Quick, lockbench.Tiny, lockbench.Quick, lockbench.Full),
		})
	})
}

// on is what the flags say.
func (c *locksCommand) on(worker []string, progress func(name string)) experiment.Config {
	config := c.config(c.Case, worker, progress)
	config.MongoDBURL = c.MongoDBURL
	return config
}
