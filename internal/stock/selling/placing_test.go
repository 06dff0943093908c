package selling_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// heldOrder holds up the first order of several SKUs until it is released.
type heldOrder struct {
	stock.Store
	first sync.Once
	begun chan struct{}
	letGo chan struct{}
}

func (s *heldOrder) Order(ctx context.Context, p stock.Placement) (lines []stock.Deduction, created bool, err error) {
	s.first.Do(func() {
		close(s.begun)
		<-s.letGo
	})
	return s.Store.Order(ctx, p)
}

// TestAnOrderThatWaitedForItsTurnIsNotLate: the time in which an order may be written begins when it comes, not with
// its turn.
func TestAnOrderThatWaitedForItsTurnIsNotLate(t *testing.T) {
	t.Parallel()
	const within = 300 * time.Millisecond
	w := embedded(t)
	store := &heldOrder{Store: w.store, begun: make(chan struct{}), letGo: make(chan struct{})}
	w.create(w.start(nil), 2, 1)
	s := selling.NewService(selling.Config{Store: store, AnswerWithin: within})
	s.SetPlaces(1)
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	place := func(id string) error {
		_, _, err := s.Order(t.Context(), stock.MultiOrder{OrderID: id, Lines: []stock.Line{{SKU: sku, Quantity: 1}}})
		return err
	}
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- place("first") }()
	<-store.begun
	go func() { second <- place("second") }()
	time.Sleep(2 * within)
	close(store.letGo)
	for _, got := range []chan error{first, second} {
		if code := stock.CodeOf(<-got); code != stock.CodeUnavailable && code != stock.CodeOverloaded {
			t.Errorf("got %q", code)
		}
	}
	if b := w.audit(); b.Committed != 0 {
		t.Errorf("%d units are sold after their time, want 0", b.Committed)
	}
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
	w := embedded(t)
	w.clock = newClock()
	w.create(w.start(nil), 2, 1)
	s := w.startOn(&answersLate{w.store, func() { w.clock.advance(time.Minute) }}, nil)
	lines, created, err := s.Order(t.Context(), stock.MultiOrder{
		OrderID: "o", ReserveFor: time.Minute, Lines: []stock.Line{{SKU: sku, Quantity: 1}},
	})
	if stock.CodeOf(err) != stock.CodeOrderEnded || created || lines != nil {
		t.Errorf("got created %v, %+v, %v, want %s", created, lines, err, stock.CodeOrderEnded)
	}
}
