package servers

import (
	"context"
	"os"
	"runtime"
	"strings"

	"inventory/loadtest/internal/report"
)

// Machine is what figures depend on that needs no server: where this program runs, and what it was made of.
func Machine(ctx context.Context) report.Environment {
	return report.Environment{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), CPU: processor(), Go: runtime.Version(),
		Revision: revision(ctx),
	}
}

// processor is the model of the first one, where the system tells it in a file.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "" // another system
	}
	_, model, _ := strings.Cut(string(text), "model name")
	model, _, _ = strings.Cut(model, "\n")
	return strings.TrimLeft(model, " \t:")
}
