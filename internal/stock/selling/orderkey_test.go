package selling_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"inventory/internal/stock"
)

// TestOrderIDsOfBuyersAreTheirOwn: the order ids of a buyer collide neither with those of other buyers nor with the
// shop's.
func TestOrderIDsOfBuyersAreTheirOwn(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.clock = newClock()
		s := w.start(nil)
		w.create(s, 20, 2)
		own := func(buyer string, quantity int64) stock.Order {
			return stock.Order{OrderID: "o", BuyerID: buyer, Own: true, Quantity: quantity, ReserveFor: time.Minute}
		}
		orders := []stock.Order{own("ann", 1), own("bob", 2), {OrderID: "o", Quantity: 3, ReserveFor: time.Minute}}
		for _, o := range orders {
			d, created, err := s.Deduct(t.Context(), sku, o)
			if err != nil || !created || d.OrderID != "o" || d.BuyerID != o.BuyerID || d.Quantity != o.Quantity {
				t.Fatalf("%+v: %+v, created %t, %v", o, d, created, err)
			}
			again, created, err := s.Deduct(t.Context(), sku, o)
			if err != nil || created || again.OrderID != "o" || again.Quantity != o.Quantity {
				t.Fatalf("%+v again: %+v, created %t, %v", o, again, created, err)
			}
			if read, err := s.Deduction(t.Context(), sku, "o", o.BuyerID); err != nil || read.OrderID != "o" || read.Quantity != o.Quantity {
				t.Fatalf("%+v read: %+v, %v", o, read, err)
			}
		}
		w.refused(s, own("ann", 5), stock.CodeOrderIDReused)
		if _, err := s.Deduction(t.Context(), sku, "o", "eve"); stock.CodeOf(err) != stock.CodeUnknownDeduction {
			t.Errorf("a stranger reads: %v, want %s", err, stock.CodeUnknownDeduction)
		}
		if d, err := s.Settle(t.Context(), sku, stock.SettleRequest{OrderID: "o", BuyerID: "bob", Verb: stock.Cancel}, false); err != nil || d.OrderID != "o" || d.Quantity != 2 {
			t.Errorf("bob cancels: %+v, %v", d, err)
		}
		if d, err := s.Deduction(t.Context(), sku, "o", "ann"); err != nil || d.Status != stock.StatusReserved {
			t.Errorf("ann's after that: %+v, %v", d, err)
		}
	})
}

// TestABuyersIDFindsWhatTheShopMadeForThem: all orders were made by the shop before buyers had their own ids.
func TestABuyersIDFindsWhatTheShopMadeForThem(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.clock = newClock()
		s := w.start(nil)
		w.create(s, 6, 2)
		before := stock.Order{OrderID: "o", BuyerID: "ann", Quantity: 2, ReserveFor: time.Minute}
		w.mustTake(s, before)
		w.mustTake(s, stock.Order{OrderID: "rest", Quantity: 4})
		w.refused(s, stock.Order{OrderID: "more", Quantity: 1}, stock.CodeSoldOut)
		own := before
		own.Own = true
		for range 50 { // also once the SKU is known to be sold out
			if d, created, err := s.Deduct(t.Context(), sku, own); err != nil || created || d.Quantity != 2 || d.OrderID != "o" {
				t.Fatalf("again: %+v, created %t, %v", d, created, err)
			}
		}
		own.Quantity = 1
		w.refused(s, own, stock.CodeOrderIDReused)
		w.refused(s, stock.Order{OrderID: "o", BuyerID: "bob", Own: true, Quantity: 2, ReserveFor: time.Minute}, stock.CodeSoldOut)
		if d, err := s.Settle(t.Context(), sku, stock.SettleRequest{OrderID: "o", BuyerID: "ann", Verb: stock.Cancel}, false); err != nil || d.Status != stock.StatusCancelled {
			t.Errorf("ann cancels: %+v, %v", d, err)
		}
	})
}

// TestWholeOrdersOfBuyersAreTheirOwn: the same for orders of several SKUs.
func TestWholeOrdersOfBuyersAreTheirOwn(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		s := w.start(nil)
		w.create(s, 20, 2)
		order := func(buyer string, own bool, quantity int64) stock.MultiOrder {
			return stock.MultiOrder{OrderID: "o", BuyerID: buyer, Own: own, Lines: []stock.Line{{SKU: sku, Quantity: quantity}}}
		}
		place := func(o stock.MultiOrder, created bool) {
			t.Helper()
			lines, is, err := s.Order(t.Context(), o)
			if err != nil || is != created || lines[0].OrderID != "o" || lines[0].Quantity != o.Lines[0].Quantity {
				t.Fatalf("%+v: %+v, created %t, %v", o, lines, is, err)
			}
		}
		place(order("ann", false, 1), true) // like one from before
		place(order("ann", true, 1), false)
		place(order("bob", true, 2), true)
		place(order("bob", true, 2), false)
		if _, _, err := s.Order(t.Context(), order("bob", true, 3)); stock.CodeOf(err) != stock.CodeOrderIDReused {
			t.Errorf("another order of bob's under the same id: %v, want %s", err, stock.CodeOrderIDReused)
		}
		if d, err := s.Deduction(t.Context(), sku, "o", "bob"); err != nil || d.Quantity != 2 {
			t.Errorf("bob's line: %+v, %v", d, err)
		}
	})
}

// TestAKnownIDIsReusedBeforeTheLimitIsReached: a request for more units under a known order id is order_id_reused.
func TestAKnownIDIsReusedBeforeTheLimitIsReached(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		s := w.start(nil)
		w.createOn(s, 20, 2, stock.Terms{PerBuyerLimit: 2})
		o := stock.Order{OrderID: "o", BuyerID: "ann", Quantity: 2}
		w.mustTake(s, o)
		o.Quantity = 3
		w.refused(s, o, stock.CodeOrderIDReused)
		w.refused(s, stock.Order{OrderID: "p", BuyerID: "ann", Quantity: 3}, stock.CodeBuyerLimit)
		whole := stock.MultiOrder{OrderID: "w", BuyerID: "bob", Lines: []stock.Line{{SKU: sku, Quantity: 2}}}
		if _, _, err := s.Order(t.Context(), whole); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]stock.Code{"w": stock.CodeOrderIDReused, "v": stock.CodeBuyerLimit} {
			whole.OrderID, whole.Lines = id, slices.Clone([]stock.Line{{SKU: sku, Quantity: 3}})
			if _, _, err := s.Order(t.Context(), whole); stock.CodeOf(err) != want {
				t.Errorf("order %s: %v, want %s", id, err, want)
			}
		}
	})
}

// TestExpiredIsToldFromAWrittenRow: before an answer says that a reservation has expired, the row says so.
func TestExpiredIsToldFromAWrittenRow(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.clock = newClock()
		s := w.start(nil)
		w.create(s, 20, 2)
		asked := map[string]func(o stock.Order) (stock.Deduction, error){
			"read":  func(o stock.Order) (stock.Deduction, error) { return s.Deduction(t.Context(), sku, o.OrderID, "") },
			"order": func(o stock.Order) (stock.Deduction, error) { return w.ask(s, o) },
			"cancel": func(o stock.Order) (stock.Deduction, error) {
				return s.Settle(t.Context(), sku, stock.SettleRequest{OrderID: o.OrderID, Verb: stock.Cancel}, false)
			},
		}
		for name, ask := range asked {
			o := stock.Order{OrderID: name, Quantity: 1, ReserveFor: time.Minute}
			w.mustTake(s, o)
			w.clock.advance(time.Minute)
			d, err := ask(o)
			if ended, ok := errors.AsType[*stock.Error](err); ok && name == "order" && ended.Code == stock.CodeOrderEnded {
				d.Status, err = ended.Status, nil
			}
			if err != nil || d.Status != stock.StatusExpired {
				t.Errorf("%s: %+v, %v", name, d, err)
			}
			rows, err := w.store.Deductions(t.Context(), sku, []string{name})
			if err != nil || rows[name].Status != stock.StatusExpired {
				t.Errorf("%s: the row says %s, %v, want %v", name, rows[name].Status, err, stock.StatusExpired)
			}
			w.clock.advance(-time.Second) // another process whose clock is late
			if _, err := s.Settle(t.Context(), sku, stock.SettleRequest{OrderID: name}, false); stock.CodeOf(err) != stock.CodeNotReserved {
				t.Errorf("%s: a commit after that: %v, want %s", name, err, stock.CodeNotReserved)
			}
		}
	})
}

// TestAnOrderIsHandedToABuyerWhoHasItsID: the order is the shop's, also if its new buyer has an order of that id. Both are answered as what
// they are.
func TestAnOrderIsHandedToABuyerWhoHasItsID(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		s := w.start(nil)
		w.create(s, 20, 2)
		order := func(buyer string, own bool, quantity int64) stock.MultiOrder {
			return stock.MultiOrder{OrderID: "o", BuyerID: buyer, Own: own, Lines: []stock.Line{{SKU: sku, Quantity: quantity}}}
		}
		for _, o := range []stock.MultiOrder{order("ann", false, 1), order("bob", true, 2)} {
			if _, created, err := s.Order(t.Context(), o); err != nil || !created {
				t.Fatalf("%+v: created %t, %v", o, created, err)
			}
		}
		change := stock.OrderChange{OrderID: "o", BuyerID: "ann", Ref: "to bob", NewBuyer: "bob", Lines: []stock.Line{{SKU: sku, Quantity: 3}}}
		for range 2 {
			if there, _, err := s.ChangeOrder(t.Context(), change); err != nil || there.BuyerID != "bob" || there.Lines[0].Quantity != 3 {
				t.Errorf("handed over: %+v, %v, want 3 units", there, err)
			}
		}
		if lines, created, err := s.Order(t.Context(), order("bob", true, 2)); err != nil || created || lines[0].Quantity != 2 {
			t.Errorf("bob's own order again: %+v, created %t, %v, want 2 units", lines, created, err)
		}
		if d, created, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: "p", BuyerID: "bob", Own: true, Quantity: 4}); err != nil || !created {
			t.Fatalf("bob's order of one SKU: %+v, %v", d, err)
		}
		shops := order("ann", false, 1)
		shops.OrderID, change.OrderID, change.BuyerID = "p", "p", ""
		if _, _, err := s.Order(t.Context(), shops); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.ChangeOrder(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		if d, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: "p", BuyerID: "bob", Own: true, Quantity: 4}); err != nil || d.Quantity != 4 {
			t.Errorf("bob's order of one SKU again: %+v, %v, want 4 units", d, err)
		}
		if there, err := s.PlacedOrder(t.Context(), "o", "bob"); err != nil || there.Lines[0].Quantity != 2 {
			t.Errorf("bob reads: %+v, %v, want 2 units", there, err)
		}
	})
}
