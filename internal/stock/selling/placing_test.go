package selling_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// heldOrder holds up orders of several SKUs until they are released.
type heldOrder struct {
	stock.Store
	letGo chan struct{}
}

func (s *heldOrder) Order(ctx context.Context, p stock.Placement) (lines []stock.Deduction, created bool, err error) {
	<-s.letGo
	return s.Store.Order(ctx, p)
}

// TestAnOrderThatWaitedForItsTurnIsNotLate: the time in which an order may be written begins when it comes, not with
// its turn.
func TestAnOrderThatWaitedForItsTurnIsNotLate(t *testing.T) {
	t.Parallel()
	virtually(t, embedded, func(t *testing.T, w *world) {
		const within = 300 * time.Millisecond
		store := &heldOrder{Store: w.store, letGo: make(chan struct{})}
		w.create(w.start(nil), 2, 1)
		s := w.serve(selling.Config{Store: store, AnswerWithin: within})
		s.SetPlaces(1)
		var placing sync.WaitGroup
		for _, id := range []string{"first", "second"} {
			placing.Go(func() {
				_, _, err := s.Order(t.Context(), multi(id, sku))
				if code := stock.CodeOf(err); code != stock.CodeUnavailable && code != stock.CodeOverloaded {
					t.Errorf("the %s got %q", id, code)
				}
			})
			synctest.Wait()
		}
		time.Sleep(2 * within)
		close(store.letGo)
		placing.Wait()
		if b := w.audit(); b.Committed != 0 {
			t.Errorf("%d units are sold after their time, want 0", b.Committed)
		}
	})
}

// answersLate is a store whose answer to an order of several SKUs comes when the order's reservation is over.
type answersLate struct {
	stock.Store
	pass func()
}

func (s *answersLate) Order(ctx context.Context, p stock.Placement) (lines []stock.Deduction, created bool, err error) {
	lines, created, err = s.Store.Order(ctx, p)
	s.pass()
	return lines, created, err
}

// TestAnOrderThatHasExpiredIsNotTakenNow: its caller has nothing at the time of the answer, as for an order of one SKU.
func TestAnOrderThatHasExpiredIsNotTakenNow(t *testing.T) {
	t.Parallel()
	virtually(t, embedded, func(t *testing.T, w *world) {
		w.clock = newClock()
		w.create(w.start(nil), 2, 1)
		s := w.startOn(&answersLate{w.store, func() { w.clock.advance(time.Minute) }}, nil)
		order := multi("o", sku)
		order.ReserveFor = time.Minute
		lines, created, err := s.Order(t.Context(), order)
		if stock.CodeOf(err) != stock.CodeOrderEnded || created || lines != nil {
			t.Errorf("got created %v, %+v, %v, want %s", created, lines, err, stock.CodeOrderEnded)
		}
	})
}
