// Package gauges watches the machine and the servers while load is sent: the processor time of each process, what PostgreSQL did,
// and what the service's metrics say.
//
// [Start] begins, and its starter ends it for [Readings], which can write themselves into a report. An unreadable gauge is noted once:
// an unknown figure is never 0.
package gauges

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	machine "github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"

	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
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
const readTimeout = 10 * time.Second

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
func each(total float64, accepted int64) float64 { return report.Ratio(total, float64(accepted)) }

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
		{"bytes of the log", r.Grown(WALBytes)},
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

// gauges are the gauges of the known sources.
func (s Sources) gauges() (all []gauge) {
	all = []gauge{{"the generator's process", family(Generator, os.Getpid())}, {"the machine's processes", wholeMachine}}
	if s.RedisPID != 0 {
		all = append(all, gauge{"Redis's process", family(Redis, s.RedisPID)})
	}
	if s.PostmasterPID != 0 {
		all = append(all, gauge{"PostgreSQL's processes", family(PostgreSQL, s.PostmasterPID)})
	}
	if len(s.AdminURLs) > 0 {
		all = append(all, gauge{"the service's metrics", scrapes(s.AdminURLs)})
	}
	if strings.HasPrefix(s.DatabaseURL, "postgres") {
		all = append(all, gauge{"PostgreSQL", queries(s.DatabaseURL)})
	}
	return all
}

// Process names whose processor time is counted by itself.
type Process string

// The processes. PostgreSQL is all processes of the server, Service all processes of the service. Machine is all processes that
// run here, also those of other programs.
const (
	Generator  Process = "generator"
	Service    Process = "service"
	Redis      Process = "Redis"
	PostgreSQL Process = "PostgreSQL"
	Machine    Process = "whole machine"
)

// cpu is the processor time of a process in seconds, of user and system together.
func cpu(p Process) Quantity { return Quantity("cpu of " + p) }

// family reads the processor time of a process; of PostgreSQL with its children. The time that a child uses after the last reading
// before its end is not seen.
func family(name Process, pid int) func(context.Context) (values, error) {
	used, last := 0.0, map[int32]float64{}
	return func(ctx context.Context) (values, error) {
		parent, err := process.NewProcessWithContext(ctx, int32(pid)) //nolint:gosec // the system's own number
		if err != nil {
			return nil, fmt.Errorf("look at process %d: %w", pid, err)
		}
		all := []*process.Process{parent}
		if name == PostgreSQL {
			children, err := parent.ChildrenWithContext(ctx)
			if err != nil && !errors.Is(err, process.ErrorNoChildren) {
				return nil, fmt.Errorf("look at the children of process %d: %w", pid, err)
			}
			all = append(all, children...)
		}
		now := map[int32]float64{}
		for _, p := range all {
			if times, err := p.TimesWithContext(ctx); err == nil { // an error: it has ended
				now[p.Pid] = times.User + times.System
				used += max(0, now[p.Pid]-last[p.Pid])
			}
		}
		last = now
		return values{cpu(name): used}, nil
	}
}

// wholeMachine reads the processor time of all processes of the machine, and of its kernel.
func wholeMachine(ctx context.Context) (values, error) {
	all, err := machine.TimesWithContext(ctx, false)
	if err != nil {
		return nil, fmt.Errorf("look at the machine: %w", err)
	}
	t := all[0]
	return values{cpu(Machine): t.User + t.Nice + t.System + t.Irq + t.Softirq + t.Steal}, nil
}

// Metrics of services, all together. Of a histogram they are the number of values.
const (
	cpuSeconds  Quantity = "process_cpu_seconds_total"
	batches     Quantity = "inventory_batch_orders"
	lockWaits   Quantity = "inventory_lock_wait_seconds" // of workers, for the lock of a segment, whether they got it or not
	merges      Quantity = "inventory_merge_seconds"
	merged      Quantity = "inventory_merged_orders_total" // orders that took from several segments
	poolWaits   Quantity = "inventory_database_pool_waits_total"
	poolSeconds Quantity = "inventory_database_pool_wait_seconds_total"
	queued      Quantity = "inventory_queue_orders"
	locksFail   Quantity = "inventory_locks_failing" // services whose breaker is open
	Goroutines  Quantity = "go_goroutines"
	Memory      Quantity = "process_resident_memory_bytes"
)

// sum is the sum of a histogram's values.
func sum(histogram Quantity) Quantity { return "sum of " + histogram }

// scrapes reads the metrics of services, and adds them up. A service that is missing fails the reading: the sum would be wrong.
func scrapes(adminURLs []string) func(context.Context) (values, error) {
	return func(ctx context.Context) (values, error) {
		all := values{}
		for i, u := range adminURLs {
			found, err := Scrape(ctx, u)
			if err != nil {
				return nil, fmt.Errorf("number %d: %w", i+1, err)
			}
			for name := range found {
				all[Quantity(name)] += found.Total(name)
				all[sum(Quantity(name))] += found.Sum(name)
			}
		}
		all[cpu(Service)] = all[cpuSeconds]
		return all, nil
	}
}

// Scrape reads the metrics of a service at its admin listener.
func Scrape(ctx context.Context, adminURL string) (Families, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, adminURL+"/metrics", nil)
	if err != nil {
		return nil, errors.New("the URL cannot be used") // err would quote a password
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for metrics: %w", WithoutURL(err))
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask for metrics: status %d", answer.StatusCode)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	return all, nil
}

// WithoutURL takes the URL, which may hold secrets, out of an error of an HTTP client.
func WithoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// Families are metrics by their names.
type Families map[string]*dto.MetricFamily

// Total is a counter, a gauge, or how often a histogram counted, over all its labels, or those that have one of some values.
func (f Families) Total(name string, labels ...string) (total float64) {
	for _, m := range f[name].GetMetric() {
		has := func(label *dto.LabelPair) bool { return slices.Contains(labels, label.GetName()+"="+label.GetValue()) }
		if len(labels) == 0 || slices.ContainsFunc(m.GetLabel(), has) {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return total
}

// Sum is the sum of a histogram's values, over all its labels.
func (f Families) Sum(name string) (sum float64) {
	for _, m := range f[name].GetMetric() {
		sum += m.GetHistogram().GetSampleSum()
	}
	return sum
}

// Of PostgreSQL, in all databases but for the sizes. Bytes and writes are exact at once; syncs are reported by sessions up to ten
// seconds later.
const (
	walSyncs   Quantity = "wal_syncs" // not known with fsync off
	WALBytes   Quantity = "wal_bytes"
	writes     Quantity = "writes"
	noFsync    Quantity = "no_fsync" // 1: fsync is off
	TableBytes Quantity = "table_bytes"
	IndexBytes Quantity = "index_bytes"
)

var (
	//go:embed postgres.sql
	query string
	//go:embed postgres18.sql
	query18 string
)

// version18 of PostgreSQL counts the syncs elsewhere.
const version18 = 180000

// queries reads a PostgreSQL.
func queries(databaseURL string) func(context.Context) (values, error) {
	return func(ctx context.Context) (all values, err error) {
		var version int
		all = values{}
		err = servers.Connected(ctx, databaseURL, func(connection *pgx.Conn) error {
			if err := connection.QueryRow(ctx, `SELECT current_setting('server_version_num')::int`).Scan(&version); err != nil {
				return fmt.Errorf("ask PostgreSQL for its version: %w", err)
			}
			asked := query
			if version >= version18 {
				asked = query18
			}
			rows, _ := connection.Query(ctx, asked) // its error is that of the row
			counters, err := pgx.CollectExactlyOneRow(rows, pgx.RowToMap)
			if err != nil {
				return fmt.Errorf("ask PostgreSQL for its counters: %w", err)
			}
			for name, value := range counters {
				if value, known := value.(float64); known {
					all[Quantity(name)] = value
				}
			}
			return nil
		})
		return all, err
	}
}
