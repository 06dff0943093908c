package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"inventory/internal/cli"
	"inventory/loadtest/internal/chaos"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/target"
)

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
