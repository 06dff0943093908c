package gauges

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	machine "github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"

	"inventory/loadtest/internal/servers"
)

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

// family reads the processor time of a process; of PostgreSQL with its children. What a child uses after the last reading
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
	locksFail   Quantity = "inventory_locks_fail" // services whose breaker is open
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
	walBytes   Quantity = "wal_bytes"
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
