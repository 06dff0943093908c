package selling_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/stock"
)

// placings counts the orders of several SKUs that reach a store.
type placings struct {
	stock.Store
	n atomic.Int64
}

func (p *placings) Order(ctx context.Context, placement stock.Placement) ([]stock.Deduction, bool, error) {
	p.n.Add(1)
	return p.Store.Order(ctx, placement)
}

// TestOrderRefusedByALookIsNotTried: if a look shows that a line cannot be filled, the order is refused without locks or
// writes.
func TestOrderRefusedByALookIsNotTried(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		w.clock = newClock()
		store := &placings{Store: w.store}
		s := w.startOn(store, nil)
		for name, c := range map[string]stock.NewSKU{
			"a": {Stock: 100}, "few": {Stock: 2}, "limited": {Stock: 100, Terms: stock.Terms{PerBuyerLimit: 2}},
		} {
			c.SKU, c.Segments = name, 3
			if _, _, err := s.CreateSKU(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		order := func(id, last string, quantity int64) error {
			_, _, err := s.Order(t.Context(), stock.MultiOrder{
				OrderID: id, BuyerID: "b", ReserveFor: time.Minute,
				Lines: []stock.Line{{SKU: "a", Quantity: 1}, {SKU: last, Quantity: quantity}},
			})
			return err
		}
		wants := func(id, last string, quantity int64, want stock.Code, tried int64) {
			t.Helper()
			before := store.n.Load()
			if code := stock.CodeOf(order(id, last, quantity)); code != want || store.n.Load()-before != tried {
				t.Errorf("order %s: %q after %d attempts, want %q after %d", id, code, store.n.Load()-before, want, tried)
			}
		}
		wants("1", "few", 3, stock.CodeInsufficientStock, 0)
		wants("2", "few", 2, "", 1)
		wants("3", "few", 1, stock.CodeSoldOut, 0)
		wants("2", "few", 2, "", 0) // as before
		wants("2", "few", 1, stock.CodeOrderIDReused, 0)
		wants("4", "limited", 2, "", 1)
		wants("5", "limited", 1, stock.CodeBuyerLimit, 1) // only the write counts buyers
		wants("4", "limited", 2, "", 1)
		w.clock.advance(time.Minute)
		wants("6", "few", 2, "", 1)                      // needs units that have just expired
		if err := order("7", "limited", 2); err != nil { // only the write finds that its buyer's reservation has just expired
			t.Errorf("order 7: %v", err)
		}
	})
}

// slowPlacing takes long to find out, for the first time, whether an order is known.
type slowPlacing struct {
	stock.Store
	meanwhile func()
	once      sync.Once
}

func (p *slowPlacing) PlacedOrder(ctx context.Context, orderID string) (*stock.PlacedOrder, error) {
	there, err := p.Store.PlacedOrder(ctx, orderID)
	p.once.Do(func() {
		p.meanwhile()
		time.Sleep(time.Second)
	})
	return there, err
}

// TestARefusalOfAnOrderIsNotOlderThanASecond: the read that refuses an order has become old, and there are units now.
func TestARefusalOfAnOrderIsNotOlderThanASecond(t *testing.T) {
	t.Parallel()
	virtually(t, embedded, func(t *testing.T, w *world) {
		other := w.start(nil)
		w.create(other, 0, 1)
		s := w.startOn(&slowPlacing{Store: w.store, meanwhile: func() { w.restock(other, "r", 1) }}, nil)
		order := stock.MultiOrder{OrderID: "o", Lines: []stock.Line{{SKU: sku, Quantity: 1}}}
		if _, created, err := s.Order(t.Context(), order); err != nil || !created {
			t.Errorf("created %v, %v, want true", created, err)
		}
	})
}
