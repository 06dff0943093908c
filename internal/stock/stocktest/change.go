package stocktest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
)

// revise changes an order as the service does, but looks only once.
func revise(ctx context.Context, store stock.Store, when time.Time, change stock.OrderChange) error {
	there, err := store.PlacedOrder(ctx, change.OrderID)
	if err != nil || there == nil {
		return errors.Join(err, stock.UnknownOrder(change.OrderID))
	}
	r, was := stock.Revision{Change: change.Sorted(), Order: *there, At: when}, make(map[string]int64)
	for _, line := range change.Lines {
		was[line.SKU] = 0
	}
	for _, d := range there.Lines {
		if was[d.SKU] = 0; d.Status.Live() {
			was[d.SKU] = d.Quantity
		}
	}
	skus := slices.Sorted(maps.Keys(was))
	views, err := store.Views(ctx, skus...)
	if err != nil {
		return err
	}
	for _, sku := range skus {
		terms := views[sku].Terms
		r.Lines = append(r.Lines, stock.RevisedLine{Was: was[sku], Levels: views[sku].Segments, Batch: stock.Batch{
			SKU: sku, Layout: views[sku].Layout, Segment: stock.AllSegments, Limit: terms.PerBuyerLimit, LimitGroup: terms.LimitGroup, At: when,
		}})
	}
	_, err = store.ChangeOrder(ctx, r)
	return err
}

// linesOf are so many units of SKUs: "2 a, 1 b".
func linesOf(text string) (lines []stock.Line) {
	for one := range strings.SplitSeq(text, ", ") {
		units, sku, _ := strings.Cut(one, " ")
		n, _ := strconv.ParseInt(units, 10, 64)
		lines = append(lines, stock.Line{SKU: sku, Quantity: n})
	}
	return lines
}

// revises changes an order: it shall have these lines, and another buyer if one is named. An audit follows.
func (k *kit) revises(id, ref, lines, buyer string, want stock.Code) {
	k.t.Helper()
	err := revise(k.t.Context(), k.store, at, stock.OrderChange{OrderID: id, Ref: ref, Lines: linesOf(lines), NewBuyer: buyer})
	if stock.CodeOf(err) != want {
		k.t.Fatalf("order %s, change %q to %s of %q: %v, want %q", id, ref, lines, buyer, err, want)
	}
	k.audit()
}

// testChangeCounts: under whatever limit an order was taken, and whether or not it is counted by now, a change counts its buyers for what they
// hold then. An audit proves that at once, when all earlier orders are counted, and when everything has come back.
func testChangeCounts(t *testing.T, k *kit) {
	testChangesUnder(t, k, stock.Terms{}, stock.Terms{PerBuyerLimit: 4})
}

// testGroupChangeCounts is the same with groups.
func testGroupChangeCounts(t *testing.T, k *kit) {
	testChangesUnder(t, k, stock.Terms{PerBuyerLimit: 4}, stock.Terms{PerBuyerLimit: 4, LimitGroup: group}, stock.Terms{PerBuyerLimit: 4, LimitGroup: "boots"})
}

func testChangesUnder(_ *testing.T, k *kit, terms ...stock.Terms) {
	skus := 0
	for _, before := range terms {
		for _, after := range terms {
			for _, counted := range []bool{false, true} {
				for name, c := range map[string]struct {
					units int64
					buyer string
				}{
					"grows": {3, ""}, "shrinks": {1, ""}, "is handed over": {2, "bob"}, "is handed over and grows": {4, "bob"},
					"is handed over and shrinks": {1, "bob"},
				} {
					skus++
					about := fmt.Sprintf("%+v, then %+v, counted %v: it %s", before, after, counted, name)
					k.changeCounts(about, fmt.Sprint("changed-", skus), before, after, counted, c.units, c.buyer)
				}
			}
		}
	}
	k.audit()
}

// changeCounts takes an order of two units of a new SKU on terms, changes it on others, and gives it back. Changes with which a buyer
// would hold more than the limit are refused.
func (k *kit) changeCounts(about, sku string, before, after stock.Terms, counted bool, units int64, buyer string) {
	k.t.Helper()
	k.makes(stock.NewSKU{SKU: sku, Stock: 20, Segments: 2, Terms: before})
	k.places(stock.Placement{
		Order: stock.MultiOrder{OrderID: sku, BuyerID: "ann", Lines: []stock.Line{{SKU: sku, Quantity: 2}}}, At: at,
		Lines: placedLines(stock.Batch{Layout: k.view(sku).Layout, Segment: stock.AllSegments, Limit: before.PerBuyerLimit, LimitGroup: before.LimitGroup}),
	})
	if before != after {
		m := reterm("limit", stock.TermsChange{PerBuyerLimit: stock.To(after.PerBuyerLimit), LimitGroup: stock.To(after.LimitGroup)})
		m.SKU = sku
		k.moves(m, true)
	}
	count := func() {
		k.t.Helper()
		for left := true; left; {
			var err error
			if left, err = k.store.CountEarlier(k.t.Context(), sku, 9); err != nil {
				k.t.Fatal(about, err)
			}
		}
		k.audited(sku)
	}
	if counted {
		count()
	}
	revises := func(ref string, units int64, buyer string, want stock.Code) {
		k.t.Helper()
		err := revise(k.t.Context(), k.store, at, stock.OrderChange{OrderID: sku, Ref: ref, Lines: []stock.Line{{SKU: sku, Quantity: units}}, NewBuyer: buyer})
		if stock.CodeOf(err) != want {
			k.t.Fatalf("%s: %s: %v, want %q", about, ref, err, want)
		}
		k.audited(sku)
	}
	if after.PerBuyerLimit > 0 {
		revises("too many", after.PerBuyerLimit+1, buyer, stock.CodeBuyerLimit)
		if _, err := k.store.Deduct(k.t.Context(), k.batchOf(sku, 1, by("eve", "eves", 3))); err != nil {
			k.t.Fatal(about, err)
		}
		revises("more than eve may have", 2, "eve", stock.CodeBuyerLimit)
		k.settleOf(sku, at, returns("eves", "", 0))
	}
	revises("change", units, buyer, "")
	count()
	k.equal(about, k.available(sku), 20-units)
	request := returns(sku, "", 0)
	request.InOrder, request.Revision = true, 1
	k.equal(about, k.settleOf(sku, at, request)[0].Err, nil)
	k.audited(sku)
	k.equal(about, k.available(sku), 20)
}

// testGroupOrderChanges: a limit over several SKUs counts the difference that a change makes, and of a hand-over all units for both buyers.
func testGroupOrderChanges(t *testing.T, k *kit) {
	k.groupOf(3, "a", "b", "c")
	k.makes(stock.NewSKU{SKU: "own", Stock: 9, Segments: 2, Terms: stock.Terms{PerBuyerLimit: 2}})
	k.makes(stock.NewSKU{SKU: "free", Stock: 9, Segments: 2})
	for _, p := range []stock.Placement{
		k.basketOf("x", "1", stock.AllSegments, time.Minute, "a", "free"), k.basketOf("x", "2", 0, 0, "b"), k.basketOf("y", "3", 1, time.Minute, "b", "own"),
		k.basketOf("z", "4", 0, time.Minute, "a", "b", "c"),
	} {
		k.places(p)
	}
	k.revises("1", "grows to the limit", "2 a, 1 free", "", "")
	k.revises("1", "over it", "3 a, 1 free", "", stock.CodeBuyerLimit)
	k.revises("1", "over it with another line", "2 a, 1 c, 1 free", "", stock.CodeBuyerLimit)
	k.revises("1", "swaps", "1 b, 1 c, 3 free", "", "")
	k.holds("x", "b 1", "c 1", "b 2")
	k.revises("2", "of two lines, one too many", "1 a, 1 c", "", stock.CodeBuyerLimit)
	k.revises("2", "a committed one swaps", "1 a", "", "")
	k.revises("2", "handed over to a buyer who has too many", "1 a", "z", stock.CodeBuyerLimit)
	k.revises("1", "handed over with all that is allowed", "2 c, 1 own", "y", "")
	k.holds("x", "a 2")
	k.holds("y", "c 1", "b 3")
	k.revises("3", "own limit", "1 b, 2 own", "", stock.CodeBuyerLimit)
	k.revises("3", "both limits", "2 b, 2 own", "", stock.CodeBuyerLimit)
	k.revises("3", "handed over, with a new line", "1 b, 1 own, 1 a", "x", "")
	k.holds("x", "a 2", "a 3", "b 3")
	k.holds("y", "c 1")
	k.revises("4", "handed to y, who may have one of them", "1 a", "y", "")
	k.holds("z")
	k.holds("y", "c 1", "a 4")
	var e *stock.Error
	err := revise(t.Context(), k.store, at, stock.OrderChange{OrderID: "1", Ref: "lists", Lines: linesOf("2 a, 2 b, 1 own, 20 free")})
	if !errors.As(err, &e) || e.LimitGroup != group || e.LimitOf != "y" || e.CountedAt() != groupCount || len(e.Lines) != 2 {
		t.Errorf("%+v", err)
	}
	late := at.Add(time.Hour)
	err = revise(t.Context(), k.store, late, stock.OrderChange{OrderID: "2", Ref: "a reservation of y has expired", Lines: linesOf("3 c"), NewBuyer: "y"})
	if !errors.Is(err, stock.ErrStale) {
		t.Errorf("%v, want it to be told of expired reservations", err)
	}
	if _, err := k.store.ExpireFree(t.Context(), late, "a", "b", "c", "own", "free"); err != nil {
		t.Fatal(err)
	}
	k.revises("2", "they are back", "3 c", "y", "")
	k.holds("y", "c 2")
	k.holds("x")
}
