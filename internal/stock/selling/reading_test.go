package selling_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// slowReads is a store whose reads wait until they are let go.
type slowReads struct {
	endless
	begun atomic.Int64
	gate  chan struct{}
}

func (s *slowReads) Status(_ context.Context, sku string, _ time.Time) (stock.Status, error) {
	s.begun.Add(1)
	<-s.gate
	return stock.Status{SKU: sku}, nil
}

// veryMany is a store whose SKUs have more than 100,000 orders.
type veryMany struct {
	endless
	t *testing.T
}

func (c veryMany) HasMoreOrders(_ context.Context, sku string, than int) (bool, error) {
	return sku != "few" && than == 100_000, nil
}

func (c veryMany) Audit(_ context.Context, name string, _ func(done, of int)) (stock.Audit, error) {
	if name != "few" {
		c.t.Errorf("SKU %q was audited", name)
	}
	return stock.Audit{}, nil
}

// TestAuditsOfTooManyOrdersAreRefused: somebody waits for the answer.
func TestAuditsOfTooManyOrdersAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, selling.Config{Store: veryMany{t: t}})
	for name, want := range map[string]stock.Code{"many": stock.CodeTooManyOrders, "": stock.CodeTooManyOrders, "few": ""} {
		if _, err := s.Audit(t.Context(), name); stock.CodeOf(err) != want {
			t.Errorf("audit of SKU %q: %v, want %q", name, err, want)
		}
	}
}

// TestReadersLeaveConnections: however many callers read, some connections are left for writes.
func TestReadersLeaveConnections(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		const most = 8
		store := &slowReads{gate: make(chan struct{})}
		s := serve(t, selling.Config{Store: store})
		var readers, waiting sync.WaitGroup
		read := func(ctx context.Context, group *sync.WaitGroup, n int, want stock.Code) {
			for range n {
				group.Go(func() {
					if _, err := s.SKU(ctx, sku); stock.CodeOf(err) != want {
						t.Errorf("a reader: %v, want %q", err, want)
					}
				})
			}
			synctest.Wait()
		}
		patience, leave := context.WithCancel(t.Context())
		read(t.Context(), &readers, most, "")
		read(patience, &waiting, 56, stock.CodeUnavailable)
		leave()
		waiting.Wait()
		close(store.gate)
		readers.Wait()
		if n := store.begun.Load(); n != most {
			t.Errorf("%d reads began, want %d", n, most)
		}
	})
}

// heldReads is a store in which somebody holds the rows of a SKU whose reservations have expired.
type heldReads struct{ endless }

func (heldReads) Status(_ context.Context, name string, _ time.Time) (stock.Status, error) {
	return stock.Status{SKU: name, Stale: name == sku}, nil
}

func (heldReads) Expire(ctx context.Context, _ string, _ time.Time) (int, error) {
	<-ctx.Done()
	return 0, stock.ErrHeld
}

// TestReadersOfAHeldSKULeavePlaces: somebody holds the rows of a SKU whose reservations have expired. Those who read that SKU do not keep
// others from reading other SKUs. In virtual time.
func TestReadersOfAHeldSKULeavePlaces(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := serve(t, selling.Config{Store: heldReads{}, AnswerWithin: selling.DefaultAnswerWithin})
		start := time.Now()
		var readers sync.WaitGroup
		for range 8 {
			readers.Go(func() {
				if _, err := s.SKU(t.Context(), sku); err != nil {
					t.Errorf("a reader of the held SKU: %v", err)
				}
			})
		}
		synctest.Wait()
		if _, err := s.SKU(t.Context(), "other"); err != nil || time.Since(start) > 0 {
			t.Errorf("another SKU was read after %v: %v", time.Since(start), err)
		}
		readers.Wait()
		if took := time.Since(start); took > selling.DefaultAnswerWithin {
			t.Errorf("the held SKU was read after %v", took)
		}
	})
}
