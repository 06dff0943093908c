package stocktest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/stock"
)

func reterm(ref string, change stock.TermsChange) stock.Movement {
	return stock.Movement{SKU: sku, Ref: ref, Kind: stock.Retermed, Terms: change, At: at}
}

// testTerms changes what a SKU is called and on which terms it is sold.
func testTerms(t *testing.T, k *kit) {
	k.create(10, 3)
	k.deduct(1, stock.Fence{Token: 7, Owner: "x"}, order("a", 1), reserved("b", 1, time.Hour))
	starts, ends := at.Add(-time.Hour), at.Add(time.Hour+time.Microsecond)
	all := reterm("all", stock.TermsChange{
		Name: stock.To("Größe M"), SaleStartsAt: stock.To(starts), SaleEndsAt: stock.To(ends), PerBuyerLimit: stock.To[int64](3),
		MaxQuantity: stock.To[int64](2), MaxReserveFor: stock.To(stock.Period(90 * time.Second)),
	})
	want := stock.Profile{Name: "Größe M", Terms: stock.Terms{
		SaleStartsAt: starts, SaleEndsAt: ends, PerBuyerLimit: 3, MaxQuantity: 2, MaxReserveFor: 90 * time.Second,
	}}
	before, _, _ := k.soldOut(0)
	k.moved(all)
	k.isProfile(want)
	k.segments(4, 1, 3)
	k.balance(at, 8, 1, 1)
	if after, _, _ := k.soldOut(0); min(after[0], after[2]) <= max(before[0], before[2]) {
		t.Errorf("versions: %v, then %v", before, after)
	}
	some := reterm("some", stock.TermsChange{SaleEndsAt: stock.To(time.Time{}), PerBuyerLimit: stock.To[int64](0), MaxQuantity: stock.To[int64](5)})
	want.SaleEndsAt, want.PerBuyerLimit, want.MaxQuantity = time.Time{}, 0, 5
	k.moved(some)
	k.isProfile(want)
	for _, again := range []stock.Movement{all, some} {
		if created, err := k.store.Move(t.Context(), again); created || err != nil {
			t.Errorf("again: %v, %v", created, err)
		}
	}
	k.isProfile(want)
	other := some
	other.Terms.MaxQuantity.To = 6
	for _, reused := range []stock.Movement{other, reterm("all", some.Terms), restock(sku, "all", 5), resegment("some", 2)} {
		_, err := k.store.Move(t.Context(), reused)
		k.code(err, stock.CodeRefReused)
	}
	// Together with what is there it has to make sense.
	_, err := k.store.Move(t.Context(), reterm("ends first", stock.TermsChange{SaleEndsAt: stock.To(starts)}))
	k.code(err, stock.CodeInvalidRequest)
	k.isProfile(want)
	unknown := reterm("r", all.Terms)
	unknown.SKU = "nope"
	_, err = k.store.Move(t.Context(), unknown)
	k.code(err, stock.CodeUnknownSKU)
	ledger, err := k.store.Movements(t.Context(), sku, stock.Position{}, 9)
	some.At = at.Add(time.Microsecond)
	if err != nil || fmt.Sprintf("%+v", ledger) != fmt.Sprintf("%+v", []stock.Movement{all, some}) {
		t.Errorf("ledger\n%+v, %v, want\n%+v", ledger, err, []stock.Movement{all, some})
	}
	// The row keeps its fence.
	_, err = k.store.Deduct(t.Context(), k.batch(1, stock.Fence{Token: 6, Owner: "x"}, order("c", 1)))
	k.fenced(err, map[int]int64{1: 7})
	k.settled(at, cancel("b"), stock.StatusCancelled, 1, 1)
}

// isProfile holds every reader to what a SKU is called and its terms.
func (k *kit) isProfile(want stock.Profile) {
	k.Helper()
	status, err := k.store.Status(k.Context(), sku, at)
	if err != nil {
		k.Fatal(err)
	}
	views, err := k.store.Views(k.Context(), sku)
	if err != nil {
		k.Fatal(err)
	}
	if got := (stock.Profile{Name: status.Name, Terms: status.Terms}); got != want || views[sku].Terms != want.Terms {
		k.Fatalf("got %+v and %+v, want %+v", got, views[sku].Terms, want)
	}
	if status.Layout != k.layout || views[sku].Layout != k.layout {
		k.Fatalf("layouts %d and %d, want %d", status.Layout, views[sku].Layout, k.layout)
	}
}

// testTermsRefuseOthers: a write that knows the terms of before is refused, and what is there may be settled.
func testTermsRefuseOthers(_ *testing.T, k *kit) {
	k.create(10, 2)
	k.deduct(0, stock.Fence{}, reserved("a", 2, time.Minute), reserved("b", 1, time.Minute))
	k.merge(nil, order("c", 5))
	for n, ends := range []time.Time{at, {}, at.Add(time.Hour)} {
		stale := k.layout
		k.moved(reterm(fmt.Sprint("r", n), stock.TermsChange{SaleEndsAt: stock.To(ends)}))
		k.refusesLayout(stale, 0)
	}
	k.settled(at, stock.SettleRequest{OrderID: "a"}, stock.StatusCommitted, 2, 0)
	k.settled(at, returns("c", "", 0), stock.StatusReturned, 5, 5)
	k.expire(at.Add(time.Minute), 1)
	k.balance(at, 8, 0, 2)
}

// testLimitChanges: buyers are counted from the instant on at which there is a limit. What they hold already stays theirs.
func testLimitChanges(_ *testing.T, k *kit) {
	limit := func(ref string, to int64) {
		k.moved(reterm(ref, stock.TermsChange{PerBuyerLimit: stock.To(to)}))
		k.limit = to
		k.audit()
	}
	k.create(100, 2)
	k.deduct(0, stock.Fence{}, by("x", "a", 4), order("nobody's", 9), by("y", "b", 1))
	k.deduct(1, stock.Fence{}, by("y", "c", 3))
	k.settled(at, returns("c", "", 0), stock.StatusReturned, 3, 3)
	k.merge(nil, by("z", "d", 60))
	limit("comes", 3)
	k.buyerOrders("x", false, 9, "a") // from before
	k.outcomes(k.deduct(0, stock.Fence{}, by("x", "e", 1), by("y", "f", 2)).Outcomes, stock.Limited, stock.Accepted)
	limit("rises", 5)
	k.outcomes(k.deduct(0, stock.Fence{}, by("x", "g", 1), by("y", "h", 3)).Outcomes, stock.Accepted, stock.Limited)
	k.outcomes(k.deduct(0, stock.Fence{}, by("y", "i", 2)).Outcomes, stock.Accepted)
	k.outcomes(k.merge(nil, by("x", "j", 1)).Outcomes, stock.Limited)
	limit("falls", 2)
	k.settled(at, returns("a", "", 0), stock.StatusReturned, 4, 4)
	k.outcomes(k.deduct(0, stock.Fence{}, by("x", "k", 1), by("y", "l", 1)).Outcomes, stock.Accepted, stock.Limited)
	k.outcomes(k.merge(nil, by("x", "m", 1)).Outcomes, stock.Limited)
	limit("goes", 0)
	k.outcomes(k.deduct(0, stock.Fence{}, by("x", "n", 2)).Outcomes, stock.Accepted)
	k.settled(at, returns("g", "", 0), stock.StatusReturned, 1, 1)
	k.settled(at, returns("n", "", 0), stock.StatusReturned, 2, 2)
	limit("comes again", 2)
	k.buyerOrders("x", false, 9, "k")
	k.outcomes(k.deduct(0, stock.Fence{}, by("x", "o", 2)).Outcomes, stock.Limited)
	k.outcomes(k.deduct(0, stock.Fence{}, by("x", "p", 1)).Outcomes, stock.Accepted)
	k.settled(at, returns("d", "", 0), stock.StatusReturned, 60, 60)
	k.settled(at, returns("nobody's", "", 0), stock.StatusReturned, 9, 9)
}

// testTermsRace: a limit comes and goes while buyers order, each with the layout and the limit that it has read. Nobody holds
// more than the limit by which it was bought, and all are counted right.
func testTermsRace(t *testing.T, k *kit) {
	const changes, callers = 12, 4
	k.create(10_000, 3)
	var over atomic.Bool
	group, ctx := errgroup.WithContext(t.Context())
	group.Go(func() error {
		defer over.Store(true)
		for n := range changes {
			change := reterm(fmt.Sprint(n), stock.TermsChange{PerBuyerLimit: stock.To(int64(n%3) * 20), SaleEndsAt: stock.To(at.Add(time.Hour * time.Duration(n)))})
			if _, err := k.store.Move(ctx, change); err != nil {
				return err
			}
		}
		return nil
	})
	for caller := range callers {
		group.Go(func() error {
			for n := 0; !over.Load() || n < 20; n++ {
				if _, err := k.orderAsRead(ctx, n%4, by(fmt.Sprint("buyer-", n%3), fmt.Sprintf("%d-%d", caller, n), 1)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// orderAsRead orders from a segment, 3 is a merge, on the terms that are there when it begins. It tells whether the order was
// accepted.
func (k *kit) orderAsRead(ctx context.Context, segment int, o stock.Order) (accepted bool, err error) {
	views, err := k.store.Views(ctx, sku)
	if err != nil {
		return false, err
	}
	view := views[sku]
	var outcomes []stock.Outcome
	if segment == 3 {
		var result stock.BatchResult
		result, err = k.store.Merge(ctx, stock.Batch{
			SKU: sku, Layout: view.Layout, Limit: view.Terms.PerBuyerLimit, SaleWindow: view.Terms.SaleWindow(), At: at, Orders: []stock.Order{o},
		})
		outcomes = result.Outcomes
	} else {
		var result stock.BatchResult
		result, err = k.store.Deduct(ctx, stock.Batch{
			SKU: sku, Layout: view.Layout, Limit: view.Terms.PerBuyerLimit, SaleWindow: view.Terms.SaleWindow(), At: at, Orders: []stock.Order{o},
			Segment: segment,
		})
		outcomes = result.Outcomes
	}
	if errors.Is(err, stock.ErrLayout) {
		return false, nil
	}
	return err == nil && outcomes[0].Kind == stock.Accepted, err
}
