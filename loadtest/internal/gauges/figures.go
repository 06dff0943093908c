package gauges

import (
	"math"
	"slices"

	"inventory/loadtest/internal/report"
)

// Figures are the few numbers of the readings that tell two runs apart. What is not known is left out.
func (r Readings) Figures(accepted int64) []report.Figure {
	wait := r.LockWait()
	all := []report.Figure{
		{Name: "generator CPU per order", Unit: "ms", Value: each(r.CPU(Generator)*milli, accepted)},
		{Name: "service CPU per order", Unit: "ms", Value: each(r.CPU(Service)*milli, accepted)},
		{Name: "Redis CPU per order", Unit: "ms", Value: each(r.CPU(Redis)*milli, accepted)},
		{Name: "PostgreSQL CPU per order", Unit: "ms", Value: each(r.CPU(PostgreSQL)*milli, accepted)},
		{Name: "Redis commands per order", Value: each(r.RedisCommands(), accepted)},
		{Name: "WAL syncs per order", Value: each(r.WALSyncs(), accepted)},
		{Name: "WAL bytes per order", Unit: "bytes", Value: each(r.WALBytes(), accepted)},
		{Name: "lock wait mean", Unit: "ms", Value: wait.Mean() * milli},
		{Name: "lock wait p99", Unit: "ms", Value: wait.Quantile(0.99) * milli},
		{Name: "merges", Value: r.Merges()},
		{Name: "most memory", Unit: "MB", Value: r.most(ofService(residentOf)) / megabyte},
	}
	return slices.DeleteFunc(all, func(f report.Figure) bool { return math.IsNaN(f.Value) || math.IsInf(f.Value, 0) })
}
