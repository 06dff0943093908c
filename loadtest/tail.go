package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/tail"
)

type tailCommand struct {
	tail.Config
	Quick bool `help:"One round of each kind. Default: off."`
	Tiny  bool `help:"Hardly anything, for tests." hidden:""`
	reportFlags
}

// Validate holds how many servers there are against the kind of lock.
func (c *tailCommand) Validate() error {
	const least = 3
	switch n := strings.Count(c.RedisURL, ",") + 1; {
	case c.RedisURL == "":
	case c.Lock == app.LockRed && (n < least || n%2 == 0):
		return fmt.Errorf("--redis-url: %s needs an odd number of servers, %d or more", c.Lock, least)
	case c.Lock != app.LockRed && n > 1:
		return fmt.Errorf("--redis-url: several servers are for %s", app.LockRed)
	}
	return nil
}

// Run measures and tells.
func (c *tailCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.deliver(ctx, s, func(ctx context.Context) (d report.Document, err error) {
		config := c.Config
		switch config.Progress = s.Err; {
		case c.Tiny:
			config.Rounds, config.Stock, config.Rate = 1, 100_000, 200
		case c.Quick:
			config.Rounds = 1
		}
		if config.Process, err = serviceProcess(io.Discard, slog.LevelError); err != nil {
			return report.Document{}, err
		}
		return documented(tail.Run(ctx, config))
	})
}

// Help is what --help and list tell beside the flags.
func (c *tailCommand) Help() string {
	return about{
		Shows: "latency, sales, waits for locks and merges over time around the death of a process that holds a lock; stranded units, false refusals, " +
			"the longest time without a sale, and what the requests of the dead were told when they asked again.",
		Full:  "about two and a half minutes",
		Quick: "under 40 seconds",
		Needs: needsServers,
	}.String()
}
