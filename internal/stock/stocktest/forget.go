package stocktest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"inventory/internal/stock"
)

// forgetting is of a buyer with orders of all kinds.
func forgetting() stock.Forgetting {
	return stock.Forgetting{BuyerID: "ann", Name: stock.Pseudonym([]byte("a secret of the shop"), "ann")}
}

// forgets forgets a buyer, to the end.
func (k *kit) forgets(f stock.Forgetting) {
	k.t.Helper()
	for step, n := (stock.ForgetStep{}), 0; step.Part != stock.ForgetDone; n++ {
		next, err := k.store.Forget(k.t.Context(), f, step)
		if err != nil || n > 1000 {
			k.t.Fatalf("at %+v: %v", step, err)
		}
		step = next
	}
}

// testForget: nothing in the database has the id of a buyer who is forgotten. The audit finds the same as before, counts go on under the
// buyer's new name, and so do the buyer's orders.
func testForget(t *testing.T, k *kit) {
	f := forgetting()
	k.limit = 9
	k.create(100, 3)
	own := func(id string, units int64, reserve time.Duration) stock.Order {
		return stock.Order{OrderID: stock.OrderKey("ann", id), BuyerID: "ann", Quantity: units, ReserveFor: reserve}
	}
	shops := by("ann", "o-2", 2)
	shops.ReserveFor = time.Hour
	k.deduct(0, stock.Fence{}, by("ann", "o-1", 1), shops, by("bob", "o-3", 2), own("o-1", 1, 0), own("o-4", 2, time.Hour))
	k.merge(nil, by("anna", "o-5", 9))
	k.settled(at, returns(stock.OrderKey("ann", "o-1"), "", 0), stock.StatusReturned, 1, 1)
	k.settle(at, extend(stock.OrderKey("ann", "o-4"), "longer", 2*time.Hour))
	off := returns("o-1", "broken", 1)
	off.WriteOff = true
	k.settle(at, off)
	balance := k.audited("")
	k.forgets(f)
	k.forgets(f) // again, as after an interruption
	k.equal("audit", k.audited(""), balance)
	k.knowsNothingOf(" ann ", "ann\x1f")
	k.counted("ann", 0)
	k.counted(f.Name, 2) // those of the shop
	k.counted("bob", 2)
	k.counted("anna", 9)
	page, err := k.store.DeductionPage(t.Context(), stock.DeductionQuery{SKU: sku, BuyerID: f.Name, Limit: 9, Scan: 99})
	k.equal("kept", fmt.Sprint(stock.Column(page.Deductions, func(d stock.Deduction) string { return f.Renamed(d.OrderID) }), err),
		fmt.Sprint([]string{stock.OrderKey(f.Name, "o-1"), stock.OrderKey(f.Name, "o-4"), "o-1", "o-2"}, nil))
	again := by(f.Name, "o-6", 6)
	if result, err := k.store.Deduct(t.Context(), k.batch(0, stock.Fence{}, again)); err != nil || result.Outcomes[0].Kind != stock.Limited {
		t.Errorf("beyond the limit: %+v, %v", result, err)
	}
	k.deduct(0, stock.Fence{}, by(f.Name, "o-7", 5))
	k.settled(at, commit(stock.OrderKey(f.Name, "o-4")), stock.StatusCommitted, 2, 0)
	k.settled(at, returns(stock.OrderKey(f.Name, "o-4"), "", 0), stock.StatusReturned, 2, 2)
	k.counted(f.Name, 7)
}

// testForgetOrders: of orders of several SKUs the same holds, also of those that have changed hands.
func testForgetOrders(t *testing.T, k *kit) {
	f := forgetting()
	k.threeSKUs()
	lines := []stock.Line{{SKU: "a", Quantity: 1}, {SKU: "b", Quantity: 2}}
	for _, o := range []stock.MultiOrder{
		{OrderID: "o-1", BuyerID: "ann"}, {OrderID: stock.OrderKey("ann", "o-2"), BuyerID: "ann"}, {OrderID: "o-3", BuyerID: "bob"},
	} {
		p := placing(o.OrderID, lines, []stock.Batch{anywhere, anywhere})
		p.Order.BuyerID = o.BuyerID
		k.places(p)
	}
	for _, statement := range []string{ // as changes leave it that hand an order over
		"UPDATE orders SET ordered_by = 'ann' WHERE order_id = 'o-3'",
		"INSERT INTO order_changes (order_id, ref, lines, buyer_id, write_off, created_at) SELECT order_id, 'r', '[]', 'ann', write_off, created_at FROM " +
			"(SELECT order_id, pruned AS write_off, created_at FROM orders WHERE order_id = 'o-3') AS o",
	} {
		k.must(statement)
	}
	balance := k.audited("")
	k.forgets(f)
	k.equal("audit", k.audited(""), balance)
	k.knowsNothingOf(" ann ", "ann\x1f")
	for id, want := range map[string][2]string{"o-1": {f.Name, f.Name}, stock.OrderKey(f.Name, "o-2"): {f.Name, f.Name}, "o-3": {"bob", f.Name}} {
		there, err := k.store.PlacedOrder(t.Context(), id)
		if err != nil || there == nil || len(there.Lines) != 2 || there.BuyerID != want[0] || there.OrderedBy != want[1] {
			t.Errorf("%q: %+v, %v", id, there, err)
		}
	}
}

// testForgotten notes buyers who are forgotten.
func testForgotten(t *testing.T, k *kit) {
	for _, buyer := range []stock.ForgottenBuyer{{Name: "a"}, {Name: "b", Done: true}, {Name: "a", Done: true}} {
		if err := k.store.NoteForgotten(t.Context(), buyer); err != nil {
			t.Fatal(err)
		}
	}
	all, err := k.store.Forgotten(t.Context())
	if err != nil || len(all) != 2 || !all[0].Done || !all[1].Done {
		t.Errorf("%+v, %v", all, err)
	}
}

// testForgetKeys: of different keys that come at once, one is noted, and stays.
func testForgetKeys(t *testing.T, k *kit) {
	const keys = 8
	var noted [keys]bool
	for range 2 {
		var all sync.WaitGroup
		var again [keys]bool
		for n := range keys {
			all.Go(func() {
				var err error
				if again[n], err = k.store.NoteForgetKey(t.Context(), fmt.Sprint("key ", n)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if are := slices.DeleteFunc(slices.Clone(again[:]), func(is bool) bool { return !is }); len(are) != 1 || noted != [keys]bool{} && again != noted {
			t.Fatalf("noted: %v, then %v", noted, again)
		}
		noted = again
	}
	all, err := k.store.Forgotten(t.Context())
	if err != nil || len(all) != 1 || !all[0].Done {
		t.Errorf("%+v, %v", all, err)
	}
}

// testForgetPruned: what is left of pruned orders has only a hash of the buyer, and the buyer's name once the buyer is forgotten.
func testForgetPruned(t *testing.T, k *kit) {
	k.threeSKUs()
	p := placing("o-1", []stock.Line{{SKU: "a", Quantity: 1}, {SKU: "b", Quantity: 2}}, []stock.Batch{anywhere, anywhere})
	p.Order.BuyerID = "ann"
	k.places(p)
	if _, err := k.store.Deduct(t.Context(), stock.Batch{SKU: "c", Layout: firstLayout, Limit: 2, At: at, Orders: []stock.Order{by("ann", "o-2", 1)}}); err != nil {
		t.Fatal(err)
	}
	k.archive("a", "b", "c")
	for sku, id := range map[string]string{"a": "o-1", "b": "o-1", "c": "o-2"} {
		if pruned, err := k.store.Prune(t.Context(), stock.Pruning{SKU: sku, Before: at.Add(time.Hour), OrderIDs: []string{id}}); err != nil || pruned.Deductions != 1 {
			t.Fatalf("%s: %+v, %v", sku, pruned, err)
		}
	}
	is := func(buyers ...string) {
		t.Helper()
		there, err := k.store.PlacedOrder(t.Context(), "o-1")
		if err != nil || there == nil {
			t.Fatalf("%+v, %v", there, err)
		}
		k.knowsNothingOf("ann")
		for _, id := range []string{"ann", forgetting().Name, "bob", ""} {
			k.equal("the order is that of "+id, there.IsOf(id), slices.Contains(buyers, id))
		}
	}
	is("ann")
	k.forgets(forgetting())
	is(forgetting().Name)
}

// knowsNothingOf reads all rows of all tables, and finds none of the texts in them.
func (k *kit) knowsNothingOf(texts ...string) {
	k.t.Helper()
	rows, err := k.dump(k.t.Context())
	if err != nil || len(rows) == 0 {
		k.t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows {
		for _, text := range texts {
			if strings.Contains(row, text) {
				k.t.Errorf("a row has %q: %q", text, row)
			}
		}
	}
}

// testForgetPrunedOwn: of an order whose id was the buyer's own, nothing is left after its last line.
func testForgetPrunedOwn(t *testing.T, k *kit) {
	k.threeSKUs()
	id := stock.OrderKey("ann", "o-1")
	p := placing(id, []stock.Line{{SKU: "a", Quantity: 1}, {SKU: "b", Quantity: 2}}, []stock.Batch{anywhere, anywhere})
	p.Order.BuyerID = "ann"
	k.places(p)
	k.archive("a", "b")
	for _, sku := range []string{"a", "b"} {
		if pruned, err := k.store.Prune(t.Context(), stock.Pruning{SKU: sku, Before: at.Add(time.Hour), OrderIDs: []string{id}}); err != nil || pruned.Deductions != 1 {
			t.Fatalf("%s: %+v, %v", sku, pruned, err)
		}
	}
	k.knowsNothingOf("ann")
}

// testForgetAgain: a service without the key has sold to a forgotten buyer again, under the old order ids. The buyer can be forgotten once more:
// until then no request that names the buyer is answered.
func testForgetAgain(t *testing.T, k *kit) {
	f := forgetting()
	k.threeSKUs()
	off := returns(stock.OrderKey("ann", "o-3"), "broken", 1)
	off.WriteOff = true
	again := func() {
		k.deduct(0, stock.Fence{}, stock.Order{OrderID: stock.OrderKey("ann", "o-3"), BuyerID: "ann", Quantity: 2, ReserveFor: time.Hour})
		k.deduct(0, stock.Fence{}, stock.Order{OrderID: stock.OrderKey("ann", "o-1"), BuyerID: "ann", Quantity: 1})
		p := placing(stock.OrderKey("ann", "o-2"), []stock.Line{{SKU: "a", Quantity: 1}, {SKU: "b", Quantity: 2}}, []stock.Batch{anywhere, anywhere})
		p.Order.BuyerID = "ann"
		k.places(p)
		k.settled(at, commit(stock.OrderKey("ann", "o-3")), stock.StatusCommitted, 2, 0)
		k.settle(at, off)
		k.forgets(f)
		k.knowsNothingOf(" ann ", "ann\x1f")
	}
	k.create(100, 3)
	again()
	again()
}

// testForgetMeetsChange: a change that has looked at an order before its buyer was forgotten looks again, and brings back nothing of the buyer.
func testForgetMeetsChange(t *testing.T, k *kit) {
	f := forgetting()
	k.makes(stock.NewSKU{SKU: "a", Stock: 9, Segments: 2, Terms: stock.Terms{PerBuyerLimit: 5}})
	p := placing("o-1", []stock.Line{{SKU: "a", Quantity: 1}}, []stock.Batch{{Layout: firstLayout, Segment: stock.AllSegments, Limit: 5}})
	p.Order.BuyerID = "ann"
	k.places(p)
	there, err := k.store.PlacedOrder(t.Context(), "o-1")
	if err != nil || there == nil {
		t.Fatalf("%+v, %v", there, err)
	}
	k.forgets(f)
	_, err = k.store.ChangeOrder(t.Context(), stock.Revision{
		Change: stock.OrderChange{OrderID: "o-1", Ref: "grows", Lines: []stock.Line{{SKU: "a", Quantity: 2}}}, Order: *there, At: at,
		Lines: []stock.RevisedLine{{Was: 1, Levels: []int64{4, 4}, Batch: stock.Batch{SKU: "a", Layout: firstLayout, Segment: stock.AllSegments, Limit: 5, At: at}}},
	})
	if !errors.Is(err, stock.ErrRevised) {
		t.Errorf("got %v, want ErrRevised", err)
	}
	k.knowsNothingOf("ann")
	k.audited("")
}

// testForgetWrittenOffAgain: what the ledger says of units that were written off stays with their order, also if the buyer had to get another name.
func testForgetWrittenOffAgain(t *testing.T, k *kit) {
	f := forgetting()
	k.create(100, 3)
	off := func(key, ref string) {
		w := returns(key, ref, 1)
		w.WriteOff = true
		k.settle(at, w)
	}
	for _, ref := range []string{"first", "second"} {
		k.deduct(0, stock.Fence{}, stock.Order{OrderID: stock.OrderKey("ann", "o-1"), BuyerID: "ann", Quantity: 3})
		off(stock.OrderKey("ann", "o-1"), ref)
		k.forgets(f)
	}
	movements, err := k.store.Movements(t.Context(), sku, stock.Position{}, 9)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range movements {
		key, ref := m.Returned()
		h, err := k.store.History(t.Context(), sku, key)
		if err != nil || len(h.Amendments) != 1 || h.Amendments[0].Ref != ref {
			t.Errorf("the ledger has %q of %q, whose history is %+v, %v", ref, key, h.Amendments, err)
		}
	}
	off(stock.OrderKey(f.Name, "o-1"), "second") // another order's return with the same ref
	k.audited("")
}
