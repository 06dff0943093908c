package stocktest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"inventory/internal/stock"
)

// A way is one in which an order is taken: each may be another statement of a store. All of them keep the same promises.
type way struct {
	name      string
	anywhere  bool // from all segments, whichever the batch names
	placed    bool // as an order of several SKUs
	takeFirst func(k *kit, ctx context.Context, b stock.Batch) (stock.Outcome, error)
}

// ways take the first order of a batch.
func ways() []way {
	batch := func(others ...stock.Order) func(*kit, context.Context, stock.Batch) (stock.Outcome, error) {
		return func(k *kit, ctx context.Context, b stock.Batch) (stock.Outcome, error) {
			b.Orders = append(slices.Clone(b.Orders), others...)
			result, err := k.store.Deduct(ctx, b)
			return first(result), err
		}
	}
	return []way{
		{"batch", false, false, batch()},
		{"batch that does not fit", false, false, batch(by("large", "large", 100))},
		{"batch with a known order", false, false, batch(by("known", knownOrder, 1))},
		{"merge", true, false, func(k *kit, ctx context.Context, b stock.Batch) (stock.Outcome, error) {
			b.Fences = map[int]stock.Fence{b.Segment: b.Fence}
			b.Segment, b.Fence = 0, stock.Fence{}
			result, err := k.store.Merge(ctx, b)
			return first(result), err
		}},
		{"order", false, true, func(k *kit, ctx context.Context, b stock.Batch) (stock.Outcome, error) { return k.asOrder(ctx, b) }},
		{"order from all segments", true, true, func(k *kit, ctx context.Context, b stock.Batch) (stock.Outcome, error) {
			b.Segment = stock.AllSegments
			return k.asOrder(ctx, b)
		}},
	}
}

// knownOrder is an id that a batch of the ways finds taken.
const knownOrder = "known"

// first is what became of the first order; zero if there is no outcome.
func first(result stock.BatchResult) stock.Outcome {
	return append(result.Outcomes, stock.Outcome{})[0]
}

// asOrder takes the first order of a batch as an order of several SKUs, with a line. Its deadline is that of the context.
func (k *kit) asOrder(ctx context.Context, b stock.Batch) (stock.Outcome, error) {
	o := b.Orders[0]
	line := stock.Batch{Layout: b.Layout, Limit: b.Limit, Segment: b.Segment, Fence: b.Fence, SaleWindow: b.SaleWindow}
	p := placing(o.OrderID, []stock.Line{{SKU: b.SKU, Quantity: o.Quantity}}, []stock.Batch{line})
	p.At, p.Order.BuyerID, p.Order.ReserveFor = b.At, o.BuyerID, o.ReserveFor
	if !b.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, b.Deadline)
		defer cancel()
	}
	lines, created, err := k.store.Order(ctx, p)
	refused := map[stock.Code]stock.OutcomeKind{
		stock.CodeSaleClosed: stock.Closed, stock.CodeBuyerLimit: stock.Limited,
		stock.CodeInsufficientStock: stock.Short, stock.CodeSoldOut: stock.Short,
	}[stock.CodeOf(err)]
	switch {
	case created:
		return stock.Outcome{Kind: stock.Accepted, Deduction: lines[0]}, nil
	case err == nil:
		return stock.Outcome{Kind: stock.Known, Deduction: lines[0]}, nil
	case refused != 0:
		return stock.Outcome{Kind: refused}, nil
	default:
		return stock.Outcome{}, err
	}
}

// createKnown creates the SKU, and takes the order that batches of the ways find known.
func (k *kit) createKnown(units int64, segments int) {
	k.t.Helper()
	k.create(units, segments)
	k.deduct(0, stock.Fence{}, by("known", knownOrder, 1))
}

// takesFirst takes the first order of a batch one way, and checks what became of it.
func (k *kit) takesFirst(w way, b stock.Batch, want stock.OutcomeKind) stock.Deduction {
	k.t.Helper()
	got, err := w.takeFirst(k, k.t.Context(), b)
	if err != nil || got.Kind != want {
		k.t.Fatalf("%s of %+v: got %+v, %v, want %d", w.name, b, got, err, want)
	}
	return got.Deduction
}

// withLimit runs a case with a buyer limit that no buyer of it reaches, which is other statements of a store.
func withLimit(run func(*testing.T, *kit)) func(*testing.T, *kit) {
	return func(t *testing.T, k *kit) {
		k.limit = 100
		run(t, k)
	}
}

// testSaleWindow: a sale has its first instant, and not its last.
func testSaleWindow(_ *testing.T, k *kit) {
	k.createKnown(90, 3)
	window := stock.SaleWindow{StartsAt: at, EndsAt: at.Add(time.Second)}
	for _, way := range ways() {
		for when, want := range map[time.Time]stock.OutcomeKind{
			window.StartsAt.Add(-time.Microsecond): stock.Closed,
			window.StartsAt:                        stock.Accepted,
			window.EndsAt.Add(-time.Microsecond):   stock.Accepted,
			window.EndsAt:                          stock.Closed,
		} {
			b := k.batch(1, stock.Fence{}, by("b", fmt.Sprint(way.name, when), 1))
			b.At, b.SaleWindow = when, window
			k.takesFirst(way, b, want)
		}
	}
}

// testVersions: what takes units raises a version.
func testVersions(_ *testing.T, k *kit) {
	k.createKnown(60, 3)
	for _, way := range ways() {
		before, _, _ := k.soldOut(0)
		young := k.age()
		k.takesFirst(way, k.batch(0, stock.Fence{}, by("b", way.name, 1)), stock.Accepted)
		after, _, _ := k.soldOut(0)
		if old := k.age(); !young.Before(old) || old != k.view(sku).Age() {
			k.t.Errorf("%s: age %+v, then %+v; a look says %+v", way.name, young, old, k.view(sku).Age())
		}
		grown := false
		for i := range after {
			if after[i] < before[i] {
				k.t.Errorf("%s: versions fell from %v to %v", way.name, before, after)
			}
			grown = grown || after[i] > before[i]
		}
		if !grown {
			k.t.Errorf("%s: versions stayed %v", way.name, after)
		}
	}
}

// testLimit: a buyer gets as much as the limit, a retry counts for nothing, and what one is refused others may buy.
func testLimit(_ *testing.T, k *kit) {
	k.limit = 3
	k.createKnown(60, 2)
	for n, way := range ways() {
		buyer := fmt.Sprint("buyer ", n)
		for id, units := range []int64{2, 2, 1, 1} {
			b := k.batch(n%2, stock.Fence{}, by(buyer, fmt.Sprint(buyer, id), units))
			want := []stock.OutcomeKind{stock.Accepted, stock.Limited}[id%2]
			k.takesFirst(way, b, want)
			if want == stock.Accepted {
				k.takesFirst(way, b, stock.Known)
			}
		}
		k.counted(buyer, 3)
		k.takesFirst(way, k.batch(n%2, stock.Fence{}, by(buyer+"'s friend", buyer+"'s friend", 3)), stock.Accepted)
	}
	k.balance(at, 60-1-6*len64(ways()), 0, 1+6*len64(ways()))
}

// age reads the age of the SKU that create made, beside that of a SKU that does not exist.
func (k *kit) age() stock.Age {
	k.t.Helper()
	ages, err := k.store.Ages(k.t.Context(), "none", sku)
	if _, there := ages[sku]; err != nil || len(ages) != 1 || !there {
		k.t.Fatalf("ages: %+v, %v", ages, err)
	}
	return ages[sku]
}

func len64[T any](list []T) int64 { return int64(len(list)) }

// testLayouts: an order for another layout than the SKU's is refused.
func testLayouts(_ *testing.T, k *kit) {
	k.createKnown(10, 2)
	k.refusesLayout(k.layout-1, 1)
	k.refusesLayout(k.layout+1, 1)
}

// refusesLayout tries every way with a layout.
func (k *kit) refusesLayout(layout int64, segment int) {
	k.t.Helper()
	for _, way := range ways() {
		b := k.batch(segment, stock.Fence{}, by("b", "late", 1))
		b.Layout = layout
		if _, err := way.takeFirst(k, k.t.Context(), b); !errors.Is(err, stock.ErrLayout) {
			k.t.Fatalf("%s, layout %d: got %v, want ErrLayout", way.name, layout, err)
		}
	}
	k.absent("late")
}

// checkFence tries a row that has seen a fence: lower ones and another owner's change nothing, and its own passes.
func (k *kit) checkFence(way way, seen stock.Fence) {
	k.t.Helper()
	lower := stock.Fence{Token: seen.Token - 1, Owner: seen.Owner}
	for _, stale := range []stock.Fence{lower, {Token: lower.Token, Owner: "other"}, {Token: seen.Token, Owner: "other"}} {
		before := k.available(sku)
		_, err := way.takeFirst(k, k.t.Context(), k.batch(0, stale, by("stale", "stale", 1)))
		k.fenced(err, map[int]int64{0: seen.Token})
		k.equal("available after a stale write", k.available(sku), before)
		k.absent("stale")
	}
	k.passes(way, seen)
}

// passes takes a unit.
func (k *kit) passes(way way, fence stock.Fence) {
	k.t.Helper()
	k.taken++
	id := fmt.Sprint("order ", k.taken)
	k.takesFirst(way, k.batch(0, fence, by(id, id, 1)), stock.Accepted)
}

// testFences: whichever way a write goes, it is held to the fence of its row, and leaves its own fence there. Without a lock it
// leaves the row's.
func testFences(_ *testing.T, k *kit) {
	k.createKnown(60, 1)
	for n, way := range ways() {
		if way.anywhere && way.placed {
			continue // it has no lock
		}
		token := int64(10*n + 10)
		first, second := stock.Fence{Token: token, Owner: "x"}, stock.Fence{Token: token + 1, Owner: "y"}
		k.passes(way, first)
		k.checkFence(way, first)
		k.passes(way, stock.Fence{})
		k.checkFence(way, first)
		k.passes(way, second)
		k.checkFence(way, second)
	}
}

// testFencesStay: what gives units back, or moves them, has no lock and leaves the fence of the row. It raises a version.
func testFencesStay(t *testing.T, k *kit) {
	k.create(40, 1)
	seen := stock.Fence{Token: 10, Owner: "x"}
	k.deduct(0, seen, reserved("cancelled", 1, time.Minute), reserved("in part", 2, time.Minute), reserved("expired", 1, time.Minute))
	for _, write := range []func(){
		func() { k.settled(at, cancel("cancelled"), stock.StatusCancelled, 1, 1) },
		func() {
			k.settled(at, stock.SettleRequest{OrderID: "in part", Quantity: 1}, stock.StatusCommitted, 1, 1)
		},
		func() { k.expire(at.Add(time.Hour), 1) },
		func() { k.moved(restock(sku, "restock", 1)) },
		func() { k.moved(adjust("adjust", -1)) },
		func() { k.moved(reterm("terms", stock.TermsChange{MaxQuantity: stock.To[int64](9)})) },
	} {
		before, _, _ := k.soldOut(0)
		write()
		if after, _, _ := k.soldOut(0); after[0] <= before[0] {
			t.Errorf("versions: %v, then %v", before, after)
		}
		k.checkFence(ways()[0], seen)
	}
}

// testStaleMerge: a merge is refused by any row, and then leaves no fence at the others. One that is written leaves all its fences.
func testStaleMerge(_ *testing.T, k *kit) {
	k.create(10, 2)
	k.deduct(1, stock.Fence{Token: 10, Owner: "x"}, order("a", 1))
	_, err := k.store.Merge(k.t.Context(), k.merging(map[int]stock.Fence{0: {Token: 20, Owner: "y"}, 1: {Token: 9, Owner: "y"}}, order("b", 7)))
	k.fenced(err, map[int]int64{1: 10})
	k.segments(5, 4)
	k.absent("b")
	k.deduct(0, stock.Fence{Token: 1, Owner: "z"}, order("c", 1))
	k.merge(map[int]stock.Fence{0: {Token: 30, Owner: "y"}, 1: {Token: 31, Owner: "y"}}, order("d", 8))
	for segment, stale := range []int64{29, 30} {
		_, err := k.store.Deduct(k.t.Context(), k.batch(segment, stock.Fence{Token: stale, Owner: "z"}, order("late", 1)))
		k.fenced(err, map[int]int64{segment: stale + 1})
	}
	_, err = k.store.Merge(k.t.Context(), k.merging(map[int]stock.Fence{0: {Token: 30, Owner: "z"}, 1: {Token: 1, Owner: "z"}}, order("late", 1)))
	k.fenced(err, map[int]int64{0: 30, 1: 31})
}

// notKept are the fields of an order that a store does not keep: they are about who asks, and not about what is asked.
var notKept = map[string]bool{"Own": true, "CallerMax": true, "InOrder": true}

// filledOrder has a value of its own in every field that a store keeps.
func filledOrder(t *testing.T, id string) stock.Order {
	t.Helper()
	o := stock.Order{OrderID: id, Quantity: 3, ReserveFor: time.Minute}
	fields := reflect.ValueOf(&o).Elem()
	for i := range fields.NumField() {
		name, field := fields.Type().Field(i).Name, fields.Field(i)
		switch {
		case notKept[name] || !field.IsZero():
		case field.Kind() == reflect.String:
			field.SetString("a " + name)
		default:
			t.Fatalf("give field %s of an order a value here", name)
		}
	}
	return o
}

// testFieldsAreKept holds every way in which an order is written, and every way in which it is read, to all of its fields.
func testFieldsAreKept(t *testing.T, k *kit) {
	k.createKnown(90, 2)
	for _, way := range ways() {
		o := filledOrder(t, way.name)
		want := stock.AcceptedOutcome(sku, o, at).Deduction
		batch := k.batch(0, stock.Fence{}, o)
		k.sameFields(way.name, k.takesFirst(way, batch, stock.Accepted), want)
		k.sameFields(way.name+", asked for again", k.takesFirst(way, batch, stock.Known), want)
		one, err := k.store.Deduction(t.Context(), sku, way.name)
		if err != nil {
			t.Fatal(err)
		}
		k.equal("in an order", one.InOrder, way.placed)
		one.InOrder = false
		k.sameFields(way.name+", read", one, want)
		many, err := k.store.Deductions(t.Context(), sku, []string{way.name})
		if err != nil {
			t.Fatal(err)
		}
		k.sameFields(way.name+", read among others", many[way.name], want)
		later := at.Add(time.Second)
		want.Status, want.CommittedAt = stock.StatusCommitted, later
		k.sameFields(way.name+", committed", k.settle(later, stock.SettleRequest{OrderID: way.name, InOrder: way.placed})[0].Deduction, want)
	}
}

// sameFields names each field of a deduction that is not as it should be. Parts aside, which not every read fills.
func (k *kit) sameFields(how string, got, want stock.Deduction) {
	k.t.Helper()
	got.Parts = nil
	k.sameFieldsOf(how, "", reflect.ValueOf(got), reflect.ValueOf(want))
}

func (k *kit) sameFieldsOf(how, inside string, got, want reflect.Value) {
	k.t.Helper()
	for i := range want.NumField() {
		field := want.Type().Field(i)
		if field.Anonymous {
			k.sameFieldsOf(how, field.Name+".", got.Field(i), want.Field(i))
			continue
		}
		if g, w := fmt.Sprint(got.Field(i)), fmt.Sprint(want.Field(i)); g != w {
			k.t.Errorf("%s: field %s%s of the deduction: got %s, want %s", how, inside, field.Name, g, w)
		}
	}
}
