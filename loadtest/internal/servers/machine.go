package servers

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/load"

	"inventory/loadtest/internal/report"
)

// Machine is the machine and the source of this program.
func Machine(ctx context.Context) report.Environment {
	return report.Environment{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), CPU: processor(ctx), Go: runtime.Version(),
		Revision: revision(ctx),
	}
}

// processor is the model of the first processor, "" if it is not known.
func processor(ctx context.Context) string {
	all, err := cpu.InfoWithContext(ctx)
	if err != nil || len(all) == 0 {
		return ""
	}
	return all[0].ModelName
}

const (
	look       = time.Second // at the machine
	quietBelow = 10          // percent of all processors
)

// lookAround returns how busy the machine is before a measurement, and whether it is quiet.
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

// inMemory reports whether a file system keeps nothing on a disk.
func inMemory(fileSystem string) bool { return slices.Contains([]string{"tmpfs", "ramfs"}, fileSystem) }

// gitTimeout bounds what git may take.
const gitTimeout = 5 * time.Second

// revision is the revision of the source in whose folder this program runs, with -dirty if a file of it has changed; "" where there
// is none.
func revision(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
