package app

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// The linker sets both, by make. Otherwise the Go tool may know them, from git or from the module.
var version, revision string

// Build says which program this is.
type Build struct {
	Version  string // such as v1.4.0
	Revision string // of the source, or "unknown"
	Go       string // that compiled it
}

// ThisBuild returns the build of the running program.
func ThisBuild() Build {
	b := Build{Version: version, Revision: cmp.Or(revision, "unknown"), Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version == "" {
		b.Version = info.Main.Version
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
