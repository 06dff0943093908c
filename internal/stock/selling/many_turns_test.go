package selling

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// gate is a store that stands still until it is opened. Then it knows no SKU.
type gate struct {
	stock.Store
	entered, opened chan struct{}
}

func (g gate) Views(ctx context.Context, _ ...string) (map[string]stock.View, error) {
	signal(g.entered)
	select {
	case <-g.opened:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (gate) BeingCounted(context.Context, int) ([]string, error) { return nil, nil }

func (gate) Expired(context.Context, time.Time, int) ([]stock.Due, error) { return nil, nil }

func (gate) Watch(context.Context, func(), func(string)) error { return nil }

// gated runs a test in virtual time, with a service on such a store. Its worker has a first order, and waits for the gate.
func gated(t *testing.T, test func(t *testing.T, s *Service, opened chan struct{})) {
	t.Helper()
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		opened, entered := make(chan struct{}), make(chan struct{}, 1)
		s := NewService(Config{Store: gate{entered: entered, opened: opened}, AnswerWithin: time.Minute})
		t.Cleanup(func() {
			if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		go func() { _, _, _ = s.Deduct(t.Context(), "hot", stock.Order{OrderID: "first", Quantity: 1}) }()
		<-entered
		test(t, s, opened)
	})
}

// ordersOf are different orders of one SKU.
func ordersOf(caller string, n int) []SKUOrder {
	orders := make([]SKUOrder, n)
	for i := range orders {
		orders[i] = SKUOrder{"hot", stock.Order{OrderID: fmt.Sprint(caller, i), Quantity: 1}}
	}
	return orders
}

// queued checks how many orders wait once nothing happens any more.
func queued(t *testing.T, s *Service, orders int) {
	t.Helper()
	if synctest.Wait(); s.Waiting() != orders {
		t.Fatalf("%d orders wait, want %d", s.Waiting(), orders)
	}
}

// TestManyOrdersLeaveRoom: one caller's requests leave room in the queue of a SKU, and in the line for a turn.
func TestManyOrdersLeaveRoom(t *testing.T) {
	gated(t, func(t *testing.T, s *Service, opened chan struct{}) {
		var wg sync.WaitGroup
		bulk := func(caller, ids string, n int) {
			wg.Go(func() {
				results, err := s.DeductAll(t.Context(), caller, ordersOf(ids, n))
				if err != nil || len(results) != n {
					t.Errorf("%s: %d results, %v, want %v", caller, len(results), err, n)
				}
				for _, r := range results {
					if stock.CodeOf(r.Err) != stock.CodeUnknownSKU {
						t.Errorf("%s: %v, want %s", caller, r.Err, stock.CodeUnknownSKU)
						return
					}
				}
			})
		}
		for i := range 4 {
			bulk("greedy", fmt.Sprint("greedy", i, "-"), stock.MaxOrders)
		}
		queued(t, s, 4*stock.MaxOrders)
		bulk("greedy", "greedy4-", stock.MaxOrders) // there is no room for it
		bulk("modest", "modest", 10)
		queued(t, s, 4*stock.MaxOrders+10)
		wg.Go(func() {
			if _, _, err := s.Deduct(t.Context(), "hot", stock.Order{OrderID: "single", Quantity: 1}); stock.CodeOf(err) != stock.CodeUnknownSKU {
				t.Errorf("a single order: %v, want %s", err, stock.CodeUnknownSKU)
			}
		})
		queued(t, s, 4*stock.MaxOrders+11)
		close(opened)
		wg.Wait()
	})
}

// TestManyOrdersThatComeTooLate: a request whose turn does not come in time is refused as a whole. Nothing of it was done.
func TestManyOrdersThatComeTooLate(t *testing.T) {
	gated(t, func(t *testing.T, s *Service, opened chan struct{}) {
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				if _, err := s.DeductAll(t.Context(), "greedy", ordersOf(fmt.Sprint(i, "-"), stock.MaxOrders)); err != nil {
					t.Error(err)
				}
			})
		}
		queued(t, s, 4*stock.MaxOrders)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if results, err := s.DeductAll(ctx, "late", ordersOf("late", 100)); stock.CodeOf(err) != stock.CodeOverloaded || results != nil {
			t.Errorf("%d results, %v", len(results), err)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := s.DeductAll(gone, "gone", ordersOf("gone", 100)); stock.CodeOf(err) != stock.CodeUnavailable {
			t.Error(err)
		}
		close(opened)
		wg.Wait()
	})
}

func TestMoreOrdersThanARequestMayHave(t *testing.T) {
	gated(t, func(t *testing.T, s *Service, opened chan struct{}) {
		if _, err := s.DeductAll(t.Context(), "", ordersOf("o", stock.MaxOrders+1)); stock.CodeOf(err) != stock.CodeInvalidRequest {
			t.Error(err)
		}
		if results, err := s.DeductAll(t.Context(), "", nil); err != nil || results != nil {
			t.Error(results, err)
		}
		close(opened)
	})
}
