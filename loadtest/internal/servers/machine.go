package servers

import (
	"context"
	"runtime"

	"github.com/shirou/gopsutil/v4/cpu"

	"inventory/loadtest/internal/report"
)

// Machine is what figures depend on that needs no server: where this program runs, and what it was made of.
func Machine(ctx context.Context) report.Environment {
	return report.Environment{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), CPU: processor(ctx), Go: runtime.Version(),
		Revision: revision(ctx),
	}
}

// processor is the model of the first one, "" where the system does not tell it.
func processor(ctx context.Context) string {
	all, err := cpu.InfoWithContext(ctx)
	if err != nil || len(all) == 0 {
		return ""
	}
	return all[0].ModelName
}
