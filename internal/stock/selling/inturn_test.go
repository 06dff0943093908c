package selling_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// asks begins to order, and returns a channel for the code of the answer.
func (w *world) asks(s *selling.Service, id string, units int64) chan stock.Code {
	told := make(chan stock.Code, 1)
	go func() {
		_, _, err := s.Deduct(w.t.Context(), sku, stock.Order{OrderID: id, Quantity: units})
		told <- stock.CodeOf(err)
	}()
	return told
}

// TestFirstComeFirstServedInABatch: an order that no segment can fill alone came before smaller ones. They must not
// take the units that it needs, even from segments that hold less than this process knows.
func TestFirstComeFirstServedInABatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stock  int64 // in two segments
		others int64 // units that another process sells from each, after the worker has read them
		orders []int64
		want   []stock.Code
		left   int64
	}{
		"segments of 3 and 2":          {6, 0, []int64{4, 2}, []stock.Code{"", stock.CodeInsufficientStock}, 1},
		"the smaller one still fits":   {6, 0, []int64{4, 2, 1}, []stock.Code{"", stock.CodeInsufficientStock, ""}, 0},
		"large ones in the middle":     {20, 0, []int64{1, 11, 2, 6, 1}, []stock.Code{"", "", "", stock.CodeInsufficientStock, ""}, 4},
		"one that nothing can fill":    {6, 0, []int64{9, 2, 3}, []stock.Code{stock.CodeInsufficientStock, "", ""}, 0},
		"others have sold meanwhile":   {12, 3, []int64{4, 2}, []stock.Code{"", stock.CodeInsufficientStock}, 1},
		"others have left one segment": {12, 5, []int64{2, 1}, []stock.Code{stock.CodeInsufficientStock, ""}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachStill(t, c.stock, 2, c.left, func(w *world) {
				p := w.standStill(false, 1)
				for segment := range 2 * min(1, int(c.others)) {
					w.takeFrom(segment, stock.Fence{}, stock.Order{OrderID: fmt.Sprint("another ", segment), Quantity: c.others})
				}
				answers := make([]chan stock.Code, len(c.orders))
				for n, units := range c.orders {
					answers[n] = w.asks(p.service, fmt.Sprint(n), units)
					synctest.Wait() // it queues
				}
				if code := p.letGo(); code != "" {
					w.t.Errorf("the first: got code %s, want none", code)
				}
				close(p.store.proceed)
				go func() {
					for range p.store.entered { // until the store is closed
					}
				}()
				defer close(p.store.entered)
				for n, answer := range answers {
					if code := <-answer; code != c.want[n] {
						w.t.Errorf("order %d of %d: %q, want %q", n, c.orders[n], code, c.want[n])
					}
				}
			})
		})
	}
}
