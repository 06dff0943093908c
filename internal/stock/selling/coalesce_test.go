package selling_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// slow is a store whose writes take a while.
type slow struct {
	endless
	writes atomic.Int64
}

func (s *slow) Deduct(ctx context.Context, b stock.Batch) (stock.BatchResult, error) {
	s.writes.Add(1)
	time.Sleep(time.Millisecond)
	return s.endless.Deduct(ctx, b)
}

// TestWorkerWaitsForWhomItAnswered has callers that order again at once. All of them fit into one batch; a worker that
// does not let them come back writes each half of them in turn. On a busy machine they may not come in time, so the
// best of three tries counts.
func TestWorkerWaitsForWhomItAnswered(t *testing.T) {
	const callers, times, most = 32, 200, 300
	var writes []int64
	for len(writes) < 3 && (len(writes) == 0 || writes[len(writes)-1] > most) {
		synctest.Test(t, func(t *testing.T) { writes = append(writes, writesOf(t, callers, times)) })
	}
	if writes[len(writes)-1] > most {
		t.Errorf("%d writes of %d times %d orders", writes, times, callers)
	}
}

// writesOf lets callers order that many times, and counts the writes.
func writesOf(t *testing.T, callers, times int) int64 {
	store := &slow{}
	s := selling.NewService(selling.Config{Store: store})
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for i := range times {
				id := fmt.Sprintf("o%d-%d", caller, i)
				if _, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: id, Quantity: 1}); err != nil {
					t.Errorf("%s: %v", id, err)
				}
			}
		})
	}
	wg.Wait()
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return store.writes.Load()
}
