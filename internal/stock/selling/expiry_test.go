package selling_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// expiryGate holds back every return of expired reservations until it is opened, and signals each read of a SKU.
type expiryGate struct {
	stock.Store
	entered chan struct{} // closed when the first comes
	first   sync.Once
	opened  chan struct{}
	looked  chan struct{}
}

func (g *expiryGate) Expire(ctx context.Context, sku string, at time.Time) (int, error) {
	g.first.Do(func() { close(g.entered) })
	<-g.opened
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return g.Store.Expire(ctx, sku, at)
}

func (g *expiryGate) Status(ctx context.Context, sku string, at time.Time) (stock.Status, error) {
	status, err := g.Store.Status(ctx, sku, at)
	select {
	case g.looked <- struct{}{}:
	default: // no reader waits for it
	}
	return status, err
}

// expiredCount counts the reservations that were reported as expired.
type expiredCount struct {
	n atomic.Int64
}

func (c *expiredCount) note(a selling.Activity) {
	if a.Kind == selling.ReservationsExpired {
		c.n.Add(int64(a.Count))
	}
}

// TestALaterReaderDoesNotShareWhatBeganBefore: while units are given back for one reader, another comes. Meanwhile one
// more reservation has expired, or the caller of the first has left.
func TestALaterReaderDoesNotShareWhatBeganBefore(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(c *clock, leave func()){
		"one more has expired": func(c *clock, _ func()) { c.advance(time.Microsecond) },
		"its caller has left":  func(c *clock, leave func()) { c.advance(time.Microsecond); leave() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := embedded(t)
			w.clock = newClock()
			gate := &expiryGate{Store: w.store, entered: make(chan struct{}), opened: make(chan struct{}), looked: make(chan struct{}, 1)}
			seen := &expiredCount{}
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
			<-gate.entered
			for len(gate.looked) > 0 {
				<-gate.looked
			}
			meanwhile(w.clock, leave)
			readers.Go(func() {
				if status, err := s.SKU(t.Context(), sku); err != nil || status.Available != 2 || status.Stale {
					t.Errorf("the second reader: %+v, %v", status, err)
				}
			})
			<-gate.looked
			close(gate.opened)
			readers.Wait()
			if n := seen.n.Load(); n != 2 {
				t.Errorf("%d reservations are reported as expired, want 2", n)
			}
		})
	}
}

// stuckExpiry is a store in which the expired reservations of one SKU cannot be given back.
type stuckExpiry struct {
	endless
	swept chan string // SKUs whose reservations were given back
}

func (stuckExpiry) Expired(context.Context, time.Time, int) ([]string, error) {
	return []string{"stuck", sku}, nil
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
	store := stuckExpiry{swept: make(chan string, 1)}
	s := selling.NewService(selling.Config{Store: store})
	select {
	case <-store.swept:
	case <-time.After(20 * time.Second):
		t.Error("the other SKU was not swept")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
