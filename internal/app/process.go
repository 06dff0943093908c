package app

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/prometheus/client_golang/prometheus"
)

// heapGrowth lets the heap grow to five times the live heap instead of twice before the garbage collector runs.
const heapGrowth = 400

// memoryShare is the largest share of the container's or the machine's memory that the program uses.
const memoryShare = 0.8

// SpendMemory makes the process collect garbage less often, unless the environment sets GOGC. The live heap of this
// service is only a few MB, so under load the collector would run a hundred times a second, and scan the stack of every
// waiting request each time: a tenth of all processor time.
//
// With many connections the live heap is larger, so there is a limit: GOMEMLIMIT, or else a share of the container's or
// the machine's memory. Near it the collector runs as often as it must. Programs whose main job is the service call
// SpendMemory. A nil logger is none.
func SpendMemory(log *slog.Logger) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
	limit, err := memlimit.Set(memlimit.WithRatio(memoryShare),
		memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)))
	if err != nil {
		log.Warn("memory is not limited: set GOMEMLIMIT", "error", err)
		return
	}
	log.Debug("memory is limited", "bytes", limit)
}

// Release is the version of this program. CONTRIBUTING.md says how to raise it.
const Release = "0.1.0"

// revision is set by the linker, by make. Otherwise the Go tool may know it, from git.
var revision string

// Build says which program this is.
type Build struct {
	Version  string // such as 1.4.0
	Revision string // that of the source, or "unknown"
	Go       string // the version of Go that compiled it
}

// ThisBuild returns the build of the running program.
func ThisBuild() Build {
	b := Build{Version: Release, Revision: cmp.Or(revision, "unknown"), Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && revision == "" {
			b.Revision = setting.Value
		}
	}
	return b
}

// String is a line for people.
func (b Build) String() string {
	return fmt.Sprintf("%s (revision %s, %s, %s/%s)", b.Version, b.Revision, b.Go, runtime.GOOS, runtime.GOARCH)
}

// metric returns a metric of value 1, whose labels describe the build.
func (b Build) metric() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "inventory", Name: "build_info", Help: "1, with the program's version, its revision of the source and Go's version as labels.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "goversion": b.Go},
	}, func() float64 { return 1 })
}
