package gauges

import (
	"fmt"
	"math"
	"slices"

	"inventory/loadtest/internal/report"
)

// The names of the plots, by which two reports are laid over one another.
const (
	CPUPlot         = "cpu"
	LockWaitPlot    = "lock-wait"
	MergesPlot      = "merges"
	QueuePlot       = "queue"
	MemoryPlot      = "memory"
	GoroutinesPlot  = "goroutines"
	ConnectionsPlot = "connections"
	SizesPlot       = "sizes"
)

const (
	milli    = 1e3
	megabyte = 1e6
	unknown  = "not known"
	seconds  = "time, s"
)

// Sections are the readings as a part of a report. accepted is how many orders the load was accepted for meanwhile; what is told
// of each order is left out where it is 0.
func (r Readings) Sections(accepted int64) []report.Section {
	all := []report.Section{r.machine(accepted), r.servers(accepted)}
	if s, ok := r.inside(); ok {
		all = append(all, s)
	}
	if s, ok := r.sizes(accepted); ok {
		all = append(all, s)
	}
	return all
}

// each is a figure for each order that was accepted.
func each(total float64, accepted int64) float64 {
	if accepted == 0 {
		return math.NaN()
	}
	return total / float64(accepted)
}

// cell tells a number, or that there is none.
func cell(number float64) string {
	switch {
	case math.IsNaN(number) || math.IsInf(number, 0):
		return "-"
	case number < 0:
		return "-" + report.Number(-number)
	}
	return report.Number(number)
}

// machine is who used the processors.
func (r Readings) machine(accepted int64) report.Section {
	table := &report.Table{Columns: []string{"process", "CPU s", "processors busy", "CPU ms per accepted order"}}
	for p := range processKinds {
		used := r.CPU(p)
		if math.IsNaN(used) {
			table.Rows = append(table.Rows, []string{p.String(), unknown, "-", "-"})
			continue
		}
		table.Rows = append(table.Rows, []string{
			p.String(), cell(used), cell(used / r.Took().Seconds()), cell(each(used*milli, accepted)),
		})
	}
	notes := append(r.sources.words(), r.Notes...)
	plot := report.Plot{
		Name: CPUPlot, Title: "Processor time over time", Kind: report.Lines,
		X: report.Axis{Label: seconds}, Y: report.Axis{Label: "processors busy"},
	}
	for p := range processKinds {
		plot.Series = appendSeries(plot.Series, p.String(), r.rates, cpuOf(p))
	}
	return report.Section{Name: "What the machine did", Table: table, Plots: drawn(plot), Notes: notes}
}

// appendSeries adds a line, where there is anything to be drawn.
func appendSeries(all []report.Series, name string, points func(value) (x, y []float64), of value) []report.Series {
	if x, y := points(of); len(x) > 0 {
		all = append(all, report.Series{Name: name, X: x, Y: y})
	}
	return all
}

// drawn are the plots with something in them.
func drawn(plots ...report.Plot) []report.Plot {
	return slices.DeleteFunc(plots, func(p report.Plot) bool { return len(p.Series) == 0 })
}

// servers is what Redis and PostgreSQL were asked to do.
func (r Readings) servers(accepted int64) report.Section {
	s := report.Section{
		Name:  "What the servers were asked",
		Table: &report.Table{Columns: []string{"", "total", "per second", "per accepted order"}},
	}
	row := func(name string, total float64) {
		if !math.IsNaN(total) {
			s.Table.Rows = append(s.Table.Rows, []string{name, cell(total), cell(total / r.Took().Seconds()), cell(each(total, accepted))})
		}
	}
	row("Redis: commands, those of scripts too", r.RedisCommands())
	for _, command := range r.busiest() {
		row("Redis: "+command.name, command.calls)
	}
	row("PostgreSQL: syncs of the log", r.WALSyncs())
	row("PostgreSQL: bytes of the log", r.WALBytes())
	row("PostgreSQL: transactions that wrote", r.Writes())
	row("PostgreSQL: commits, of reads too", r.Commits())
	s.Notes = r.syncWords()
	if len(s.Table.Rows) == 0 {
		s.Table = nil
		s.Notes = append(s.Notes, "Nothing of it is known from outside the service.")
	}
	return s
}

// syncWords say what to make of the syncs.
func (r Readings) syncWords() (words []string) {
	if _, lite := r.sources.sqliteFile(); lite {
		words = append(words, "SQLite's syncs are not known, which is not none: each batch, settlement and movement is one at least.")
	}
	last := r.having(ofPostgres(func(*PostgresReading) float64 { return 0 }))
	switch {
	case len(last) == 0:
	case !last[len(last)-1].Postgres.Fsync:
		words = append(words, "PostgreSQL runs with fsync off: it syncs nothing, and its figures are not those of a server that keeps what it confirms.")
	case r.sources.Settle < PostgresSettles:
		words = append(words, fmt.Sprintf("Sessions of PostgreSQL tell their syncs and commits up to %.0f s late, for which this run did not wait: "+
			"those of the last second may be missing. Bytes of the log and transactions that wrote are exact.", PostgresSettles.Seconds()))
	}
	return words
}

// called is how often a command was called.
type called struct {
	name  string
	calls float64
}

// mostCommands is how many commands of Redis are told apart.
const mostCommands = 5

// busiest are the commands that Redis was asked for most often.
func (r Readings) busiest() (all []called) {
	last := r.having(ofRedis(func(*RedisReading) float64 { return 0 }))
	if len(last) == 0 {
		return nil
	}
	for name := range last[len(last)-1].Redis.ByCommand {
		// A command that was never called before is not among those of the first reading: then it is 0 there.
		calls := r.grown(ofRedis(func(x *RedisReading) float64 { return x.ByCommand[name] }))
		if calls > 0 {
			all = append(all, called{name, calls})
		}
	}
	slices.SortFunc(all, func(a, b called) int {
		if a.calls != b.calls {
			return int(math.Copysign(1, b.calls-a.calls))
		}
		return len(a.name) - len(b.name)
	})
	return all[:min(len(all), mostCommands)]
}
