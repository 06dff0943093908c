package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"inventory/internal/cli"
	"inventory/loadtest/internal/breaks"
	"inventory/loadtest/internal/report"
)

// breakAll breaks locks.
func (c *locksCommand) breakAll(ctx context.Context, s cli.Streams) (report.Document, error) {
	program, err := os.Executable()
	if err != nil {
		return report.Document{}, fmt.Errorf("find the program, which other processes run too: %w", err)
	}
	result, err := breaks.Run(ctx, breaks.Config{
		URLs:   c.urls(),
		Faults: c.Case, Worker: []string{program, "locks-holder"},
		Progress: func(fault string) { _, _ = fmt.Fprintf(s.Err, "breaking: the holder %s\n", fault) },
	})
	if result.Started.IsZero() {
		return report.Document{}, err
	}
	document, wrong := result.Document()
	return document, errors.Join(err, wrong, result.Err())
}

// locksHolderCommand is a process that holds a lock while something happens to it: the lab starts it.
type locksHolderCommand struct{}

// Run does what standard input says.
func (*locksHolderCommand) Run(ctx context.Context) error {
	return breaks.Hold(ctx, os.Stdin, os.Stdout)
}
