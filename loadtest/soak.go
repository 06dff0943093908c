package main

import (
	"context"
	"fmt"
	"time"

	"inventory/internal/cli"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/soak"
	"inventory/loadtest/internal/target"
)

type soakCommand struct {
	soak.Config
	Quick bool `help:"Only 30 seconds. Default: off."`
	reportFlags
	targetFlags
}

// Help is what --help and list tell beside the flags.
func (c *soakCommand) Help() string {
	return about{
		Shows: "whether memory and goroutines are given back, how much tables and indexes grow for each order, whether answers take longer as " +
			"time goes by, and what the machine and the servers do meanwhile.",
		Full: "ten minutes; --for says otherwise", Quick: "under a minute",
		Needs: "nothing. With --private-servers the programs of PostgreSQL and Redis; or a service of yours: --url.",
	}.String()
}

// quickSoak is how long a quick run lasts.
const quickSoak = 30 * time.Second

// Validate tells kong which flag is wrong.
func (c *soakCommand) Validate() error {
	if n := c.soak().Expected(); n > mostRequests {
		return fmt.Errorf("--rate and --for come to %.0f requests; at most %.0f can be planned", n, mostRequests)
	}
	return c.targetFlags.Validate()
}

// soak is what the flags say of it.
func (c *soakCommand) soak() soak.Config {
	config := c.Config
	config.Key = c.APIKey
	if c.Quick {
		config.Length = min(config.Length, quickSoak)
	}
	return config
}

// Run soaks and reports.
func (c *soakCommand) Run(ctx context.Context, s cli.Streams) error {
	config := c.soak()
	config.Seed, config.Progress = drawnSeed(c.Seed), s.Err
	return c.deliver(ctx, s, func(ctx context.Context) (report.Document, error) {
		return c.at(ctx, s, func(to *target.Target) (report.Document, error) {
			if _, err := fmt.Fprintf(s.Err, "soak: seed %d, about %.0f requests over %v, sent to %s\n", config.Seed, config.Expected(),
				config.Length, to.Name); err != nil {
				return report.Document{}, fmt.Errorf("print: %w", err)
			}
			return documented(soak.Run(ctx, config, to))
		})
	})
}
