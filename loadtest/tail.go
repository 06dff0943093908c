package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/tail"
)

type tailCommand struct {
	Quick       bool    `help:"One round of each kind. Default: off."`
	Tiny        bool    `help:"Hardly anything, for tests." hidden:""`
	Rounds      int     `help:"Rounds of each kind, 1 to 100: with nobody killed, and with a holder killed. Default: ${default}." default:"5" placeholder:"NUMBER" least:"1" most:"100"`
	Seed        uint64  `help:"Decides what is asked for, and when: the same seed sends the same orders. Default: ${default}." default:"1" placeholder:"NUMBER"`
	Stock       int64   `help:"Units of the SKU, 10000 to 1000000000; the last hundredth of them is what is measured. Default: ${default}." default:"1000000" placeholder:"UNITS" least:"10000" most:"1000000000"`
	Segments    int     `help:"Segments of the SKU, 1 to 1024. Default: ${default}." default:"10" placeholder:"NUMBER" least:"1" most:"1024"`
	Rate        float64 `help:"Orders a second that come in, over all processes, 1 to 100000. Default: ${default}." default:"500" placeholder:"RATE" least:"1" most:"100000"`
	Lock        string  `help:"Kind of lock of the segments: fair, which is taken for every batch, or reentrant, redlock, which are taken while orders queue, or none. Default: ${default}." default:"fair" enum:"reentrant,fair,redlock,none" placeholder:"KIND"`
	RedisURL    string  `help:"The Redis of all processes: redis://USER:PASSWORD@HOST:PORT/DB, or rediss://… with TLS; for redlock several with commas between them. Default: one, or three, started for this run." placeholder:"URL"`
	DatabaseURL string  `help:"A database on the PostgreSQL of all processes, which must sync its commits and let this user create a database, which is dropped in the end: postgres://USER:PASSWORD@HOST:PORT/DATABASE. Default: a server started for this run." placeholder:"URL"`
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
	config := c.config()
	config.Progress = s.Err
	return c.deliver(ctx, s, func(ctx context.Context) (report.Document, error) { return c.measure(ctx, config) })
}

func (c *tailCommand) measure(ctx context.Context, config tail.Config) (report.Document, error) {
	process, err := serviceProcess(io.Discard, slog.LevelError)
	if err != nil {
		return report.Document{}, err
	}
	config.Worker = process.Command
	result, err := tail.Run(ctx, config)
	if result.Started.IsZero() {
		return report.Document{}, err
	}
	document, wrong := result.Document()
	return document, errors.Join(err, wrong, result.Err())
}

func (c *tailCommand) config() tail.Config {
	config := tail.Config{
		URLs: servers.URLs{RedisURL: c.RedisURL, DatabaseURL: c.DatabaseURL},
		Lock: c.Lock, Seed: c.Seed, Rounds: c.Rounds, Stock: c.Stock, Segments: c.Segments, Rate: c.Rate,
	}
	switch {
	case c.Tiny:
		config.Rounds, config.Stock, config.Rate = 1, 100_000, 200
	case c.Quick:
		config.Rounds = 1
	}
	return config
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
