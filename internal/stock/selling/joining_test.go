package selling_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// joinable is a store whose batches wait at a gate, or share a write once that is open.
type joinable struct {
	*hall
	open   atomic.Bool
	shared atomic.Int64 // orders
}

// Share implements [stock.Sharer].
func (j *joinable) Share(_ string, batch stock.SharedBatch) bool {
	if !j.open.Load() {
		return false
	}
	go func() {
		if b, there := batch.Begin(); there {
			j.shared.Add(int64(len(b.Orders)))
			result, err := j.endless.Deduct(context.Background(), b)
			batch.Written(result, true, err)
		}
	}()
	return true
}

// Deductions implements [stock.Store]. No order id is known.
func (*joinable) Deductions(context.Context, string, []string) (map[string]stock.Deduction, error) {
	return nil, nil
}

// TestAWorkerWhoseQueueIsNeverEmptyJoinsSharedWrites: the goroutine that writes a batch by itself leaves the next one to a shared write
// that has begun meanwhile.
func TestAWorkerWhoseQueueIsNeverEmptyJoinsSharedWrites(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store := &joinable{hall: &hall{levels: []int64{99}, gate: make(chan struct{})}}
		s := serve(t, selling.Config{Store: store})
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				if _, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: fmt.Sprint("o", i), Quantity: 1}); err != nil {
					t.Errorf("order %d: %v", i, err)
				}
			})
			synctest.Wait() // the first is at the gate, and the others queue
		}
		store.open.Store(true)
		close(store.gate)
		wg.Wait()
		if alone, shared := store.orders.Load(), store.shared.Load(); alone != 1 || shared != 3 {
			t.Errorf("%d orders by themselves and %d shared, want 1 and 3", alone, shared)
		}
	})
}

// TestOwnOrdersOfBuyersJoinSharedWrites: an order that is looked up first is written by the goroutine of its worker, which waits for the
// shared write.
func TestOwnOrdersOfBuyersJoinSharedWrites(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store := &joinable{hall: &hall{levels: []int64{99}, gate: make(chan struct{})}}
		store.open.Store(true)
		s := serve(t, selling.Config{Store: store})
		order := stock.Order{OrderID: "o", BuyerID: "ann", Own: true, Quantity: 1}
		if _, created, err := s.Deduct(t.Context(), sku, order); err != nil || !created {
			t.Errorf("created %v, %v", created, err)
		}
		if alone, shared := store.orders.Load(), store.shared.Load(); alone != 0 || shared != 1 {
			t.Errorf("%d orders by themselves and %d shared, want 0 and 1", alone, shared)
		}
	})
}
