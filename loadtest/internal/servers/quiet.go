package servers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/load"

	"inventory/loadtest/internal/report"
)

const (
	look       = time.Second // at the machine
	quietBelow = 10          // percent of all processors
)

// Load is how busy the machine is with the work of others.
type Load struct {
	Busy    float64 // percent of all processors, over a second
	Average float64 // processes that ran or wanted to, over a minute
}

// LookAround tells how busy the machine is, before a measurement begins.
func LookAround(ctx context.Context) (Load, error) {
	busy, err := cpu.PercentWithContext(ctx, look, false)
	if err != nil {
		return Load{}, fmt.Errorf("look how busy the machine is: %w", err)
	}
	average, err := load.AvgWithContext(ctx)
	if err != nil {
		return Load{}, fmt.Errorf("look how busy the machine is: %w", err)
	}
	return Load{busy[0], average.Load1}, nil
}

// Quiet tells whether others leave the machine to the measurement.
func (l Load) Quiet() bool { return l.Busy < quietBelow }

// String is the load in words.
func (l Load) String() string {
	quiet := "quiet"
	if !l.Quiet() {
		quiet = "NOT quiet"
	}
	return fmt.Sprintf("the machine was %s before the start: %.0f%% of all processors busy for a second, load average %.2f", quiet, l.Busy, l.Average)
}

// Warnings say why figures may not be what they seem.
func Warnings(load Load, e report.Environment) (all []string) {
	if !load.Quiet() {
		all = append(all, load.String())
	}
	if slices.Contains([]string{"tmpfs", "ramfs"}, e.FileSystem) {
		all = append(all, "PostgreSQL's files are in memory ("+e.FileSystem+"), so its syncs cost nothing: set TMPDIR to a folder on a disk")
	}
	return all
}
