package gauges

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"inventory/loadtest/internal/target"
)

// scraper reads the metrics of services.
type scraper struct {
	urls   []string
	client *http.Client
}

func newScraper(urls []string) *scraper {
	return &scraper{urls, &http.Client{Transport: &http.Transport{}}}
}

func (*scraper) name() string { return "the service's metrics" }

// read adds all services up. Where one is missing the sum would say less than nothing.
func (s *scraper) read(ctx context.Context, _ bool) (Reading, error) {
	sum := Reading{values: map[Quantity]float64{}}
	for i, u := range s.urls {
		families, err := Scrape(ctx, s.client, u)
		if err != nil {
			return Reading{}, fmt.Errorf("number %d: %w", i+1, err)
		}
		sum.addService(families)
	}
	return sum, nil
}

// Scrape reads the metrics behind a URL.
func Scrape(ctx context.Context, client *http.Client, u string) (Families, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, errors.New("the URL cannot be used") // err would quote a password
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for metrics: %w", target.WithoutURL(err))
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
	s.client.CloseIdleConnections()
	return nil
}

const cpuMetric = "process_cpu_seconds_total"

// serviceMetrics are quantities that are metrics of their names.
func serviceMetrics() []Quantity {
	return []Quantity{batches, lockWaits, Merges, merged, poolWaits, poolSeconds, poolBusy, queued, locksFail, Goroutines, Memory, heap}
}

// addService adds what one service tells.
func (r *Reading) addService(f Families) {
	for _, q := range serviceMetrics() {
		r.values[q] += f.Total(string(q))
	}
	r.values[cpu(Service)] += f.Total(cpuMetric)
	r.values[batchOrders] += f.Sum(string(batches))
	r.values[LockSeconds] += f.Sum(string(lockWaits))
	for _, m := range f[string(lockWaits)].GetMetric() {
		for _, b := range m.GetHistogram().GetBucket() {
			r.values[within(b.GetUpperBound())] += float64(b.GetCumulativeCount())
		}
	}
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

// Sum is that of the values of a histogram, over all its labels.
func (f Families) Sum(name string) (sum float64) {
	for _, m := range f[name].GetMetric() {
		sum += m.GetHistogram().GetSampleSum()
	}
	return sum
}
