package main

import (
	"context"
	"fmt"
	"time"

	"inventory/internal/cli"
	"inventory/loadtest/internal/soak"
	"inventory/loadtest/internal/target"
)

type soakCommand struct {
	soak.Config
	Quick bool `help:"Only 30 seconds. Default: off."`
	reportFlags
	targetFlags
}

// Validate returns an error that names the wrong flag.
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
		config.Length = min(config.Length, 30*time.Second)
	}
	return config
}

// Run soaks and reports.
func (c *soakCommand) Run(ctx context.Context, s cli.Streams) error {
	config := c.soak()
	config.Seed, config.Progress = drawnSeed(c.Seed), s.Err
	return c.run(ctx, s, func(ctx context.Context) (result, error) {
		return c.at(ctx, s, func(to *target.Target) (result, error) {
			if _, err := fmt.Fprintf(s.Err, "soak: seed %d, about %.0f requests over %v, sent to %s\n", config.Seed, config.Expected(),
				config.Length, to.Name); err != nil {
				return nil, fmt.Errorf("print: %w", err)
			}
			return soak.Run(ctx, config, to)
		})
	})
}
