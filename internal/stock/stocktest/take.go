package stocktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
)

// by is an order of a buyer.
func by(buyer, id string, quantity int64) stock.Order {
	return stock.Order{OrderID: id, BuyerID: buyer, Quantity: quantity}
}

// told says what became of orders, and how much was left for the short ones.
func told(result stock.BatchResult) string {
	words := map[stock.OutcomeKind]string{
		stock.Accepted: "accepted", stock.Known: "known", stock.Short: "short", stock.Limited: "limited", stock.Closed: "closed",
	}
	return strings.Join(stock.Column(result.Outcomes, func(o stock.Outcome) string {
		if o.Kind == stock.Short {
			return fmt.Sprint(words[o.Kind], " ", o.Available)
		}
		return words[o.Kind]
	}), ", ")
}

// testBatches takes orders together, from segment 0 or by a merge. Each row is a SKU.
func testBatches(t *testing.T, k *kit) {
	three := []stock.Order{by("x", "a", 2), by("y", "b", 3)}
	for _, c := range []struct {
		name     string
		units    int64
		segments int
		limit    int64
		given    []stock.Order // before, from the last segment
		merge    bool
		inTurn   bool
		orders   []stock.Order
		want     string
		left     string
	}{
		{
			"a short order leaves its neighbours", 10, 1, 0, nil, false, false,
			[]stock.Order{order("a", 6), order("b", 7), order("c", 4), order("d", 1)},
			"accepted, short 4, accepted, short 0", "[0]",
		},
		{
			"in turn, nobody is served behind a short order", 10, 1, 0, orders("known", 1), false, true,
			[]stock.Order{order("a", 5), order("b", 7), order("c", 4), order("known-000", 1), order("d", 1)},
			"accepted, short 4, short 4, known, short 4", "[4]",
		},
		{
			"turns, not ids, decide who gets the last unit", 1, 1, 0, nil, false, false,
			[]stock.Order{order("z", 1), order("a", 1)},
			"accepted, short 0", "[0]",
		},
		{
			"known when the stock is gone", 1, 1, 0, orders("known", 1), false, false,
			[]stock.Order{order("a", 1), order("known-000", 1)},
			"short 0, known", "[0]",
		},
		{"all are known", 10, 2, 0, orders("known", 1), false, false, orders("known", 1), "known", "[5 4]"},
		{
			"a merge refuses truly", 5, 5, 0, nil, true, false,
			[]stock.Order{order("a", 6), order("b", 3), order("c", 3), order("d", 2), order("e", 1)},
			"short 5, accepted, short 2, accepted, short 0", "[0 0 0 0 0]",
		},
		{
			"a merge of known ids", 4, 2, 0, orders("known", 1), true, false,
			[]stock.Order{order("known-000", 1), order("a", 2), order("known-000", 3), order("b", 1), order("c", 1)},
			"known, accepted, known, accepted, short 0", "[0 0]",
		},
		{"a merge tops one segment up", 12, 4, 0, nil, true, false, []stock.Order{order("a", 5)}, "accepted", "7 in 1"},
		{"a refused merge moves nothing", 12, 4, 0, nil, true, false, []stock.Order{order("a", 1000)}, "short 12", "[3 3 3 3]"},

		{
			"some are within the limit", 40, 2, 3, nil, false, false,
			[]stock.Order{by("x", "a", 2), by("y", "b", 3), by("z", "c", 4)},
			"accepted, accepted, limited", "[15 20]",
		},
		{
			"a known order at the limit", 40, 2, 3, three, false, false,
			[]stock.Order{by("x", "c", 2), by("y", "b", 3), by("z", "d", 1)},
			"limited, known, accepted", "[19 15]",
		},
		{"nobody is within the limit", 40, 2, 3, three, false, false, []stock.Order{by("x", "c", 3), by("y", "d", 1)}, "limited, limited", "[20 15]"},
		{"all are known at the limit", 40, 2, 3, three, false, false, three, "known, known", "[20 15]"},
		{
			"some are within the limit, and one is too large", 40, 2, 3, three, false, false,
			[]stock.Order{by("y", "b", 3), by("z", "c", 3), by("x", "d", 2), by("v", "e", 100)},
			"known, accepted, limited, limited", "[17 15]",
		},
		{
			"a merge at the limit", 40, 2, 3, three, true, false,
			[]stock.Order{by("x", "c", 2), by("z", "d", 1), by("y", "b", 3)},
			"limited, accepted, known", "[19 15]",
		},
		{
			"a buyer comes twice", 40, 1, 3, nil, false, false,
			[]stock.Order{by("x", "a", 2), by("x", "b", 2), by("x", "c", 1), by("y", "d", 3)},
			"accepted, limited, accepted, accepted", "[34]",
		},
		{
			"a buyer comes twice, and one is too large", 40, 1, 3, nil, false, false,
			[]stock.Order{by("x", "a", 2), by("x", "b", 1), by("x", "c", 90)},
			"accepted, accepted, limited", "[37]",
		},
		{
			"a buyer comes twice to a merge", 40, 1, 3, nil, true, false,
			[]stock.Order{by("x", "a", 2), by("x", "b", 2), by("x", "c", 1)},
			"accepted, limited, accepted", "[37]",
		},
	} {
		k.makes(stock.NewSKU{SKU: c.name, Stock: c.units, Segments: c.segments, Terms: stock.Terms{PerBuyerLimit: c.limit}})
		batch := stock.Batch{SKU: c.name, Layout: firstLayout, Segment: c.segments - 1, Limit: c.limit, At: at, Orders: c.given}
		if c.given != nil {
			if _, err := k.store.Deduct(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
		batch.Segment, batch.Orders, batch.InTurn = 0, c.orders, c.inTurn
		write := k.store.Deduct
		if c.merge {
			write = k.store.Merge
		}
		result, err := write(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		k.equal(c.name, told(result), c.want)
		levels := k.view(c.name).Segments
		if left := fmt.Sprint(levels); left != c.left && fmt.Sprint(sum(levels), " in ", count(levels)) != c.left {
			t.Errorf("%s: got %s left, want %s", c.name, left, c.left)
		}
		known, err := k.store.Deductions(t.Context(), c.name, stock.Column(c.orders, func(o stock.Order) string { return o.OrderID }))
		if err != nil {
			t.Fatal(err)
		}
		taken := make(map[string]bool)
		for i, o := range result.Outcomes {
			taken[c.orders[i].OrderID] = taken[c.orders[i].OrderID] || o.Kind == stock.Accepted || o.Kind == stock.Known
		}
		for id, want := range taken {
			if _, there := known[id]; there != want {
				t.Errorf("%s: got that order %s is there: %t, want %t", c.name, id, there, want)
			}
		}
	}
}

// testBatch reads back what a batch has taken.
func testBatch(_ *testing.T, k *kit) {
	k.create(25, 3)
	k.equal("available", k.deduct(1, stock.Fence{Token: 7, Owner: "x"}, by("buyer", "b", 3), order("a", 4)).Available, 1)
	k.segments(9, 1, 8)
	k.read("b", stock.Part{Segment: 1, Quantity: 3})
	k.absent("c")
}

// testMerge reads back what a merge has taken from several segments.
func testMerge(_ *testing.T, k *kit) {
	k.create(30, 3)
	result := k.merge(map[int]stock.Fence{0: {Token: 1, Owner: "x"}}, by("x", "a", 14))
	k.equal("outcomes, merged", fmt.Sprint(told(result), " ", result.Merged), "accepted 1")
	d := k.deduction("a")
	units := stock.Column(d.Parts, func(p stock.Part) int64 { return p.Quantity })
	ascending := slices.IsSortedFunc(d.Parts, func(a, b stock.Part) int { return a.Segment - b.Segment })
	if !ascending || len(d.Parts) != 2 || sum(units) != 14 || d.Quantity != 14 || d.BuyerID != "x" {
		k.t.Errorf("got %+v", d)
	}
	k.balance(at, 16, 0, 14)
}

func sum(levels []int64) (total int64) {
	for _, level := range levels {
		total += level
	}
	return total
}

func count(levels []int64) (stocked int) {
	for _, level := range levels {
		if level > 0 {
			stocked++
		}
	}
	return stocked
}

// testIDs takes ids that a text or a number could be mistaken for.
func testIDs(_ *testing.T, k *kit) {
	k.create(100, 1)
	for _, id := range []string{"ü€😀", `'"\%_{}`, "a b/c?d#e", strings.Repeat("x", 128), "NULL", "{1,2}", "-0"} {
		for _, want := range []string{"accepted", "known"} {
			k.equal(id, told(k.deduct(0, stock.Fence{}, by(id, id, 1))), want)
		}
		if d := k.deduction(id); d.OrderID != id || d.BuyerID != id {
			k.t.Fatalf("id %q came back as %+v", id, d)
		}
	}
}

func testEndedContext(t *testing.T, k *kit) {
	k.create(10, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.store.Deduct(ctx, k.batch(0, stock.Fence{}, orders("a", 1)...)); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	k.segments(10)
}

// testBuyerOrders: what uses a buyer limit up is what holds units, whatever took it.
func testBuyerOrders(_ *testing.T, k *kit) {
	k.limit = 20
	k.create(100, 2)
	own := func(id string, quantity int64) stock.Order { return by("x", stock.OrderKey("x", id), quantity) }
	k.deduct(0, stock.Fence{}, by("x", "d", 1))
	k.deduct(0, stock.Fence{}, own("d", 1))
	k.deduct(0, stock.Fence{}, own("c", 1), by("y", "x", 1), by("z", "short", 99)) // one by one
	k.merge(nil, by("x", "m", 2), by("x", "gone", 1))
	for _, id := range []string{"r", "cancelled"} {
		o := by("x", id, 1)
		o.ReserveFor = time.Hour
		k.deduct(1, stock.Fence{}, o)
	}
	p := placing("basket", []stock.Line{{SKU: sku, Quantity: 2}}, []stock.Batch{{Layout: k.layout, Limit: k.limit, Segment: 1}})
	p.Order.BuyerID = "x"
	k.places(p)
	k.settled(at, cancel("cancelled"), stock.StatusCancelled, 1, 1)
	k.settled(at, returns("gone", "", 0), stock.StatusReturned, 1, 1)
	k.settled(at, returns("m", "part", 1), stock.StatusCommitted, 1, 1)
	k.settled(at, commit("r"), stock.StatusCommitted, 1, 0)
	k.buyerOrders("x", false, 9, "basket", "d", "m", "r")
	k.buyerOrders("x", false, 2, "basket", "d")
	k.buyerOrders("x", true, 9, stock.OrderKey("x", "c"), stock.OrderKey("x", "d"))
	k.buyerOrders("y", false, 9, "x")
	k.buyerOrders("y", true, 9)
	k.buyerOrders("nobody", false, 9)
}

// buyerOrders checks which orders use a buyer's limit up.
func (k *kit) buyerOrders(buyer string, own bool, limit int, want ...string) {
	k.t.Helper()
	got, err := k.store.BuyerOrders(k.t.Context(), sku, buyer, own, limit)
	if err != nil {
		k.t.Fatal(err)
	}
	k.equal("orders of "+buyer, stock.Column(got, func(d stock.Deduction) string { return d.OrderID }), want)
}

// counted checks with how many units a buyer is counted: with those that its deductions hold, which an audit compares.
func (k *kit) counted(buyer string, want int64) {
	k.t.Helper()
	units := int64(0)
	holding, err := k.store.BuyerOrders(k.t.Context(), sku, buyer, false, 100)
	for _, d := range holding {
		units += d.Quantity
	}
	audit, auditErr := k.store.Audit(k.t.Context(), sku, nil)
	if err != nil || auditErr != nil || units != want || !audit.OK() {
		k.t.Fatalf("%s is counted with %d, want %d; %v, %+v, %v", buyer, units, want, err, audit, auditErr)
	}
}

// testLimitAndWhatComesBack: what a buyer returns, cancels or lets expire may be bought again.
func testLimitAndWhatComesBack(t *testing.T, k *kit) {
	k.limit = 3
	k.create(40, 2)
	r := by("x", "a", 3)
	r.ReserveFor = time.Minute
	k.deduct(0, stock.Fence{}, r)
	buys := func(id string, units int64, want string) {
		t.Helper()
		k.equal(id, told(k.deduct(1, stock.Fence{}, by("x", id, units))), want)
	}
	buys("b", 1, "limited")
	k.settled(at, stock.SettleRequest{OrderID: "a", Quantity: 1}, stock.StatusCommitted, 1, 2)
	buys("c", 2, "accepted")
	buys("d", 1, "limited")
	k.settled(at, returns("a", "", 0), stock.StatusReturned, 1, 1)
	r = by("x", "e", 1)
	r.ReserveFor = time.Minute
	k.equal("merge", told(k.merge(nil, r)), "accepted")
	batch := k.batch(1, stock.Fence{}, by("x", "f", 1))
	batch.At = at.Add(time.Minute)
	result, err := k.store.Deduct(t.Context(), batch)
	if err != nil || !result.Stale || told(result) != "limited" {
		t.Errorf("before the sweep: %+v, %v", result, err)
	}
	batch.Orders = append(batch.Orders, by("y", "g", 90)) // the other way through the store
	if result, err = k.store.Deduct(t.Context(), batch); err != nil || !result.Stale {
		t.Errorf("before the sweep, not whole: %+v, %v", result, err)
	}
	merge := k.merging(nil, by("x", "h", 1))
	merge.At = batch.At
	merged, err := k.store.Merge(t.Context(), merge)
	if err != nil || merged.Expired != 1 || told(merged) != "accepted" {
		t.Errorf("merge: %+v, %v", merged, err)
	}
	if result, err = k.store.Deduct(t.Context(), batch); err != nil || result.Stale {
		t.Errorf("after it: %+v, %v", result, err)
	}
}
