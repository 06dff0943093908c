package gauges

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scraper reads the metrics of services.
type scraper struct {
	urls      []string
	client    *http.Client
	transport *http.Transport
}

func newScraper(urls []string) *scraper {
	transport := &http.Transport{}
	return &scraper{urls: urls, transport: transport, client: &http.Client{Transport: transport}}
}

func (*scraper) name() string { return "the service's metrics" }

// read adds all services up. Where one is missing the sum would say less than nothing.
func (s *scraper) read(ctx context.Context, into *Reading) error {
	sum, cpu := &ServiceReading{}, 0.0
	for i, u := range s.urls {
		families, err := s.scrape(ctx, u)
		if err != nil {
			return fmt.Errorf("number %d: %w", i+1, err)
		}
		sum.add(families)
		cpu += families.sum(cpuMetric)
	}
	into.Service, into.CPU[Service] = sum, cpu
	return nil
}

func (s *scraper) scrape(ctx context.Context, u string) (families, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, errors.New("the URL cannot be used") // err would quote a password
	}
	answer, err := s.client.Do(request)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err // without the URL
		}
		return nil, fmt.Errorf("ask for metrics: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask for metrics: status %s", strconv.Itoa(answer.StatusCode))
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	return all, nil
}

func (s *scraper) close(context.Context) error {
	s.transport.CloseIdleConnections()
	return nil
}

// The metrics that are read.
const (
	lockWaitMetric    = "inventory_lock_wait_seconds"
	batchMetric       = "inventory_batch_orders"
	mergeMetric       = "inventory_merge_seconds"
	mergedMetric      = "inventory_merged_orders_total"
	poolWaitsMetric   = "inventory_database_pool_waits_total"
	poolSecondsMetric = "inventory_database_pool_wait_seconds_total"
	poolBusyMetric    = "inventory_database_pool_busy"
	queueMetric       = "inventory_queue_orders"
	locksFailMetric   = "inventory_locks_fail"
	goroutinesMetric  = "go_goroutines"
	residentMetric    = "process_resident_memory_bytes"
	heapMetric        = "go_memstats_heap_alloc_bytes"
	cpuMetric         = "process_cpu_seconds_total"
)

// add adds what one service tells.
func (s *ServiceReading) add(f families) {
	s.LockWait.add(f[lockWaitMetric])
	batches, merges := f.histogram(batchMetric), f.histogram(mergeMetric)
	s.Batches += batches.Count
	s.BatchOrders += batches.Sum
	s.Merges += merges.Count
	s.Merged += f.sum(mergedMetric)
	s.PoolWaits += f.sum(poolWaitsMetric)
	s.PoolSeconds += f.sum(poolSecondsMetric)
	s.PoolBusy += f.sum(poolBusyMetric)
	s.Queue += f.sum(queueMetric)
	s.LocksFail += f.sum(locksFailMetric)
	s.Goroutines += f.sum(goroutinesMetric)
	s.Resident += f.sum(residentMetric)
	s.Heap += f.sum(heapMetric)
}

// families are metrics by their names.
type families map[string]*dto.MetricFamily

// sum is a counter or gauge over all its labels.
func (f families) sum(name string) (sum float64) {
	for _, m := range f[name].GetMetric() {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return sum
}

// histogram is one over all its labels.
func (f families) histogram(name string) (h Histogram) {
	h.add(f[name])
	return h
}

// add adds a histogram of the same bounds, over all its labels.
func (h *Histogram) add(f *dto.MetricFamily) {
	for _, m := range f.GetMetric() {
		h.Count += float64(m.GetHistogram().GetSampleCount())
		h.Sum += m.GetHistogram().GetSampleSum()
		for i, b := range m.GetHistogram().GetBucket() {
			if i == len(h.Bounds) {
				h.Bounds, h.Within = append(h.Bounds, b.GetUpperBound()), append(h.Within, 0)
			}
			h.Within[i] += float64(b.GetCumulativeCount())
		}
	}
}
