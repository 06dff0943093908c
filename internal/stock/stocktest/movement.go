package stocktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"inventory/internal/stock"
)

func restock(sku, ref string, units int64) stock.Movement {
	return stock.Movement{SKU: sku, Ref: ref, Kind: stock.Restocked, Quantity: units, At: at}
}

func adjust(ref string, units int64) stock.Movement {
	return stock.Movement{SKU: sku, Ref: ref, Kind: stock.Adjusted, Quantity: units, Reason: "counted", At: at}
}

func resegment(ref string, segments int) stock.Movement {
	return stock.Movement{SKU: sku, Ref: ref, Kind: stock.Resegmented, Segments: segments, At: at}
}

func reterm(ref string, change stock.TermsChange) stock.Movement {
	return stock.Movement{SKU: sku, Ref: ref, Kind: stock.Retermed, Terms: change, At: at}
}

// moves makes a movement, and checks whether it is new.
func (k *kit) moves(m stock.Movement, isNew bool) {
	k.t.Helper()
	if created, err := k.store.Move(k.t.Context(), m); err != nil || created != isNew {
		k.t.Fatalf("%+v: created %v, %v, want %v", m, created, err, isNew)
	}
	if isNew && m.NewLayout() {
		k.layout++
	}
}

// moved makes a movement that is new.
func (k *kit) moved(m stock.Movement) {
	k.t.Helper()
	k.moves(m, true)
}

// refusesMove checks that a movement is refused.
func (k *kit) refusesMove(want stock.Code, all ...stock.Movement) {
	k.t.Helper()
	for _, m := range all {
		_, err := k.store.Move(k.t.Context(), m)
		k.code(err, want)
	}
}

// testMovements makes one movement of each kind, and again: each happens once for its ref, changes the versions, and is in the ledger.
func testMovements(t *testing.T, k *kit) {
	if _, err := k.store.Movements(t.Context(), sku, stock.Position{}, 9); stock.CodeOf(err) != stock.CodeUnknownSKU {
		t.Errorf("of no SKU: %v", err)
	}
	if _, err := k.store.NewestMovements(t.Context(), sku, stock.Position{}, 9); stock.CodeOf(err) != stock.CodeUnknownSKU {
		t.Errorf("the newest of no SKU: %v", err)
	}
	k.create(0, 3)
	delivery, early := restock(sku, "c", 8), restock(sku, "b", 1)
	delivery.Reason, early.At = "van", at.Add(-time.Hour)
	all := []stock.Movement{
		delivery, adjust("z", 5), adjust("y", -7), resegment("a", 2), reterm("t", stock.TermsChange{MaxQuantity: stock.To[int64](5)}), early,
	}
	for i, m := range all {
		before, _, _ := k.soldOut(0)
		k.moved(m)
		if after, _, _ := k.soldOut(0); slices.Equal(after, before) {
			t.Errorf("%+v left the versions at %v", m, after)
		}
		k.moves(m, false)
		unknown, other := m, m
		unknown.SKU, other.Reason = "nope", "another"
		k.refusesMove(stock.CodeUnknownSKU, unknown)
		k.refusesMove(stock.CodeRefReused, other)
		for j, other := range all {
			if other.Ref = m.Ref; j != i {
				k.refusesMove(stock.CodeRefReused, other)
			}
		}
		all[i].At = at.Add(time.Duration(i) * time.Microsecond) // one clock for all: times grow in the order of the commits
	}
	k.segments(4, 3)
	pages := 0
	for after, rest := (stock.Position{}), all; len(rest) > 0; pages++ {
		got, err := k.store.Movements(t.Context(), sku, after, 4)
		if err != nil {
			t.Fatal(err)
		}
		page := rest[:min(4, len(rest))]
		k.equal(fmt.Sprintf("behind %+v", after), got, page)
		after, rest = stock.Position{At: got[len(got)-1].At, Ref: got[len(got)-1].Ref}, rest[len(page):]
	}
	slices.Reverse(all)
	for before, rest := (stock.Position{}), all; len(rest) > 0; {
		got, err := k.store.NewestMovements(t.Context(), sku, before, 4)
		if err != nil {
			t.Fatal(err)
		}
		page := rest[:min(4, len(rest))]
		k.equal(fmt.Sprintf("before %+v", before), got, page)
		before, rest = stock.Position{At: got[len(got)-1].At, Ref: got[len(got)-1].Ref}, rest[len(page):]
	}
	slices.Reverse(all)
	last := all[len(all)-1]
	if got, err := k.store.Movements(t.Context(), sku, stock.Position{At: last.At, Ref: last.Ref}, 9); err != nil || len(got) != 0 || pages != 2 {
		t.Fatalf("behind the last: %+v, %v; %d pages", got, err, pages)
	}
}

// testAdjust spreads what comes over the segments, and takes away no more than is there. Units of expired reservations are there.
func testAdjust(t *testing.T, k *kit) {
	k.create(0, 3)
	k.moved(restock(sku, "delivery", 8))
	k.segments(3, 3, 2)
	k.moved(adjust("up", 7))
	k.segments(6, 5, 4)
	short := func(units, available int64) {
		t.Helper()
		_, err := k.store.Move(t.Context(), adjust("too many", units))
		var refusal *stock.Error
		if k.code(err, stock.CodeInsufficientStock); !errors.As(err, &refusal) || refusal.Available != available {
			t.Fatalf("got %+v, want %d available", err, available)
		}
	}
	short(-16, 15)
	k.moved(adjust("down", -7))
	k.merge(nil, reserved("a", 6, time.Minute), reserved("b", 2, time.Hour))
	short(-1, 0)
	minute := adjust("back", -4)
	minute.At = at.Add(time.Minute)
	k.moved(minute)
	k.balance(minute.At, 2, 2, 0)
	k.moved(adjust("all", -2))
	short(-1, 0)
	k.equal("stock", k.status(sku, at).Stock, 2)
}

// testAdjustIfStock: of many who all want the stock to be 120, one changes it.
func testAdjustIfStock(t *testing.T, k *kit) {
	k.create(100, 3)
	k.deduct(0, stock.Fence{}, order("sold", 5))
	const clerks = 8
	refs := make(chan string, clerks)
	var calls []func(context.Context) error
	move := func(ref string) stock.Movement {
		m := adjust(ref, 20)
		m.IfStock = new(int64(100))
		return m
	}
	for n := range clerks {
		ref := fmt.Sprint("clerk ", n)
		calls = append(calls, func(ctx context.Context) error {
			created, err := k.store.Move(ctx, move(ref))
			var changed *stock.Error
			if created {
				refs <- ref
			} else if !errors.As(err, &changed) || changed.Code != stock.CodeStockChanged || changed.Stock != 120 {
				return fmt.Errorf("%s: got %w, want that the stock is 120", ref, err)
			}
			return nil
		})
	}
	k.together(calls...)
	if len(refs) != 1 {
		t.Fatalf("%d changed it", len(refs))
	}
	k.equal("available", k.available(sku), 115)
	k.moves(move(<-refs), false)
}

// testMovementsBesideWriters reads page after page while others write: who goes on from what was read misses none.
func testMovementsBesideWriters(t *testing.T, k *kit) {
	const writers, each = 4, 20
	k.create(1000, 3)
	var calls []func(context.Context) error
	for writer := range writers {
		calls = append(calls, func(ctx context.Context) error {
			for n := range each {
				m := adjust(fmt.Sprintf("%d-%d", writer, n), int64(1-2*(n%2)))
				m.At = at.Add(time.Duration((n*7+writer*3)%11) * time.Microsecond) // no two clocks agree
				if _, err := k.store.Move(ctx, m); err != nil {
					return err
				}
			}
			return nil
		})
	}
	seen, after := make(map[string]bool), stock.Position{}
	k.beside(func() {
		for {
			page, err := k.store.Movements(t.Context(), sku, after, 7)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range page {
				if seen[m.Ref] || !m.At.After(after.At) {
					t.Fatalf("%s at %s after %s", m.Ref, m.At, after.At)
				}
				seen[m.Ref], after = true, stock.Position{At: m.At, Ref: m.Ref}
			}
			if len(page) == 0 {
				return
			}
		}
	}, calls...)
	k.equal("movements seen", len(seen), writers*each)
}

func testResegment(t *testing.T, k *kit) {
	k.create(10, 2)
	k.deduct(0, stock.Fence{}, order("a", 1))
	k.deduct(1, stock.Fence{}, reserved("b", 2, time.Minute))
	for _, segments := range []int{4, 1, 3, 3} {
		stale := k.layout
		before, _, _ := k.soldOut(0)
		k.moved(resegment(fmt.Sprint("to ", segments, " at ", stale), segments))
		k.segments(stock.Spread(7, segments)...)
		if after, _, _ := k.soldOut(0); slices.Min(after) <= slices.Max(before) {
			t.Errorf("versions: %v, then %v", before, after)
		}
		for _, layout := range []int64{stale, k.layout + 1} {
			k.refusesLayout(layout, segments-1)
		}
		status := k.status(sku, at)
		k.equal("layout and stock", []int64{status.Layout, status.Stock}, []int64{k.layout, 10})
	}
	k.moves(resegment("to 1 at 2", 1), false)
	k.segments(3, 2, 2)
	// Units of a segment that is gone go to another one.
	k.moved(resegment("to one", 1))
	k.settled(at, cancel("b"), stock.StatusCancelled, 2, 2)
	k.segments(9)
}

// testResegmentKeepsFences: a row that stays knows its token, and one that is new knows the highest.
func testResegmentKeepsFences(t *testing.T, k *kit) {
	k.create(10, 2)
	k.deduct(0, stock.Fence{Token: 7, Owner: "x"}, order("a", 1))
	k.deduct(1, stock.Fence{Token: 9, Owner: "x"}, order("b", 1))
	k.moved(resegment("r", 3))
	for segment, token := range []int64{7, 9, 9} {
		_, err := k.store.Deduct(t.Context(), k.batch(segment, stock.Fence{Token: token - 1, Owner: "x"}, order("c", 1)))
		k.fenced(err, map[int]int64{segment: token})
	}
	k.deduct(0, stock.Fence{Token: 7, Owner: "x"}, order("d", 1))
	k.deduct(1, stock.Fence{Token: 9, Owner: "x"}, order("e", 1))
	k.deduct(2, stock.Fence{Token: 10, Owner: "x"}, order("f", 1))
}

// testResegmentTakesBackFirst: what has expired is spread along with the rest, wherever it came from.
func testResegmentTakesBackFirst(_ *testing.T, k *kit) {
	k.create(12, 4)
	k.deduct(3, stock.Fence{}, reserved("a", 3, time.Minute), order("late", 9))
	k.deduct(2, stock.Fence{}, reserved("b", 2, time.Hour))
	m := resegment("r", 2)
	m.At = at.Add(time.Minute)
	k.moved(m)
	k.segments(5, 5)
	k.balance(m.At.Add(time.Hour), 10, 2, 0)
	k.expire(m.At.Add(time.Hour), 1)
	k.segments(7, 5)
}

// testTerms changes what a SKU is called and on which terms it is sold.
func testTerms(_ *testing.T, k *kit) {
	k.create(10, 3)
	k.deduct(1, stock.Fence{}, order("a", 1), reserved("b", 1, time.Hour))
	starts, ends := at.Add(-time.Hour), at.Add(time.Hour+time.Microsecond)
	before, _, _ := k.soldOut(0)
	want := stock.Profile{Name: "Größe M", Terms: stock.Terms{
		SaleStartsAt: starts, SaleEndsAt: ends, PerBuyerLimit: 3, MaxQuantity: 2, MaxReserveFor: 90 * time.Second,
	}}
	k.moved(reterm("all", stock.TermsChange{
		Name: stock.To("Größe M"), SaleStartsAt: stock.To(starts), SaleEndsAt: stock.To(ends), PerBuyerLimit: stock.To[int64](3),
		MaxQuantity: stock.To[int64](2), MaxReserveFor: stock.To(stock.Period(90 * time.Second)),
	}))
	k.isProfile(want)
	k.segments(3, 3, 2)
	k.refusesLayout(k.layout-1, 0) // who knows the terms of before
	if after, _, _ := k.soldOut(0); slices.Min(after) <= slices.Max(before) {
		k.t.Errorf("versions: %v, then %v", before, after)
	}
	want.SaleEndsAt, want.PerBuyerLimit, want.MaxQuantity = time.Time{}, 0, 5
	k.moved(reterm("some", stock.TermsChange{
		SaleEndsAt: stock.To(time.Time{}), PerBuyerLimit: stock.To[int64](0), MaxQuantity: stock.To[int64](5),
	}))
	k.isProfile(want)
	// Together with what is there it has to make sense.
	k.refusesMove(stock.CodeInvalidRequest, reterm("ends first", stock.TermsChange{SaleEndsAt: stock.To(starts)}))
	k.isProfile(want)
	k.balance(at, 8, 1, 1)
}

// isProfile holds every reader to what a SKU is called and its terms.
func (k *kit) isProfile(want stock.Profile) {
	k.t.Helper()
	status, view := k.status(sku, at), k.view(sku)
	if got := (stock.Profile{Name: status.Name, Terms: status.Terms}); got != want || view.Terms != want.Terms {
		k.t.Fatalf("got %+v and %+v, want %+v", got, view.Terms, want)
	}
	k.equal("layouts", []int64{status.Layout, view.Layout}, []int64{k.layout, k.layout})
}

// testLimitChanges: buyers are counted from the instant on at which there is a limit. They keep the units that they hold.
func testLimitChanges(t *testing.T, k *kit) {
	limit := func(ref string, to int64) {
		k.moved(reterm(ref, stock.TermsChange{PerBuyerLimit: stock.To(to)}))
		k.limit = to
		k.countsAll(2)
		k.audit()
	}
	buys := func(want string, orders ...stock.Order) {
		t.Helper()
		k.equal(fmt.Sprint("bought: ", orders), told(k.deduct(0, stock.Fence{}, orders...)), want)
	}
	k.create(100, 2)
	k.deduct(0, stock.Fence{}, by("x", "a", 4), order("nobody's", 9), by("y", "b", 1))
	k.deduct(1, stock.Fence{}, by("y", "c", 3))
	k.settled(at, returns("c", "", 0), stock.StatusReturned, 3, 3)
	k.merge(nil, by("z", "d", 60))
	limit("comes", 3)
	k.buyerOrders("x", false, 9, "a") // from before
	buys("limited, accepted", by("x", "e", 1), by("y", "f", 2))
	limit("rises", 5)
	buys("accepted, limited", by("x", "g", 1), by("y", "h", 3))
	buys("accepted", by("y", "i", 2))
	k.equal("merge", told(k.merge(nil, by("x", "j", 1))), "limited")
	limit("falls", 2)
	k.settled(at, returns("a", "", 0), stock.StatusReturned, 4, 4)
	buys("accepted, limited", by("x", "k", 1), by("y", "l", 1))
	k.equal("merge", told(k.merge(nil, by("x", "m", 1))), "limited")
	limit("goes", 0)
	buys("accepted", by("x", "n", 2))
	k.settled(at, returns("g", "", 0), stock.StatusReturned, 1, 1)
	k.settled(at, returns("n", "", 0), stock.StatusReturned, 2, 2)
	limit("comes again", 2)
	k.buyerOrders("x", false, 9, "k")
	buys("limited", by("x", "o", 2))
	buys("accepted", by("x", "p", 1))
	k.settled(at, returns("d", "", 0), stock.StatusReturned, 60, 60)
	k.settled(at, returns("nobody's", "", 0), stock.StatusReturned, 9, 9)
}
