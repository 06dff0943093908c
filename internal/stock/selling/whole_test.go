package selling_test

import (
	"context"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// betweenLines is a store in which something happens after the first line of an order was settled by itself.
type betweenLines struct {
	stock.Store
	happens func()
}

func (b *betweenLines) Settle(ctx context.Context, settlement stock.Settlement) ([]stock.Settled, error) {
	results, err := b.Store.Settle(ctx, settlement)
	if happens := b.happens; happens != nil {
		b.happens = nil
		happens()
	}
	return results, err
}

// TestAnOrderIsToldAsOne: its reservations have expired, and are taken again while its lines are looked at. They are told as they were
// before, or as they are then, and not some as expired and others as committed.
func TestAnOrderIsToldAsOne(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(ctx context.Context, s *selling.Service, o stock.MultiOrder) ([]stock.Deduction, error){
		"sent again": func(ctx context.Context, s *selling.Service, o stock.MultiOrder) ([]stock.Deduction, error) {
			lines, _, err := s.Order(ctx, o)
			return lines, err
		},
		"read": func(ctx context.Context, s *selling.Service, o stock.MultiOrder) ([]stock.Deduction, error) {
			there, err := s.PlacedOrder(ctx, o.OrderID, "")
			return there.Lines, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, w *world) {
				other, o := w.expiredOrder()
				s := w.startOn(&betweenLines{Store: w.store, happens: func() {
					if _, err := other.SettleOrder(t.Context(), stock.SettleRequest{OrderID: "o"}, true); err != nil {
						t.Error(err)
					}
				}}, nil)
				lines, err := look(t.Context(), s, o)
				if stock.CodeOf(err) == stock.CodeOrderEnded {
					return
				}
				if err != nil || lines[0].Status != lines[1].Status {
					t.Errorf("got %+v, %v, want all lines in one status", lines, err)
				}
			})
		})
	}
}

// expiredOrder returns a process, and an order of two SKUs whose reservation has expired.
func (w *world) expiredOrder() (*selling.Service, stock.MultiOrder) {
	w.t.Helper()
	w.clock = newClock()
	s := w.start(nil)
	w.shop(s, 2, 5, 5)
	o := stock.MultiOrder{OrderID: "o", ReserveFor: time.Minute, Lines: []stock.Line{{SKU: shopSKU(0), Quantity: 2}, {SKU: shopSKU(1), Quantity: 2}}}
	if _, created, err := s.Order(w.t.Context(), o); err != nil || !created {
		w.t.Fatal(created, err)
	}
	w.clock.advance(time.Minute)
	return s, o
}

// beforeRetake is a store in which something happens just before units are taken again.
type beforeRetake struct {
	stock.Store
	happens func()
}

func (b *beforeRetake) Retake(ctx context.Context, deadline time.Time, retakes ...stock.Retake) ([]stock.Deduction, error) {
	b.happens()
	return b.Store.Retake(ctx, deadline, retakes...)
}

// TestALateCommitOfWhatWasReturned: another process commits an order that has expired, and it is returned, while this one is about to
// take its units again. Nobody is told that it holds any.
func TestALateCommitOfWhatWasReturned(t *testing.T) {
	t.Parallel()
	virtually(t, embedded, func(t *testing.T, w *world) {
		other, _ := w.expiredOrder()
		s := w.startOn(&beforeRetake{Store: w.store, happens: func() {
			for _, verb := range []stock.Verb{stock.Commit, stock.Return} {
				if _, err := other.SettleOrder(t.Context(), stock.SettleRequest{OrderID: "o", Verb: verb}, true); err != nil {
					t.Error(err)
				}
			}
		}}, nil)
		there, err := s.SettleOrder(t.Context(), stock.SettleRequest{OrderID: "o", Verb: stock.Commit}, true)
		if stock.CodeOf(err) != stock.CodeAlreadyCommitted {
			t.Errorf("got %+v, %v, want code %s", there, err, stock.CodeAlreadyCommitted)
		}
	})
}
