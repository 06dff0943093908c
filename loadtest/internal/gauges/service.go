package gauges

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"inventory/loadtest/internal/target"
)

// scrapes reads the metrics of services, and adds them up. One that is missing fails the reading: the sum would be wrong.
func scrapes(urls []string) gauge {
	client := &http.Client{Transport: &http.Transport{}}
	return gauge{
		name: "the service's metrics",
		read: func(ctx context.Context) (Reading, error) {
			sum := Reading{values: map[Quantity]float64{}, waits: &Histogram{}}
			for i, u := range urls {
				families, err := Scrape(ctx, client, u)
				if err != nil {
					return Reading{}, fmt.Errorf("number %d: %w", i+1, err)
				}
				sum.addService(families)
			}
			return sum, nil
		},
		close: func(context.Context) error {
			client.CloseIdleConnections()
			return nil
		},
	}
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
		return nil, fmt.Errorf("ask for metrics: status %d", answer.StatusCode)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	return all, nil
}

const cpuMetric = "process_cpu_seconds_total"

// serviceMetrics are quantities that are metrics of their names.
func serviceMetrics() []Quantity {
	return []Quantity{batches, lockWaits, Merges, merged, poolWaits, poolSeconds, poolBusy, queued, locksFail, Goroutines, Memory, heap}
}

// addService adds the metrics of one service.
func (r *Reading) addService(f Families) {
	for _, q := range serviceMetrics() {
		r.values[q] += f.Total(string(q))
	}
	r.values[cpu(Service)] += f.Total(cpuMetric)
	r.values[batchOrders] += f.Sum(string(batches))
	r.values[LockSeconds] += f.Sum(string(lockWaits))
	for _, m := range f[string(lockWaits)].GetMetric() {
		h := Histogram{Count: float64(m.GetHistogram().GetSampleCount()), Sum: m.GetHistogram().GetSampleSum()}
		for _, b := range m.GetHistogram().GetBucket() {
			if !math.IsInf(b.GetUpperBound(), 0) {
				h.Bounds, h.Within = append(h.Bounds, b.GetUpperBound()), append(h.Within, float64(b.GetCumulativeCount()))
			}
		}
		r.waits.Add(h)
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

// Sum is the sum of a histogram's values, over all its labels.
func (f Families) Sum(name string) (sum float64) {
	for _, m := range f[name].GetMetric() {
		sum += m.GetHistogram().GetSampleSum()
	}
	return sum
}
