package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"inventory/internal/cli"
	"inventory/loadtest/internal/chaos"
	"inventory/loadtest/internal/report"
)

type chaosCommand struct {
	Seed   uint64        `help:"Decides the faults and what is asked for; each further round has the next. 0 draws one. Default: ${default}." default:"0" placeholder:"NUMBER"`
	Rounds int           `help:"Rounds at most, 1 to 100000. Default: ${default}." default:"8" placeholder:"NUMBER" least:"1" most:"100000"`
	Length time.Duration `help:"How long load is sent in a round, 2s to 1h. Default: ${default}." default:"15s" placeholder:"DURATION" least:"2s" most:"1h"`
	For    time.Duration `help:"No round begins later than this. Default: none does not." placeholder:"DURATION" least:"0s" most:"87600h"`
	Lock   string        `help:"Kind of lock of the segments: reentrant, fair or none. Default: ${default}." default:"reentrant" enum:"reentrant,fair,none" placeholder:"KIND"`
	Redis  string        `help:"Where the locks are: one server, one under sentinel with two replicas, or a cluster. Default: ${default}." default:"one" enum:"one,sentinel,cluster" placeholder:"KIND"`
	Faults []string      `name:"fault" sep:";" help:"Only the kinds of faults of these names, as reports tell them, separated by semicolons. Default: all." placeholder:"NAME"`
	Quick  bool          `help:"One round of 8 seconds. Default: off."`
	Logs   bool          `help:"Show the errors that processes log. Default: off."`
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
	return c.deliver(ctx, s, func(ctx context.Context) (report.Document, error) { return c.measure(ctx, s) })
}

func (c *chaosCommand) measure(ctx context.Context, s cli.Streams) (report.Document, error) {
	process, err := serviceProcess(io.Discard, slog.LevelError)
	if err != nil {
		return report.Document{}, err
	}
	config := chaos.Config{
		Seed: c.Seed, Rounds: c.Rounds, Length: c.Length, For: c.For, Lock: c.Lock, Redis: c.Redis, Faults: c.Faults,
		Process: process, Progress: s.Err,
	}
	if c.Logs {
		config.Process.Logs = s.Err
	}
	config.Seed = drawnSeed(config.Seed)
	if c.Quick {
		config.Rounds, config.Length = 1, 8*time.Second
	}
	result, err := chaos.Run(ctx, config)
	if result.Started.IsZero() {
		return report.Document{}, err
	}
	document, wrong := result.Document()
	return document, errors.Join(err, wrong, result.Err())
}
