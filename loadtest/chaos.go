package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"inventory/internal/cli"
	"inventory/loadtest/internal/chaos"
	"inventory/loadtest/internal/report"
)

type chaosCommand struct {
	chaos.Config
	Quick bool `help:"One round of 8 seconds. Default: off."`
	Logs  bool `help:"Show the errors that processes log. Default: off."`
	reportFlags
}

// Help is what --help and list tell beside the flags.
func (c *chaosCommand) Help() string {
	return about{
		Shows: "whether each promise of the service holds while processes, PostgreSQL, Redis and the network between them fail: nothing " +
			"oversold, lost or taken twice, refusals that are true and final, and how soon the sale goes on after each kind of fault.",
		Full: "three minutes; --rounds and --for say otherwise", Quick: "under 20 seconds",
		Needs: "the programs of PostgreSQL and Redis (scripts/install-servers finds them), of which it starts its own.",
	}.String()
}

// Run plays and tells.
func (c *chaosCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.deliver(ctx, s, func(ctx context.Context) (d report.Document, err error) {
		config, logs := c.Config, io.Discard
		if c.Logs {
			logs = s.Err
		}
		if config.Process, err = serviceProcess(logs, slog.LevelError); err != nil {
			return report.Document{}, err
		}
		config.Seed, config.Progress, config.Keep = drawnSeed(c.Seed), s.Err, c.raw()
		if c.Quick {
			config.Rounds, config.Length = 1, 8*time.Second
		}
		return documented(chaos.Run(ctx, config))
	})
}
