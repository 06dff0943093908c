package stocktest

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/stock"
)

// damage is what somebody does to the rows by hand, and how the audit's difference shows it.
type damage struct {
	statement, repair string
	difference        int64
}

// sees checks that the audit sees every damage, and nothing once it is repaired.
func (k *kit) sees(all ...damage) {
	k.t.Helper()
	k.audit()
	k.damaged = true
	for _, d := range all {
		k.must(d.statement)
		audit, err := k.store.Audit(k.t.Context(), sku, nil)
		if err != nil || audit.OK() || audit.SKUs[0].Difference() != d.difference {
			k.t.Errorf("after %s: audit %+v, %v", d.statement, audit, err)
		}
		k.must(d.repair)
		k.audited("")
	}
}

func (k *kit) must(statement string) {
	k.t.Helper()
	if err := k.exec(k.t.Context(), statement); err != nil {
		k.t.Fatalf("%s: %v", statement, err)
	}
}

// testAuditSees damages the rows by hand: an audit that finds everything in order always would find nothing.
func testAuditSees(_ *testing.T, k *kit) {
	k.limit = 25
	k.create(40, 2)
	k.deduct(0, stock.Fence{}, by("x", "a", 2), by("y", "b", 3))
	r := by("r", "r", 4)
	r.ReserveFor = time.Minute
	k.deduct(1, stock.Fence{}, r, by("s", "part", 3), by("t", "all", 2))
	k.settle(at, giveBack("r", "r", 1), returns("part", "r", 1), returns("all", "r", 2))
	p := placing("o", []stock.Line{{SKU: sku, Quantity: 1}}, []stock.Batch{{Layout: firstLayout, Segment: 1, Limit: 25}})
	p.Order.BuyerID = "z"
	k.places(p)
	k.merge(nil, by("w", "m", 25)) // which leaves four units in one segment
	set := func(table, change, back, where string, difference int64) damage {
		return damage{"UPDATE " + table + " SET " + change + " WHERE " + where, "UPDATE " + table + " SET " + back + " WHERE " + where, difference}
	}
	k.sees(
		set("stock_segments", "available = available - 1", "available = available + 1", "available > 0", 1),
		set("deductions", "quantity = quantity + 2", "quantity = quantity - 2", "order_id = 'a'", -2),
		set("deduction_parts", "quantity = quantity + 1", "quantity = quantity - 1", "order_id = 'm'", 0),
		set("buyers", "units = units - 1", "units = units + 1", "buyer_id = 'x'", 0),
		set("skus", "moved = moved + 1", "moved = moved - 1", "initial = 40", 0),
		set("deductions", "buyer_id = 'v'", "buyer_id = 'x'", "order_id = 'a'", 0),
		set("skus", "per_buyer_limit = 24", "per_buyer_limit = 25", "sku_id = 'sku-1'", 0),
		damage{"UPDATE deductions SET order_id = 'lost' WHERE order_id = 'o'", "UPDATE deductions SET order_id = 'o' WHERE order_id = 'lost'", 0},
		set("amendments", "returned = 2", "returned = 1", "order_id = 'r'", 0),
		set("amendments", "returned = 2", "returned = 1", "order_id = 'part'", 0),
		set("amendments", "returned = 3", "returned = 2", "order_id = 'all'", 0),
		set("deductions", "asked = 5", "asked = 4", "order_id = 'r'", 0),
	)
}

// testAuditOfAll: an audit of more SKUs than one statement reads names each of them once, and tells how far it is.
func testAuditOfAll(t *testing.T, k *kit) {
	const skus = 102
	for n := range skus {
		k.makes(stock.NewSKU{SKU: fmt.Sprintf("many-%03d", n), Stock: int64(n), Segments: 1})
	}
	var told []int
	audit, err := k.store.Audit(t.Context(), "", func(done, of int) {
		told = append(told, done)
		k.equal("all SKUs", of, skus)
	})
	if err != nil || !audit.OK() || len(audit.SKUs) != skus {
		t.Fatalf("audit: %d SKUs, %v", len(audit.SKUs), err)
	}
	for n, b := range audit.SKUs {
		k.equal(b.SKU, b, stock.Balance{SKU: fmt.Sprintf("many-%03d", n), Initial: int64(n), Available: int64(n)})
	}
	if told != nil && !slices.Equal(told, []int{100, skus}) { // nodes of Citus work beside each other
		t.Errorf("told that %v are done", told)
	}
}

func testAuditOfOne(t *testing.T, k *kit) {
	k.create(10, 2)
	k.deduct(0, stock.Fence{}, order("a", 4), reserved("b", 1, stock.MaxReserve))
	k.makes(stock.NewSKU{SKU: "other", Stock: 5, Segments: 1})
	one := k.audited(sku).SKUs
	if len(one) != 1 || one[0].Difference() != 0 {
		t.Fatalf("got %+v", one)
	}
	one[0].Violations = nil
	k.equal("audit", one[0], stock.Balance{SKU: sku, Initial: 10, Available: 5, Reserved: 1, Committed: 4})
	k.equal("of all", len(k.audited("").SKUs), 2)
	for _, c := range []struct {
		sku  string
		than int
		more bool
	}{{sku, 1, true}, {sku, 2, false}, {"other", 0, false}, {"", 1, true}, {"", 2, false}} {
		more, err := k.store.HasMoreOrders(t.Context(), c.sku, c.than)
		if err != nil {
			t.Fatal(err)
		}
		k.equal(fmt.Sprintf("more orders of %q than %d", c.sku, c.than), more, c.more)
	}
	_, err := k.store.Audit(t.Context(), "nope", nil)
	k.code(err, stock.CodeUnknownSKU)
}

// prunes folds those of the order ids that may go, and checks how many that are and what they hold. The audit finds the same
// before, after a dry run and afterwards.
func (k *kit) prunes(sku string, before time.Time, deductions, units int64, ids ...string) {
	k.t.Helper()
	balance := k.audited("")
	prune := func(dry bool, want stock.Pruned) {
		k.t.Helper()
		got, err := k.store.Prune(k.t.Context(), stock.Pruning{SKU: sku, OrderIDs: ids, Before: before, DryRun: dry})
		if err != nil {
			k.t.Fatal(err)
		}
		k.equal(fmt.Sprintf("pruned of %s, dry run %v", sku, dry), got, want)
		k.equal("audit", k.audited(""), balance)
	}
	prune(true, stock.Pruned{Deductions: deductions, Units: units})
	prune(false, stock.Pruned{Deductions: deductions, Units: units})
	prune(false, stock.Pruned{})
}

// testPrune folds what has ended and is old, and leaves all else.
func testPrune(t *testing.T, k *kit) {
	k.limit = 12
	k.create(33, 3)
	bought := func(buyer, id string, units int64, reserve time.Duration) stock.Order {
		o := by(buyer, id, units)
		o.ReserveFor = reserve
		return o
	}
	k.deduct(0, stock.Fence{}, by("x", "sold", 2), bought("x", "cancelled", 1, time.Millisecond), bought("x", "reserved", 1, time.Hour),
		bought("x", "expired", 2, time.Minute), bought("z", "committed", 2, time.Minute))
	k.deduct(1, stock.Fence{}, by("y", "only", 3), by("z", "returned", 4))
	k.merge(nil, by("w", "merged", 12), by("v", "given back", 6))
	k.settle(at, cancel("cancelled"), commit("committed"))
	k.settle(at, extend("reserved", "longer", 2*time.Hour), returns("given back", "r", 4))
	k.settle(at.Add(time.Hour), returns("returned", "late", 1))
	k.expire(at.Add(time.Minute), 1)
	all := []string{"sold", "cancelled", "reserved", "only", "expired", "committed", "returned", "merged", "given back", "nothing"}
	hour := at.Add(time.Hour)
	k.prunes(sku, hour, 0, 0, all...) // it is sold still
	k.archive(sku)
	k.prunes(sku, at, 0, 0, all...)
	k.prunes(sku, at.Add(time.Second), 5, 2+3+12+2, all...) // not those that lasted a minute
	k.prunes(sku, at.Add(time.Minute), 0, 0, all...)
	k.prunes(sku, hour, 2, 2, all...)
	k.counted("x", 1)
	k.counted("y", 0)
	k.counted("z", 3)
	for _, id := range []string{"sold", "cancelled", "only", "expired", "committed", "merged", "given back"} {
		k.absent(id)
		k.refuses(hour, stock.CodeUnknownDeduction, cancel(id), commit(id), giveBack(id, "r", 4), extend(id, "r", time.Hour))
		_, err := k.store.Deduct(t.Context(), k.batch(0, stock.Fence{}, order(id, 1)))
		k.equal("sold again", err, stock.ErrLayout)
	}
	k.equal("reserved", k.state("reserved"), stock.StatusReserved)
	k.equal("returned", k.state("returned"), stock.StatusCommitted)

	// The other deductions end as usual, and go when they are old.
	k.settled(hour, commit("reserved"), stock.StatusCommitted, 1, 0)
	k.settled(hour, returns("returned", "", 0), stock.StatusReturned, 3, 3)
	k.prunes(sku, at.Add(2*time.Hour), 1, 0, all...)
	k.prunes(sku, at.Add(2*time.Hour+time.Microsecond), 1, 1, all...)
	k.balance(hour, 33-22, 0, 2+3+12+2+2+1)
	for _, buyer := range []string{"v", "w", "x", "y", "z"} {
		k.counted(buyer, 0)
	}
	page, err := k.store.DeductionPage(t.Context(), stock.DeductionQuery{SKU: sku, Limit: 9})
	k.equal("left", fmt.Sprint(page, err), fmt.Sprint(stock.DeductionPage{}, nil))
	if audit := k.audited(sku); audit.SKUs[0].Merges == 0 {
		t.Errorf("merges: %+v", audit)
	}
	k.sees(
		damage{"UPDATE pruned SET committed = committed - 1", "UPDATE pruned SET committed = committed + 1", 1},
		damage{"UPDATE pruned SET committed = committed + 1", "UPDATE pruned SET committed = committed - 1", -1},
	)
}

// testPruneOrders: an order of several SKUs goes when all of it may go, and its id sells nothing again, of no SKU.
func testPruneOrders(t *testing.T, k *kit) {
	k.threeSKUs()
	lines := []stock.Line{{SKU: "a", Quantity: 2}, {SKU: "b", Quantity: 7}}
	very, reserves := placing("o", lines, []stock.Batch{anywhere, anywhere}), placing("p", nil, []stock.Batch{anywhere, anywhere})
	very.Order.BuyerID, reserves.Order.BuyerID = "x", "x"
	reserves.Order.ReserveFor, reserves.Order.Lines = time.Minute, []stock.Line{{SKU: "a", Quantity: 1}, {SKU: "b", Quantity: 1}}
	k.places(very)
	k.places(reserves)
	// One of a single SKU has the same id as an order that knows nothing of it.
	other := stock.Batch{SKU: "c", Layout: firstLayout, Limit: 2, At: at, Orders: []stock.Order{by("x", "o", 1)}}
	if _, err := k.store.Deduct(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	soon := at.Add(time.Second)
	k.archive("a", "c")
	k.prunes("a", soon, 0, 0, "o", "p") // b is sold still
	k.prunes("c", soon, 1, 1, "o")
	k.refusesOrder(very, "")
	k.archive("b")
	k.prunes("a", soon, 1, 2, "o", "p")
	pruned := func() {
		t.Helper()
		if there, err := k.store.PlacedOrder(t.Context(), "o"); err != nil || there == nil || !there.Pruned {
			t.Errorf("an order of which a line was pruned: got %+v, %v, want it as pruned", there, err)
		}
	}
	pruned()
	k.prunes("b", soon, 1, 7, "o", "p")
	pruned()
	k.makes(stock.NewSKU{SKU: "d", Stock: 5, Segments: 2})
	for _, placed := range []stock.Batch{here, anywhere} {
		k.refusesOrder(placing("o", []stock.Line{{SKU: "d", Quantity: 1}}, []stock.Batch{placed}), stock.CodeOrderIDReused)
	}
	// A line that may not go keeps the others.
	for _, sku := range []string{"a", "b"} {
		k.prunes(sku, at.Add(time.Hour), 0, 0, "p")
	}
	gone, kept := cancel("p"), commit("p")
	gone.InOrder, kept.InOrder = true, true
	k.settleOf("b", at, gone)
	k.prunes("b", at.Add(time.Hour), 0, 0, "p")
	k.settleOf("a", at, kept)
	k.prunes("b", at.Add(time.Hour), 1, 0, "p")
	k.prunes("a", at.Add(time.Hour), 1, 1, "p")
	k.left(7, 3, 5)
}

// testPruneInSteps: wherever it stops, what is there adds up, and the next one goes on. Sales of other SKUs go on beside it.
func testPruneInSteps(t *testing.T, k *kit) {
	const orders = 60
	k.create(2*orders, 4)
	k.other("beside", 1)
	for n := range orders {
		id := fmt.Sprintf("o-%02d", n)
		if n%3 == 0 {
			k.merge(nil, order(id, 2))
		} else {
			k.deduct(n%4, stock.Fence{}, reserved(id, 1, time.Minute))
		}
		if n%3 == 1 {
			k.settle(at, commit(id))
		}
	}
	k.archive(sku)
	var gone, units atomic.Int64
	prune := func(ctx context.Context) error { // each as if the other had died somewhere
		for after := ""; ; {
			page, err := k.store.DeductionPage(ctx, stock.DeductionQuery{SKU: sku, After: after, Limit: 7})
			if err != nil {
				return err
			}
			ids := stock.Column(page.Deductions, func(d stock.Deduction) string { return d.OrderID })
			pruned, err := k.store.Prune(ctx, stock.Pruning{SKU: sku, Before: at.Add(time.Hour), OrderIDs: ids})
			if err != nil {
				return err
			}
			gone.Add(pruned.Deductions)
			units.Add(pruned.Units)
			if pruned.Busy {
				continue
			}
			if after = page.Next; after == "" {
				return nil
			}
		}
	}
	k.together(prune, prune, func(ctx context.Context) error { // retries of commits, and returns
		for n := range orders {
			id := fmt.Sprintf("o-%02d", n)
			request := []stock.SettleRequest{returns(id, "", 0), commit(id), cancel(id)}[n%3]
			_, err := k.store.Settle(ctx, stock.Settlement{SKU: sku, At: at, Requests: []stock.SettleRequest{request}})
			if err != nil {
				return err
			}
		}
		return nil
	}, func(ctx context.Context) error {
		for ctx.Err() == nil && gone.Load() < orders/2 {
			audit, err := k.store.Audit(ctx, "", nil)
			if err != nil || !audit.OK() {
				return fmt.Errorf("beside it: %+v, %w", audit, err)
			}
		}
		return nil
	})
	var ids []string
	for n := range orders {
		ids = append(ids, fmt.Sprintf("o-%02d", n))
	}
	rest, err := k.store.Prune(t.Context(), stock.Pruning{SKU: sku, OrderIDs: ids, Before: at.Add(time.Hour)})
	if err != nil || gone.Load()+rest.Deductions != orders {
		t.Fatalf("%d gone, and %+v, %v", gone.Load(), rest, err)
	}
	k.equal("units committed", k.status(sku, at).Committed, units.Load()+rest.Units)
}
