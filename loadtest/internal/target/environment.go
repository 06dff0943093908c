package target

import (
	"context"
	"runtime"

	"inventory/loadtest/internal/report"
)

// Environment is what figures depend on beside what is measured.
func (t *Target) Environment(context.Context) report.Environment {
	return report.Environment{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), Target: t.Name,
	}
}
