package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/loadtest/internal/capacity"
	"inventory/loadtest/internal/chaos"
	"inventory/loadtest/internal/tail"
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

type tailCommand struct {
	tail.Config
	Quick bool `help:"One round of each kind. Default: off."`
	Tiny  bool `help:"Hardly anything, for tests." hidden:""`
	reportFlags
}

// Validate checks how many servers there are for the kind of lock.
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

// Run measures, and delivers the report.
func (c *tailCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.run(ctx, s, func(ctx context.Context) (r result, err error) {
		config := c.Config
		switch config.Progress = s.Err; {
		case c.Tiny:
			config.Rounds, config.Stock, config.Rate = 1, 100_000, 200
		case c.Quick:
			config.Rounds = 1
		}
		if config.Process, err = serviceProcess(io.Discard, slog.LevelError); err != nil {
			return nil, err
		}
		return tail.Run(ctx, config)
	})
}
