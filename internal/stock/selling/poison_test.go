package selling_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

// batchSizes holds back the first batch until it is released, and records the size of each.
type batchSizes struct {
	*heldDeduct
	mu    sync.Mutex
	sizes []int
}

func (s *batchSizes) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	s.mu.Lock()
	s.sizes = append(s.sizes, len(batch.Orders))
	s.mu.Unlock()
	return s.heldDeduct.Deduct(ctx, batch)
}

// TestPoisonedOrderStandsAlone lets the database refuse one order of a batch of 64, and later one of a merge.
func TestPoisonedOrderStandsAlone(t *testing.T) {
	t.Parallel()
	virtually(t, silent, func(t *testing.T, w *world) {
		const orders = 64
		conn, err := pgx.Connect(t.Context(), w.url)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.WithoutCancel(t.Context()))
		if _, err := conn.Exec(t.Context(), "ALTER TABLE deductions ADD CHECK (order_id NOT LIKE 'poison%')"); err != nil {
			t.Fatal(err)
		}
		store := &batchSizes{heldDeduct: &heldDeduct{Store: w.store, begun: make(chan struct{}), letGo: make(chan struct{})}}
		s := w.startOn(store, nil)
		w.create(s, 2*(orders+1)+9, 2)

		var wg sync.WaitGroup
		buy := func(id string, quantity int64) {
			wg.Go(func() {
				_, created, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: id, Quantity: quantity})
				switch poisoned := id[0] == 'p'; {
				case poisoned && stock.CodeOf(err) != stock.CodeUnavailable:
					t.Errorf("%s was told %v", id, err)
				case !poisoned && (err != nil || !created):
					t.Errorf("%s: %v", id, err)
				}
			})
		}
		buy("first", 1)
		<-store.begun
		for i := range orders - 1 {
			buy(fmt.Sprint("o", i), 1)
		}
		buy("poison", 1)
		synctest.Wait() // the worker waits at the gate, so they become one batch
		close(store.letGo)
		wg.Wait()
		// The first batch, then all orders at once, and then the halves down to the bad order among 64: six times two.
		if len(store.sizes) != 2+12 || store.sizes[1] != orders {
			t.Errorf("the batches had %v orders", store.sizes)
		}

		buy("poison of a merge", 70)
		wg.Wait()
		buy("merge", 70) // neither segment has that many
		wg.Wait()
		if b := w.audit(); b.Committed != orders+70 {
			t.Errorf("%d units were sold, want %d", b.Committed, orders+70)
		}
	})
}
