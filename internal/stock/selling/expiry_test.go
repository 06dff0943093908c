package selling_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// expiryGate holds back every return of expired reservations until it is opened.
type expiryGate struct {
	stock.Store
	opened chan struct{}
}

func (g *expiryGate) Expire(ctx context.Context, sku string, at time.Time) (int, error) {
	<-g.opened
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return g.Store.Expire(ctx, sku, at)
}

// TestALaterReaderDoesNotShareWhatBeganBefore: while units are given back for one reader, another comes. Meanwhile one
// more reservation has expired, or the caller of the first has left.
func TestALaterReaderDoesNotShareWhatBeganBefore(t *testing.T) {
	t.Parallel()
	for name, leaves := range map[string]bool{"one more has expired": false, "its caller has left": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			virtually(t, embedded, func(t *testing.T, w *world) {
				w.clock = newClock()
				gate, seen := &expiryGate{Store: w.store, opened: make(chan struct{})}, &counts{}
				s := w.startOn(gate, seen.note)
				w.create(s, 2, 1)
				w.mustTake(s, stock.Order{OrderID: "a", Quantity: 1, ReserveFor: time.Minute})
				w.mustTake(s, stock.Order{OrderID: "b", Quantity: 1, ReserveFor: time.Minute + time.Microsecond})
				w.clock.advance(time.Minute)
				leaving, leave := context.WithCancel(t.Context())
				defer leave()
				var readers sync.WaitGroup
				readers.Go(func() {
					if _, err := s.SKU(leaving, sku); err != nil && !errors.Is(err, context.Canceled) {
						t.Errorf("the first reader: %v", err)
					}
				})
				synctest.Wait() // at the gate
				w.clock.advance(time.Microsecond)
				if leaves {
					leave()
				}
				readers.Go(func() {
					if status, err := s.SKU(t.Context(), sku); err != nil || status.Available != 2 || status.Stale {
						t.Errorf("the second reader: %+v, %v", status, err)
					}
				})
				synctest.Wait()
				close(gate.opened)
				readers.Wait()
				if n := seen.expired.Load(); n != 2 {
					t.Errorf("%d reservations are reported as expired, want 2", n)
				}
			})
		})
	}
}

// stuckExpiry is a store in which the expired reservations of one SKU cannot be given back.
type stuckExpiry struct {
	endless
	swept chan string // SKUs whose reservations were given back
}

func (stuckExpiry) Expired(context.Context, time.Time, int) ([]stock.Due, error) {
	return []stock.Due{{SKU: "stuck"}, {SKU: sku}}, nil
}

func (stuckExpiry) ExpireFree(context.Context, time.Time, ...string) (map[string]stock.Ended, error) {
	return nil, stock.ErrGuard
}

func (s stuckExpiry) Expire(_ context.Context, sku string, _ time.Time) (int, error) {
	if sku == "stuck" {
		return 0, stock.ErrGuard
	}
	select {
	case s.swept <- sku:
	default:
	}
	return 1, nil
}

// TestASweepGoesOn: a SKU whose reservations cannot be ended delays no other SKU.
func TestASweepGoesOn(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store := stuckExpiry{swept: make(chan string, 1)}
		serve(t, selling.Config{Store: store})
		busytest.Receive(t, "a sweep of the other SKU", store.swept)
	})
}

// heldExpiry is a store in which somebody holds the rows of all SKUs with expired reservations.
type heldExpiry struct {
	endless
	since  map[string]time.Time
	waited chan string // SKUs whose rows were waited for
}

func (s heldExpiry) Expired(context.Context, time.Time, int) (due []stock.Due, err error) {
	for sku, since := range s.since {
		due = append(due, stock.Due{SKU: sku, Since: since})
	}
	return due, nil
}

func (heldExpiry) ExpireFree(context.Context, time.Time, ...string) (map[string]stock.Ended, error) {
	return nil, nil
}

func (s heldExpiry) Expire(ctx context.Context, sku string, _ time.Time) (int, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		sku += ", for ever"
	}
	select {
	case s.waited <- sku:
	default:
	}
	return 0, stock.ErrHeld
}

// TestASweepWaitsForHeldRowsThatAreOverdue: what has just expired may wait for the next sweep.
func TestASweepWaitsForHeldRowsThatAreOverdue(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		now := time.Now()
		store := heldExpiry{waited: make(chan string, 9), since: map[string]time.Time{"overdue": now.Add(-time.Minute), "new": now.Add(time.Hour)}}
		serve(t, selling.Config{Store: store, Clock: time.Now})
		for range 3 {
			if got := busytest.Receive(t, "a sweep waits for a SKU", store.waited); got != "overdue" {
				t.Errorf("a sweep waits for %s", got)
			}
		}
	})
}
