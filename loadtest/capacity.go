package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"inventory/internal/cli"
	"inventory/loadtest/internal/capacity"
	"inventory/loadtest/internal/report"
)

type capacityCommand struct {
	capacity.Config
	Quick bool `help:"One round. Default: off."`
	Tiny  bool `help:"Hardly anything, for tests." hidden:""`
	seedFlag
	reportFlags
}

// Help is what --help and list tell beside the flags.
func (*capacityCommand) Help() string {
	return about{
		Shows: "what an order costs each part, in microseconds; from that what a sale needs of processes, PostgreSQL nodes and Redis, where each " +
			"work stops, and how long buyers wait; and how far such predictions are from measurements.",
		Full: "about three minutes", Quick: "under a minute",
		Needs: "the programs of PostgreSQL and Redis (scripts/install-servers finds them), of which it starts its own.",
	}.String()
}

// Run measures, and delivers the report.
func (c *capacityCommand) Run(ctx context.Context, s cli.Streams) error {
	return c.deliver(ctx, s, func(ctx context.Context) (d report.Document, err error) {
		config := c.Config
		if config.Process, err = serviceProcess(io.Discard, slog.LevelError); err != nil {
			return report.Document{}, err
		}
		config.Seed, config.Scale = c.drawn(), scaleOf(c.Tiny, c.Quick, capacity.Tiny, capacity.Quick, capacity.Full)
		config.Told = func(rounds int) { _, _ = fmt.Fprintf(s.Err, "measured: %d rounds\n", rounds) }
		return documented(capacity.Run(ctx, config))
	})
}
