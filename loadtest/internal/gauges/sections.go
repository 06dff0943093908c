package gauges

import (
	"cmp"
	"math"
	"slices"
	"time"

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
	all := []report.Section{r.machine(accepted), r.servers(accepted)}
	if inService, _ := r.Points(Goroutines); len(inService) >= 2 {
		all = append(all, r.inside())
	}
	if s := r.sizes(accepted); len(s.Table.Rows) > 0 {
		all = append(all, s)
	}
	return all
}

// Figures are the numbers of the readings by which two runs are compared. Unknown ones are left out.
func (r Readings) Figures(accepted int64) []report.Figure {
	wait := r.LockWait()
	all := []report.Figure{
		{Name: "generator CPU per order", Unit: "ms", Value: each(r.CPU(Generator)*milli, accepted)},
		{Name: "service CPU per order", Unit: "ms", Value: each(r.CPU(Service)*milli, accepted)},
		{Name: "Redis CPU per order", Unit: "ms", Value: each(r.CPU(Redis)*milli, accepted)},
		{Name: "PostgreSQL CPU per order", Unit: "ms", Value: each(r.CPU(PostgreSQL)*milli, accepted)},
		{Name: "Redis commands per order", Value: each(r.Grown(redisCommands), accepted)},
		{Name: "WAL syncs per order", Value: each(r.Grown(walSyncs), accepted)},
		{Name: "WAL bytes per order", Unit: "bytes", Value: each(r.Grown(walBytes), accepted)},
		{Name: "lock wait mean", Unit: "ms", Value: wait.Mean() * milli},
		{Name: "lock wait p99", Unit: "ms", Value: wait.Quantile(0.99) * milli},
		{Name: "merges", Value: r.Grown(Merges)},
		{Name: "most memory", Unit: "MB", Value: r.most(Memory) / megabyte},
	}
	return slices.DeleteFunc(all, func(f report.Figure) bool { return math.IsNaN(f.Value) || math.IsInf(f.Value, 0) })
}

// each is a total for each accepted order.
func each(total float64, accepted int64) float64 {
	if accepted == 0 {
		return math.NaN()
	}
	return total / float64(accepted)
}

// cells are a row of numbers with its name.
func cells(first string, numbers ...float64) []string {
	row := []string{first}
	for _, n := range numbers {
		text := report.Number(n)
		if n < 0 && !math.IsInf(n, 0) {
			text = "-" + report.Number(-n)
		}
		row = append(row, text)
	}
	return row
}

// trace is a line of a plot over time.
type trace struct {
	name            string
	seconds, values []float64
}

func (t *trace) add(after time.Duration, value float64) {
	t.seconds, t.values = append(t.seconds, after.Seconds()), append(t.values, value)
}

// line makes a trace of a quantity, or of its growth.
func line(name string, points func(Quantity) (seconds, values []float64), q Quantity) trace {
	seconds, values := points(q)
	return trace{name, seconds, values}
}

// drawn is a plot over time, as a list of one; or of none, where there is nothing to draw.
func drawn(name, title, label string, per float64, traces ...trace) []report.Plot {
	p := report.Plot{Name: name, Title: title, Kind: report.Lines, X: report.Axis{Label: "time, s"}, Y: report.Axis{Label: label}}
	for _, t := range traces {
		s := report.Series{Name: t.name, X: t.seconds}
		for _, value := range t.values {
			s.Y = append(s.Y, value/per)
		}
		if len(s.X) > 0 {
			p.Series = append(p.Series, s)
		}
	}
	if len(p.Series) == 0 {
		return nil
	}
	return []report.Plot{p}
}

// machine has the processor time of each process.
func (r Readings) machine(accepted int64) report.Section {
	table := &report.Table{Columns: []string{"process", "CPU s", "processors busy", "CPU ms per accepted order"}}
	var busy []trace
	for _, p := range processes() {
		used := r.CPU(p)
		row := cells(string(p), used, used/r.Took().Seconds(), each(used*milli, accepted))
		if math.IsNaN(used) {
			row[1] = unknown
		}
		table.Rows = append(table.Rows, row)
		busy = append(busy, line(string(p), r.rates, cpu(p)))
	}
	return report.Section{
		Name: "What the machine did", Table: table, Notes: append(r.sources.words(), r.Notes...),
		Plots: drawn("cpu", "Processor time over time", "processors busy", 1, busy...),
	}
}

// servers has the work of Redis and PostgreSQL.
func (r Readings) servers(accepted int64) report.Section {
	s := report.Section{
		Name:  "What the servers were asked",
		Table: &report.Table{Columns: []string{"", "total", "per second", "per accepted order"}},
		Notes: r.syncWords(),
	}
	row := func(name string, total float64) {
		if !math.IsNaN(total) {
			s.Table.Rows = append(s.Table.Rows, cells(name, total, total/r.Took().Seconds(), each(total, accepted)))
		}
	}
	row("Redis: commands, those of scripts too", r.Grown(redisCommands))
	row("PostgreSQL: syncs of the log", r.Grown(walSyncs))
	row("PostgreSQL: bytes of the log", r.Grown(walBytes))
	row("PostgreSQL: transactions that wrote", r.Grown(Writes))
	row("PostgreSQL: commits, of reads too", r.Grown(commits))
	if len(s.Table.Rows) == 0 {
		s.Table = nil
		s.Notes = append(s.Notes, "Nothing of it is known from outside the service.")
	}
	return s
}

// syncWords explain the syncs.
func (r Readings) syncWords() (words []string) {
	if _, lite := r.sources.sqliteFile(); lite {
		words = append(words, "SQLite's syncs are not known, which is not none: each batch, settlement and movement is one at least.")
	}
	switch {
	case math.IsNaN(r.most(commits)):
	case r.most(noFsync) > 0:
		words = append(words, "PostgreSQL runs with fsync off: it syncs nothing, and its figures are not those of a server that keeps what it confirms.")
	default:
		words = append(words, "Sessions of PostgreSQL tell their syncs and commits up to ten seconds late: "+
			"those of the last seconds may be missing. Bytes of the log and transactions that wrote are exact.")
	}
	return words
}

// inside has the metrics of the service.
func (r Readings) inside() report.Section {
	wait, written, waits := r.LockWait(), r.Grown(batches), r.Grown(poolWaits)
	table := &report.Table{Columns: []string{"", "count", "mean", "p50", "p99"}}
	for _, row := range [][]string{
		cells("waits for locks, ms", wait.Count, wait.Mean()*milli, wait.Quantile(0.5)*milli, wait.Quantile(0.99)*milli),
		cells("batches, orders in each", written, r.Grown(batchOrders)/written),
		cells("merges", r.Grown(Merges)),
		cells("orders from several segments", r.Grown(merged)),
		cells("waits for a connection, ms", waits, r.Grown(poolSeconds)/waits*milli),
		cells("most orders in queues", r.most(queued)),
		cells("most goroutines", r.most(Goroutines)),
		cells("most resident memory, MB", r.most(Memory)/megabyte),
	} {
		table.Rows = append(table.Rows, append(row, make([]string, len(table.Columns)-len(row))...))
	}
	s := report.Section{Name: "Inside the service", Table: table, Plots: r.insidePlots()}
	if r.most(locksFail) > 0 {
		s.Notes = []string{"The breaker between the service and its locks was open: for that time the figures are those of the guard alone."}
	}
	return s
}

func (r Readings) insidePlots() []report.Plot {
	mean, high := trace{name: "mean"}, trace{name: "p99"}
	for after, waits := range r.lockWaits() {
		if waits.Count > 0 {
			mean.add(after, waits.Mean())
			high.add(after, waits.Quantile(0.99))
		}
	}
	return slices.Concat(
		drawn("lock-wait", "Wait for locks over time", "wait, ms", 1/milli, mean, high),
		drawn("merges", "Batches and merges over time", "a second", 1, line("batches", r.rates, batches), line("merges", r.rates, Merges)),
		drawn("queue", "Orders in queues over time", "orders", 1, line("orders in queues", r.Points, queued)),
		drawn("memory", "Memory over time", "MB", megabyte,
			line("service, resident", r.Points, Memory), line("service, heap in use", r.Points, heap), line("Redis", r.Points, redisMemory)),
		drawn("goroutines", "Goroutines over time", "goroutines", 1, line("service", r.Points, Goroutines)),
		drawn("connections", "Connections over time", "connections", 1,
			line("PostgreSQL", r.Points, connections), line("Redis", r.Points, redisClients), line("in use, as the service tells", r.Points, poolBusy)),
	)
}

// sizes is the growth of tables and indexes, or of the SQLite file.
func (r Readings) sizes(accepted int64) report.Section {
	s := report.Section{Name: "Tables and indexes", Table: &report.Table{Columns: []string{"", "kB before", "kB after", "bytes more per accepted order"}}}
	var lines []trace
	for name, q := range map[string]Quantity{"tables": tableBytes, "indexes": indexBytes, "SQLite file": fileBytes, "SQLite log": logBytes} {
		if _, values := r.Points(q); len(values) > 0 {
			before, after := values[0], values[len(values)-1]
			s.Table.Rows = append(s.Table.Rows, cells(name, before/milli, after/milli, each(after-before, accepted)))
			lines = append(lines, line(name, r.Points, q))
		}
	}
	slices.SortFunc(s.Table.Rows, func(a, b []string) int { return cmp.Compare(a[0], b[0]) })
	slices.SortFunc(lines, func(a, b trace) int { return cmp.Compare(a.name, b.name) })
	s.Plots = drawn("sizes", "Size of tables and indexes over time", "MB", megabyte, lines...)
	return s
}
