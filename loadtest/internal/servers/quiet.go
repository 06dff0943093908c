package servers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/load"
)

const (
	look       = time.Second // at the machine
	quietBelow = 10          // percent of all processors
)

// lookAround tells how busy the machine is with the work of others, before a measurement begins, and whether that is little.
func lookAround(ctx context.Context) (told string, quiet bool, err error) {
	busy, err := cpu.PercentWithContext(ctx, look, false)
	if err != nil {
		return "", false, fmt.Errorf("look how busy the machine is: %w", err)
	}
	average, err := load.AvgWithContext(ctx)
	if err != nil {
		return "", false, fmt.Errorf("look how busy the machine is: %w", err)
	}
	quiet = busy[0] < quietBelow
	return fmt.Sprintf("the machine was %s before the start: %.0f%% of all processors busy for a second, load average %.2f",
		map[bool]string{true: "quiet", false: "NOT quiet"}[quiet], busy[0], average.Load1), quiet, nil
}

// warn says why figures may not be what they seem.
func (s *Servers) warn(machine string, quiet bool) {
	if !quiet {
		s.Warnings = append(s.Warnings, machine)
	}
	if slices.Contains([]string{"tmpfs", "ramfs"}, s.About.FileSystem) {
		s.Warnings = append(s.Warnings, "PostgreSQL's files are in memory ("+s.About.FileSystem+"), so its syncs cost nothing: set TMPDIR to a folder on a disk")
	}
}
