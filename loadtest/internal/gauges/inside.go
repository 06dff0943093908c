package gauges

import (
	"math"

	"inventory/loadtest/internal/report"
)

// inside is what the service tells of itself, where it does.
func (r Readings) inside() (report.Section, bool) {
	known := ofService(func(*ServiceReading) float64 { return 0 })
	if len(r.having(known)) < 2 {
		return report.Section{}, false
	}
	table := &report.Table{Columns: []string{"", "count", "mean", "p50", "p99"}}
	row := func(name string, count float64, cells ...float64) {
		texts := []string{name, cell(count), "", "", ""}
		for i, c := range cells {
			texts[i+2] = cell(c)
		}
		table.Rows = append(table.Rows, texts)
	}
	wait := r.LockWait()
	row("waits for locks, ms", wait.Count, wait.Mean()*milli, wait.Quantile(0.5)*milli, wait.Quantile(0.99)*milli)
	batches := r.grown(ofService(batchesOf))
	row("batches, orders in each", batches, r.grown(ofService(batchOrdersOf))/batches)
	row("merges", r.Merges())
	row("orders from several segments", r.grown(ofService(mergedOf)))
	waits := r.grown(ofService(poolWaitsOf))
	row("waits for a connection, ms", waits, r.grown(ofService(poolSecondsOf))/waits*milli)
	row("most orders in queues", r.most(ofService(queueOf)))
	row("most goroutines", r.most(ofService(goroutinesOf)))
	row("most resident memory, MB", r.most(ofService(residentOf))/megabyte)
	return report.Section{
		Name: "Inside the service", Table: table, Notes: r.breakerWords(),
		Plots: drawn(r.lockWaitPlot(), r.mergesPlot(), r.queuePlot(), r.memoryPlot(), r.goroutinesPlot(), r.connectionsPlot()),
	}, true
}

func batchesOf(s *ServiceReading) float64     { return s.Batches }
func batchOrdersOf(s *ServiceReading) float64 { return s.BatchOrders }
func mergesOf(s *ServiceReading) float64      { return s.Merges }
func mergedOf(s *ServiceReading) float64      { return s.Merged }
func poolWaitsOf(s *ServiceReading) float64   { return s.PoolWaits }
func poolSecondsOf(s *ServiceReading) float64 { return s.PoolSeconds }
func poolBusyOf(s *ServiceReading) float64    { return s.PoolBusy }
func queueOf(s *ServiceReading) float64       { return s.Queue }
func locksFailOf(s *ServiceReading) float64   { return s.LocksFail }
func goroutinesOf(s *ServiceReading) float64  { return s.Goroutines }
func residentOf(s *ServiceReading) float64    { return s.Resident }
func heapOf(s *ServiceReading) float64        { return s.Heap }

// breakerWords say whether locks were done without.
func (r Readings) breakerWords() []string {
	if r.most(ofService(locksFailOf)) > 0 {
		return []string{"The breaker between the service and its locks was open: for that time the figures are those of the guard alone."}
	}
	return nil
}

func over(name, title, label string) report.Plot {
	return report.Plot{Name: name, Title: title, Kind: report.Lines, X: report.Axis{Label: seconds}, Y: report.Axis{Label: label}}
}

// lockWaitPlot has the waits of each step of time by themselves.
func (r Readings) lockWaitPlot() report.Plot {
	plot := over(LockWaitPlot, "Wait for locks over time", "wait, ms")
	of := func(tell func(Histogram) float64) func(value) (x, y []float64) {
		return func(known value) (x, y []float64) {
			return r.steps(known, func(before, after Reading) float64 {
				return tell(Readings{All: []Reading{before, after}}.LockWait()) * milli
			})
		}
	}
	known := ofService(func(*ServiceReading) float64 { return 0 })
	plot.Series = appendSeries(plot.Series, "mean", of(Histogram.Mean), known)
	plot.Series = appendSeries(plot.Series, "p99", of(func(h Histogram) float64 { return h.Quantile(0.99) }), known)
	return plot
}

func (r Readings) mergesPlot() report.Plot {
	plot := over(MergesPlot, "Batches and merges over time", "a second")
	plot.Series = appendSeries(plot.Series, "batches", r.rates, ofService(batchesOf))
	plot.Series = appendSeries(plot.Series, "merges", r.rates, ofService(mergesOf))
	return plot
}

func (r Readings) queuePlot() report.Plot {
	plot := over(QueuePlot, "Orders in queues over time", "orders")
	plot.Series = appendSeries(plot.Series, "orders in queues", r.points, ofService(queueOf))
	return plot
}

func (r Readings) memoryPlot() report.Plot {
	plot := over(MemoryPlot, "Memory over time", "MB")
	mb := func(of value) value { return func(x Reading) float64 { return of(x) / megabyte } }
	plot.Series = appendSeries(plot.Series, "service, resident", r.points, mb(ofService(residentOf)))
	plot.Series = appendSeries(plot.Series, "service, heap in use", r.points, mb(ofService(heapOf)))
	plot.Series = appendSeries(plot.Series, "Redis", r.points, mb(ofRedis(func(x *RedisReading) float64 { return x.Memory })))
	return plot
}

func (r Readings) goroutinesPlot() report.Plot {
	plot := over(GoroutinesPlot, "Goroutines over time", "goroutines")
	plot.Series = appendSeries(plot.Series, "service", r.points, ofService(goroutinesOf))
	return plot
}

func (r Readings) connectionsPlot() report.Plot {
	plot := over(ConnectionsPlot, "Connections over time", "connections")
	plot.Series = appendSeries(plot.Series, "PostgreSQL", r.points, ofPostgres(func(x *PostgresReading) float64 { return x.Connections }))
	plot.Series = appendSeries(plot.Series, "Redis", r.points, ofRedis(func(x *RedisReading) float64 { return x.Clients }))
	plot.Series = appendSeries(plot.Series, "in use, as the service tells", r.points, ofService(poolBusyOf))
	return plot
}

// Merges is how many merges there were; NaN: not known.
func (r Readings) Merges() float64 { return r.grown(ofService(mergesOf)) }

// RedisCommands is how many commands Redis carried out, those that scripts called too; NaN: not known.
func (r Readings) RedisCommands() float64 {
	return r.grown(ofRedis(func(x *RedisReading) float64 { return x.Commands }))
}

// WALSyncs is how often PostgreSQL synced its log; NaN: not known, or nothing is synced.
func (r Readings) WALSyncs() float64 {
	return r.grown(ofPostgres(func(x *PostgresReading) float64 {
		if !x.Fsync {
			return math.NaN()
		}
		return x.WALSyncs
	}))
}

// WALBytes is by how much PostgreSQL's log grew; NaN: not known.
func (r Readings) WALBytes() float64 {
	return r.grown(ofPostgres(func(x *PostgresReading) float64 { return x.WALBytes }))
}

// Writes is how many transactions of PostgreSQL wrote; NaN: not known.
func (r Readings) Writes() float64 {
	return r.grown(ofPostgres(func(x *PostgresReading) float64 { return x.Writes }))
}

// Commits is how many transactions of PostgreSQL were committed, those too that only read; NaN: not known.
func (r Readings) Commits() float64 {
	return r.grown(ofPostgres(func(x *PostgresReading) float64 { return x.Commits }))
}
