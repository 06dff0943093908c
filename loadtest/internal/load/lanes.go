package load

import (
	"context"
	"net/http"

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

// ReadLanes asks a service, by the URL of its metrics.
func ReadLanes(ctx context.Context, metricsURL string) (l Lanes, err error) {
	once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	f, err := gauges.Scrape(ctx, once, metricsURL)
	if err != nil {
		return Lanes{}, err
	}
	return Lanes{
		Orders: int64(f.Sum("inventory_batch_orders")), Batches: int64(f.Total("inventory_batch_seconds")),
		Unlocked:  int64(f.Total("inventory_batch_seconds", "locked=false")),
		LockWaits: int64(f.Total("inventory_lock_wait_seconds")), LockSeconds: f.Sum("inventory_lock_wait_seconds"),
	}, nil
}
