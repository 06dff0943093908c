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

// lookAround says how busy the machine is before a measurement, and whether it is quiet.
func lookAround(ctx context.Context) (line string, quiet bool, err error) {
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

// inMemory tells whether a file system keeps nothing on a disk.
func inMemory(fileSystem string) bool { return slices.Contains([]string{"tmpfs", "ramfs"}, fileSystem) }
