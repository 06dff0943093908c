package selling_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// hall is a store whose writes wait at a gate.
type hall struct {
	endless
	levels         []int64
	gate           chan struct{}
	inside, orders atomic.Int64 // writes under way, and orders in them
}

func (h *hall) Views(context.Context, ...string) (map[string]stock.View, error) {
	return map[string]stock.View{sku: {Layout: 1, Segments: slices.Clone(h.levels)}}, nil
}

func (h *hall) Deduct(ctx context.Context, b stock.Batch) (stock.BatchResult, error) {
	h.inside.Add(1)
	h.orders.Add(int64(len(b.Orders)))
	defer h.inside.Add(-1)
	<-h.gate
	result, err := h.endless.Deduct(ctx, b)
	result.Available = h.levels[b.Segment]
	return result, err
}

// TestExtraWorkers lets 2,000 orders come while the database writes the first.
func TestExtraWorkers(t *testing.T) {
	for _, c := range []struct {
		name    string
		levels  []int64
		workers int // at most
		want    int64
	}{
		{"as many as allowed", []int64{9000, 9000, 9000, 9000, 9000, 9000}, 4, 4},
		{"no more than segments", []int64{9000, 9000}, 4, 2},
		{"one is enough for a store that writes one batch at a time", []int64{9000, 9000}, 1, 1},
		{"where no segment holds a whole batch, one sells the rest", []int64{200, 200, 200, 200}, 4, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &hall{levels: c.levels, gate: make(chan struct{})}
				s := selling.NewService(selling.Config{Store: store, Workers: c.workers})
				var wg sync.WaitGroup
				buy := func(id string) {
					wg.Go(func() {
						if _, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: id, Quantity: 1}); err != nil {
							t.Errorf("%s: %v", id, err)
						}
					})
				}
				buy("first")
				synctest.Wait()
				if store.inside.Load() != 1 || store.orders.Load() != 1 {
					t.Fatalf("%d writes of %d orders began", store.inside.Load(), store.orders.Load())
				}
				for i := range 2000 {
					buy(fmt.Sprint("o", i))
				}
				synctest.Wait()
				if got := store.inside.Load(); got != c.want {
					t.Errorf("%d writes side by side, want %d", got, c.want)
				}
				close(store.gate)
				wg.Wait()

				// The orders are done: one worker is left, and soon none.
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if workers := s.RunningWorkers(); workers != 0 {
					t.Errorf("%d workers still run", workers)
				}
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestABatchHasALimit writes one order at a time, with as many writes at once as before.
func TestABatchHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hall{levels: []int64{9, 9, 9, 9}, gate: make(chan struct{})}
		s := selling.NewService(selling.Config{Store: store, Workers: 3, BatchLimit: 1})
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if _, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: fmt.Sprint("o", i), Quantity: 1}); err != nil {
					t.Errorf("order %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		if writes, orders := store.inside.Load(), store.orders.Load(); writes != 3 || orders != 3 {
			t.Errorf("%d writes of %d orders side by side", writes, orders)
		}
		close(store.gate)
		wg.Wait()
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
