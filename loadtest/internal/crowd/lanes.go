package crowd

import (
	"context"
	"net/http"

	dto "github.com/prometheus/client_model/go"

	"inventory/loadtest/internal/gauges"
)

// Lanes is what the lanes of a service did, as its metrics tell.
type Lanes struct {
	Batches     int64   `json:"batches"`
	Orders      int64   `json:"orders"`       // of all batches
	Unlocked    int64   `json:"unlocked"`     // batches that were written under the guard alone
	LockWaits   int64   `json:"lock_waits"`   // acquisitions, also those that failed
	LockSeconds float64 `json:"lock_seconds"` // that lanes waited for them
}

// Add returns both together.
func (l Lanes) Add(o Lanes) Lanes {
	return Lanes{
		l.Batches + o.Batches, l.Orders + o.Orders, l.Unlocked + o.Unlocked, l.LockWaits + o.LockWaits, l.LockSeconds + o.LockSeconds,
	}
}

// readLanes asks a service, by the URL of its metrics.
func readLanes(ctx context.Context, metricsURL string) (l Lanes, err error) {
	once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	families, err := gauges.Scrape(ctx, once, metricsURL)
	if err != nil {
		return Lanes{}, err
	}
	for _, m := range families["inventory_batch_orders"].GetMetric() {
		l.Orders += int64(m.GetHistogram().GetSampleSum())
	}
	for _, m := range families["inventory_batch_seconds"].GetMetric() {
		n := int64(m.GetHistogram().GetSampleCount())
		l.Batches += n
		if label(m, "locked") == "false" {
			l.Unlocked += n
		}
	}
	for _, m := range families["inventory_lock_wait_seconds"].GetMetric() {
		l.LockWaits += int64(m.GetHistogram().GetSampleCount())
		l.LockSeconds += m.GetHistogram().GetSampleSum()
	}
	return l, nil
}

func label(m *dto.Metric, name string) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}
