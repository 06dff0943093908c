package selling_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// hall is a store whose writes wait at a gate.
type hall struct {
	endless
	levels         []int64
	gate           chan struct{}
	inside, orders atomic.Int64 // writes under way, and orders of all
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

// TestABatchHasALimit writes one order at a time.
func TestABatchHasALimit(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		store := &hall{levels: []int64{99}, gate: make(chan struct{})}
		s := serve(t, selling.Config{Store: store, BatchLimit: 1})
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if _, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: fmt.Sprint("o", i), Quantity: 1}); err != nil {
					t.Errorf("order %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		if writes, orders := store.inside.Load(), store.orders.Load(); writes != 1 || orders != 1 {
			t.Errorf("%d writes of %d orders at the same time, want 1 of 1", writes, orders)
		}
		close(store.gate)
		wg.Wait()
	})
}
