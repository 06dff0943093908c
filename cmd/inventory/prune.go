package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/internal/stock"
)

type pruneCommand struct {
	databaseFlag
	Before instant `help:"Prune orders that have ended, and to which nothing has happened since this time, such as 2026-01-31T00:00:00Z." placeholder:"TIME" required:"" env:"-"`
	DryRun bool    `help:"Only count them." env:"-"`
}

// An instant is a time that a flag names.
type instant struct{ time.Time }

// UnmarshalText reads a time as RFC 3339 writes it.
func (i *instant) UnmarshalText(text []byte) error {
	at, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return fmt.Errorf("%q is not a time with a date, a clock and a zone, such as 2026-01-31T00:00:00Z", text)
	}
	i.Time = at
	return nil
}

// Help shows examples.
func (pruneCommand) Help() string {
	return `It cannot be undone. Replays of an order that is gone are refused (sku_archived), and its
deductions are unknown.

Examples:

    inventory prune --before 2026-01-31T00:00:00Z --dry-run
    inventory prune --before 2026-01-31T00:00:00Z`
}

// Validate returns an error if a value is out of range.
func (c *pruneCommand) Validate() error {
	if c.Before.After(time.Now()) {
		return errors.New("--before must not lie in the future")
	}
	return nil
}

// Run prunes, and prints a line for each SKU.
func (c *pruneCommand) Run(ctx context.Context, s cli.Streams) error {
	what := "pruned"
	if c.DryRun {
		what = "to prune"
	}
	var skus int
	var all stock.Pruned
	err := app.Prune(ctx, c.DatabaseURL, c.Before.Time, c.DryRun, func(sku string, pruned stock.Pruned) error {
		skus, all.Deductions, all.Units = skus+1, all.Deductions+pruned.Deductions, all.Units+pruned.Units
		_, err := fmt.Fprintf(s.Out, "%s: %s %s\n", sku, told(pruned), what)
		return err
	})
	s.Printf("%s: %s %s\n", cli.Count(skus, "SKU"), told(all), what)
	return err
}

func told(p stock.Pruned) string {
	return cli.Count(p.Deductions, "deduction") + " with " + cli.Count(p.Units, "unit")
}
