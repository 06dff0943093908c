package gauges

import (
	"math"
	"slices"

	"inventory/loadtest/internal/report"
)

const (
	milli    = 1e3
	megabyte = 1e6
	unknown  = "not known"
)

// Sections are the readings in a report. accepted is the number of orders that were accepted meanwhile; with 0 there are no
// figures for each order.
func (r Readings) Sections(accepted int64) []report.Section {
	all := []report.Section{r.machine(accepted)}
	if s := r.postgres(accepted); len(s.Table.Rows) > 0 {
		all = append(all, s)
	}
	if inService, _ := r.Points(Goroutines); len(inService) >= 2 {
		all = append(all, r.inside())
	}
	return all
}

// Figures are the numbers of the readings by which two runs are compared. Unknown ones are left out.
func (r Readings) Figures(accepted int64) []report.Figure {
	all := []report.Figure{
		{Name: "generator CPU per order", Unit: "ms", Value: each(r.CPU(Generator)*milli, accepted)},
		{Name: "service CPU per order", Unit: "ms", Value: each(r.CPU(Service)*milli, accepted)},
		{Name: "Redis CPU per order", Unit: "ms", Value: each(r.CPU(Redis)*milli, accepted)},
		{Name: "PostgreSQL CPU per order", Unit: "ms", Value: each(r.CPU(PostgreSQL)*milli, accepted)},
		{Name: "WAL syncs per order", Value: each(r.Grown(walSyncs), accepted)},
		{Name: "WAL bytes per order", Unit: "bytes", Value: each(r.Grown(walBytes), accepted)},
		{Name: "lock wait mean", Unit: "ms", Value: r.mean(lockWaits) * milli},
		{Name: "merges", Value: r.Grown(merges)},
		{Name: "most memory", Unit: "MB", Value: r.most(Memory) / megabyte},
	}
	return slices.DeleteFunc(all, func(f report.Figure) bool { return math.IsNaN(f.Value) || math.IsInf(f.Value, 0) })
}

// mean is that of a histogram.
func (r Readings) mean(histogram Quantity) float64 {
	return r.Grown(sum(histogram)) / r.Grown(histogram)
}

// each is a total for each accepted order.
func each(total float64, accepted int64) float64 {
	if accepted == 0 {
		return math.NaN()
	}
	return total / float64(accepted)
}

// cells are a row of numbers with its name.
func cells(name string, numbers ...float64) []string {
	row := []string{name}
	for _, n := range numbers {
		row = append(row, report.Number(n))
	}
	return row
}

// machine has the processor time of each process.
func (r Readings) machine(accepted int64) report.Section {
	table := &report.Table{Columns: []string{"process", "CPU s", "processors busy", "CPU ms per accepted order"}}
	for _, p := range []Process{Generator, Service, Redis, PostgreSQL, Machine} {
		used := r.CPU(p)
		row := cells(string(p), used, used/r.Took().Seconds(), each(used*milli, accepted))
		if math.IsNaN(used) {
			row[1] = unknown
		}
		table.Rows = append(table.Rows, row)
	}
	return report.Section{Name: "What the machine did", Table: table, Notes: append(r.sources.words(), r.Notes...)}
}

// words say what the processor times leave out, and why.
func (s Sources) words() (words []string) {
	if len(s.ServiceMetricsURLs) == 0 {
		words = append(words, "Where the service's metrics are, is not known: neither is what it tells of itself.")
	}
	if s.RedisPID == 0 {
		words = append(words, "Redis was not started by this run, or is part of the service: its processor time is not known.")
	}
	if s.PostmasterPID == 0 {
		words = append(words, "PostgreSQL was not started by this run, or SQLite is part of the service: the database's processor time is not known.")
	}
	return words
}

// postgres has the work of PostgreSQL.
func (r Readings) postgres(accepted int64) report.Section {
	s := report.Section{
		Name: "What PostgreSQL did", Table: &report.Table{Columns: []string{"", "total", "per second", "per accepted order"}},
		Notes: []string{"Sessions of PostgreSQL tell their syncs up to ten seconds late: those of the last seconds may be missing. " +
			"Bytes of the log and transactions that wrote are exact."},
	}
	if r.most(noFsync) > 0 {
		s.Notes = []string{"PostgreSQL runs with fsync off: it syncs nothing, and its figures are not those of a server that keeps what it confirms."}
	}
	tables, indexes := r.Growth()
	for _, row := range []struct {
		name  string
		total float64
	}{
		{"syncs of the log", r.Grown(walSyncs)},
		{"bytes of the log", r.Grown(walBytes)},
		{"transactions that wrote", r.Grown(writes)},
		{"bytes that tables grew", tables},
		{"bytes that indexes grew", indexes},
	} {
		if !math.IsNaN(row.total) {
			s.Table.Rows = append(s.Table.Rows, cells(row.name, row.total, row.total/r.Took().Seconds(), each(row.total, accepted)))
		}
	}
	return s
}

// Growth is the growth of all tables, and of all indexes, in bytes; NaN: not known.
func (r Readings) Growth() (tables, indexes float64) {
	change := func(q Quantity) float64 {
		_, values := r.Points(q)
		if len(values) == 0 {
			return math.NaN()
		}
		return values[len(values)-1] - values[0]
	}
	return change(tableBytes), change(indexBytes)
}

// inside has the metrics of the service.
func (r Readings) inside() report.Section {
	waits := r.Grown(poolWaits)
	s := report.Section{Name: "Inside the service", Table: &report.Table{Columns: []string{"", "count", "mean"}, Rows: [][]string{
		cells("waits for locks, ms", r.Grown(lockWaits), r.mean(lockWaits)*milli),
		cells("batches, orders in each", r.Grown(batches), r.mean(batches)),
		cells("waits for a connection, ms", waits, r.Grown(poolSeconds)/waits*milli),
		append(cells("merges", r.Grown(merges)), ""),
		append(cells("orders from several segments", r.Grown(merged)), ""),
		append(cells("most orders in queues", r.most(queued)), ""),
		append(cells("most goroutines", r.most(Goroutines)), ""),
		append(cells("most resident memory, MB", r.most(Memory)/megabyte), ""),
	}}}
	if r.most(locksFail) > 0 {
		s.Notes = []string{"The breaker between the service and its locks was open: for that time the figures are those of the guard alone."}
	}
	return s
}
