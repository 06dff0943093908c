// Package gauges watches the machine and the servers while load is sent: the processor time of each process, what PostgreSQL did,
// and what the service's metrics say.
//
// [Start] begins, and its starter ends it for [Readings], which can write themselves into a report. What cannot be read is noted once:
// an unknown figure is never 0.
package gauges

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/report"
)

// Sources say what to watch beside the machine and this process, which sends the load. An empty source is not known, and the report
// says so.
type Sources struct {
	AdminURLs     []string // the admin listeners, with metrics, of the services that were started here
	DatabaseURL   string   // where the rows are; it may hold a password. Only of postgres://… it is known what it does
	PostmasterPID int      // of a PostgreSQL that was started here; 0: none
	RedisPID      int      // of a Redis that was started here; 0: none
}

// Quantity is something that is read: a counter since the start of its process, or a gauge.
type Quantity string

// values are what was read of one source, or of all, at one moment.
type values map[Quantity]float64

// gauge reads one source.
type gauge struct {
	name string // of the source, in notes
	read func(ctx context.Context) (values, error)
}

// readTimeout bounds a reading: a server that hangs must not hold up the readings of the others for long.
const readTimeout = 2 * time.Second

// sampler reads all sources.
type sampler struct {
	gauges   []gauge
	failed   map[string]bool // by the name of a gauge: its failure is noted
	readings Readings
}

// Start takes a first reading before it returns, and then one after each interval. stop, which is called once, takes the last reading
// and returns them all. The end of ctx ends the readings between, but not the last one: an interrupted run has one too.
func Start(ctx context.Context, sources Sources, every time.Duration) (stop func() Readings) {
	s := &sampler{gauges: sources.gauges(), failed: map[string]bool{}, readings: Readings{start: time.Now(), sources: sources}}
	s.read(ctx)
	ticking, end := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticking.Done():
				return
			case <-ticker.C:
				s.read(ctx)
			}
		}
	})
	return func() Readings {
		end()
		reading.Wait()
		s.read(ctx)
		return s.readings
	}
}

// read takes a reading, of all sources at once so that they are of one moment. A reading that has begun is finished.
func (s *sampler) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	now := reading{time.Since(s.readings.start), values{}}
	parts, errs := make([]values, len(s.gauges)), make([]error, len(s.gauges))
	var reads sync.WaitGroup
	for i, g := range s.gauges {
		reads.Go(func() { parts[i], errs[i] = g.read(ctx) })
	}
	reads.Wait()
	for i, g := range s.gauges {
		if errs[i] == nil {
			maps.Copy(now.values, parts[i])
		} else if !s.failed[g.name] { // it is read again all the same: servers come back
			s.failed[g.name] = true
			s.readings.Notes = append(s.readings.Notes, fmt.Sprintf("%s: not read at %.1f s: %v", g.name, now.after.Seconds(), errs[i]))
		}
	}
	s.readings.all = append(s.readings.all, now)
}

// Readings are the readings of a run in order of time: one before it, one after it, and those in between.
type Readings struct {
	Notes []string // what could not be read, and why

	start   time.Time
	all     []reading
	sources Sources
}

type reading struct {
	after time.Duration // since the first
	values
}

// Took is the time from the first reading to the last.
func (r Readings) Took() time.Duration { return r.all[len(r.all)-1].after }

// Points are a quantity over time.
func (r Readings) Points(q Quantity) (seconds, values []float64) {
	for _, x := range r.all {
		if value, known := x.values[q]; known {
			seconds, values = append(seconds, x.after.Seconds()), append(values, value)
		}
	}
	return seconds, values
}

// Grown is the growth of a quantity; NaN: not known. No process of a run that is watched begins again.
func (r Readings) Grown(q Quantity) float64 {
	_, values := r.Points(q)
	if len(values) < 2 {
		return math.NaN()
	}
	return values[len(values)-1] - values[0]
}

// rates are the growth of a counter a second, between each two readings.
func (r Readings) rates(q Quantity) (at, perSecond []float64) {
	seconds, values := r.Points(q)
	for i := 1; i < len(values); i++ {
		if took := seconds[i] - seconds[i-1]; took > 0 {
			at, perSecond = append(at, seconds[i]), append(perSecond, (values[i]-values[i-1])/took)
		}
	}
	return at, perSecond
}

// most is the largest value of a quantity; NaN: not known.
func (r Readings) most(q Quantity) float64 {
	_, values := r.Points(q)
	if len(values) == 0 {
		return math.NaN()
	}
	return slices.Max(values)
}

// CPU is how many seconds of processors a process has used; NaN: not known.
func (r Readings) CPU(p Process) float64 { return r.Grown(cpu(p)) }

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

// mean is that of a histogram.
func (r Readings) mean(histogram Quantity) float64 {
	return r.Grown(sum(histogram)) / r.Grown(histogram)
}

// each is a total for each accepted order.
func each(total float64, accepted int64) float64 { return compare.Ratio(total, float64(accepted)) }

// machine has the processor time of each process.
func (r Readings) machine(accepted int64) report.Section {
	table := &report.Table{Columns: []string{"process", "CPU s", "processors busy", "CPU ms per accepted order"}}
	busy := report.Plot{
		Name: "cpu", Title: "Processor time over time", Kind: report.Lines, X: report.Axis{Label: "time, s"}, Y: report.Axis{Label: "processors busy"},
	}
	for _, p := range []Process{Generator, Service, Redis, PostgreSQL, Machine} {
		used := r.CPU(p)
		table.Add(string(p), used, used/r.Took().Seconds(), each(used*milli, accepted))
		if math.IsNaN(used) {
			table.Rows[len(table.Rows)-1][1] = unknown
		}
		if at, perSecond := r.rates(cpu(p)); len(at) > 0 {
			busy.Series = append(busy.Series, report.Series{Name: string(p), X: at, Y: perSecond})
		}
	}
	s := report.Section{Name: "What the machine did", Table: table}
	if len(r.sources.AdminURLs) == 0 {
		s.Notes = append(s.Notes, "Where the service's metrics are, is not known: neither is what it tells of itself.")
	}
	if r.sources.RedisPID == 0 {
		s.Notes = append(s.Notes, "Redis was not started by this run, or is part of the service: its processor time is not known.")
	}
	if r.sources.PostmasterPID == 0 {
		s.Notes = append(s.Notes, "PostgreSQL was not started by this run, or SQLite is part of the service: the database's processor time is not known.")
	}
	s.Notes = append(s.Notes, r.Notes...)
	if len(busy.Series) > 0 {
		s.Plots = []report.Plot{busy}
	}
	return s
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
	for _, row := range []struct {
		name  string
		total float64
	}{
		{"syncs of the log", r.Grown(walSyncs)},
		{"bytes of the log", r.Grown(walBytes)},
		{"transactions that wrote", r.Grown(writes)},
		{"bytes that tables grew", r.Grown(TableBytes)},
		{"bytes that indexes grew", r.Grown(IndexBytes)},
	} {
		if !math.IsNaN(row.total) {
			s.Table.Add(row.name, row.total, row.total/r.Took().Seconds(), each(row.total, accepted))
		}
	}
	return s
}

// inside has the metrics of the service.
func (r Readings) inside() report.Section {
	waits := r.Grown(poolWaits)
	s := report.Section{Name: "Inside the service", Table: &report.Table{Columns: []string{"", "count", "mean"}}}
	s.Table.Add("waits for locks, ms", r.Grown(lockWaits), r.mean(lockWaits)*milli)
	s.Table.Add("batches, orders in each", r.Grown(batches), r.mean(batches))
	s.Table.Add("waits for a connection, ms", waits, r.Grown(poolSeconds)/waits*milli)
	none := math.NaN()
	s.Table.Add("merges", r.Grown(merges), none)
	s.Table.Add("orders from several segments", r.Grown(merged), none)
	s.Table.Add("most orders in queues", r.most(queued), none)
	s.Table.Add("most goroutines", r.most(Goroutines), none)
	s.Table.Add("most resident memory, MB", r.most(Memory)/megabyte, none)
	if r.most(locksFail) > 0 {
		s.Notes = []string{"The breaker between the service and its locks was open: for that time the figures are those of the guard alone."}
	}
	return s
}
