package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"inventory/internal/cli"
	"inventory/loadtest/internal/capacity"
	"inventory/loadtest/internal/chaos"
)

// The scenarios that start servers and services of their own.

type capacityCommand struct {
	capacity.Config
	Quick bool `help:"One round. Default: off."`
	Tiny  bool `help:"Hardly anything, for tests." hidden:""`
	seedFlag
	reportFlags
}

// Run measures, and delivers the report.
func (c *capacityCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.run(ctx, s, func(ctx context.Context) (r result, err error) {
		config := c.Config
		if config.Process, err = serviceProcess(io.Discard, slog.LevelError); err != nil {
			return nil, err
		}
		config.Seed, config.Scale, config.OnRound = c.drawn(), scaleOf(c.Tiny, c.Quick, capacity.Tiny, capacity.Quick, capacity.Full), roundsTo(s)
		return capacity.Run(ctx, config)
	})
}

type chaosCommand struct {
	chaos.Config
	Quick bool `help:"One round of 8 seconds. Default: off."`
	Logs  bool `help:"Show the errors that processes log. Default: off."`
	reportFlags
}

// Run plays rounds, and delivers the report.
func (c *chaosCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.run(ctx, s, func(ctx context.Context) (r result, err error) {
		config, logs := c.Config, io.Discard
		if c.Logs {
			logs = s.Err
		}
		if config.Process, err = serviceProcess(logs, slog.LevelError); err != nil {
			return nil, err
		}
		config.Seed, config.Progress, config.Keep = drawnSeed(c.Seed), s.Err, c.raw()
		if c.Quick {
			config.Rounds, config.Length = 1, 8*time.Second
		}
		return chaos.Run(ctx, config)
	})
}
