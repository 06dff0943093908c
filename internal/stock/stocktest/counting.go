package stocktest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"inventory/internal/stock"
)

// countsAll has the earlier orders counted, or no longer counted, in pages of some deductions.
func (k *kit) countsAll(page int) (pages int) {
	k.t.Helper()
	for left := true; left; pages++ {
		var err error
		if left, err = k.store.CountEarlier(k.t.Context(), sku, page); err != nil {
			k.t.Fatal(err)
		}
	}
	return pages
}

// testCountEarlier: a change of the limit counts nothing itself. Each page counts no more deductions than it may, and what happens to orders
// before, between and after the pages is counted exactly, which an audit proves at each step.
func testCountEarlier(t *testing.T, k *kit) {
	const n, page = 20, 3
	k.create(1000, 2)
	id := func(i int) string { return fmt.Sprintf("o-%02d", i) }
	for i := range n { // of ten buyers
		o := by(fmt.Sprint("b-", i%10), id(i), 2)
		if i%3 == 0 {
			o.ReserveFor = time.Hour
		}
		k.deduct(i%2, stock.Fence{}, o)
	}
	k.deduct(0, stock.Fence{}, order("nobody's", 1))
	being := func(want ...string) {
		t.Helper()
		got, err := k.store.BeingCounted(t.Context(), 9)
		if err != nil {
			t.Fatal(err)
		}
		k.equal("being counted", got, want)
	}
	limit := func(ref string, to int64) {
		t.Helper()
		k.moved(reterm(ref, stock.TermsChange{PerBuyerLimit: stock.To(to)}))
		k.limit = to
		being(sku)
		k.equal("counting", k.status(sku, at).Counting, to > 0)
	}
	next := 0 // page
	step := func(do func()) {
		t.Helper()
		do()
		k.audit()
		if left, err := k.store.CountEarlier(t.Context(), sku, page); err != nil || left != (next < n/page) {
			t.Fatalf("page %d: %v, %v", next, left, err)
		}
		next++
		k.audit()
	}
	being()
	limit("comes", 4)
	k.buyerOrders("b-0", false, 9) // the change itself has counted none
	step(func() { k.equal("new", told(k.deduct(0, stock.Fence{}, by("b-9", "a", 4))), "accepted") })
	k.buyerOrders("b-0", false, 9, id(0))
	k.buyerOrders("b-9", false, 9, "a")
	step(func() { k.settled(at, cancel(id(0)), stock.StatusCancelled, 2, 2) })  // counted
	step(func() { k.settled(at, cancel(id(18)), stock.StatusCancelled, 2, 2) }) // not counted yet
	step(func() { k.settled(at, returns(id(1), "p", 1), stock.StatusCommitted, 1, 1) })
	step(func() { k.settled(at, returns(id(19), "p", 1), stock.StatusCommitted, 1, 1) })
	step(func() { k.settled(at, commit(id(15)), stock.StatusCommitted, 2, 0) })
	step(func() { k.settled(at, commit(id(6)), stock.StatusCommitted, 2, 0) })
	step(func() { k.equal("merged", told(k.merge(nil, by("b-5", "c", 3))), "limited") })
	being()
	status := k.status(sku, at)
	if status.Counting || status.LimitSince.IsZero() {
		t.Errorf("the limit holds since %v, counting: %v", status.LimitSince, status.Counting)
	}
	k.buyerOrders("b-5", false, 9, id(5), id(15))
	k.equal("more than the limit from before", told(k.deduct(0, stock.Fence{}, by("b-9", "d", 1))), "limited")
	k.equal("below it", told(k.deduct(0, stock.Fence{}, by("b-1", "e", 1))), "accepted")
	k.equal("above it", told(k.deduct(0, stock.Fence{}, by("b-1", "f", 1))), "limited")

	limit("goes", 0)
	k.equal("without a limit", told(k.deduct(1, stock.Fence{}, by("b-9", "g", 9))), "accepted")
	k.settled(at, returns("e", "", 0), stock.StatusReturned, 1, 1)
	if _, err := k.store.CountEarlier(t.Context(), sku, 9); err != nil {
		t.Fatal(err)
	}
	k.audit()
	k.settled(at, returns("a", "", 0), stock.StatusReturned, 4, 4) // not counted any more
	k.settled(at, returns(id(17), "", 0), stock.StatusReturned, 2, 2)
	limit("comes again, amid that", 14)
	k.equal("at once", told(k.deduct(1, stock.Fence{}, by("b-8", "h", 1))), "accepted")
	k.audit()
	k.countsAll(page)
	being()
	k.equal("what was bought without a limit counts", told(k.deduct(0, stock.Fence{}, by("b-9", "i", 3))), "limited")
	k.equal("b-9 holds 12 units", told(k.deduct(0, stock.Fence{}, by("b-9", "j", 2))), "accepted")
	limit("goes again", 0)
	if pages := k.countsAll(page); pages < n/page {
		t.Errorf("%d pages of %d", pages, page)
	}
	k.buyerOrders("b-9", false, 9)
}

// testCountRace: several processes count at the same time, while buyers order and give back, and the limit comes and goes.
func testCountRace(t *testing.T, k *kit) {
	const n = 60
	k.create(10_000, 3)
	for i := range n {
		k.deduct(i%3, stock.Fence{}, by(fmt.Sprint("b-", i%7), fmt.Sprintf("o-%03d", i), 1))
	}
	count := func(ctx context.Context) error {
		for range 2 * n {
			if _, err := k.store.CountEarlier(ctx, sku, 4); err != nil && !errors.Is(err, stock.ErrHeld) {
				return err
			}
		}
		return nil
	}
	k.together(count, count, func(ctx context.Context) error {
		for i, limit := range []int64{30, 0, 20, 40, 0, 25} {
			m := reterm(fmt.Sprint("limit ", i), stock.TermsChange{PerBuyerLimit: stock.To(limit)})
			if _, err := k.store.Move(ctx, m); err != nil {
				return err
			}
		}
		return nil
	}, func(ctx context.Context) error {
		for i := range n {
			_, err := k.store.Settle(ctx, stock.Settlement{SKU: sku, At: at, Requests: []stock.SettleRequest{returns(fmt.Sprintf("o-%03d", n-1-i), "", 0)}})
			if err != nil {
				return err
			}
		}
		return nil
	}, func(ctx context.Context) error {
		for i := range n {
			views, err := k.store.Views(ctx, sku)
			if err != nil {
				return err
			}
			b := stock.Batch{
				SKU: sku, Layout: views[sku].Layout, Limit: views[sku].Terms.PerBuyerLimit, Segment: i % 3, At: at,
				Orders: []stock.Order{by(fmt.Sprint("b-", i%7), fmt.Sprintf("n-%03d", i), 1), by(fmt.Sprint("b-", (i+1)%7), fmt.Sprintf("m-%03d", i), 1)},
			}
			if _, err := k.store.Deduct(ctx, b); err != nil && !expected(err) {
				return err
			}
		}
		return nil
	})
	k.layout += 6
	k.countsAll(100)
	if status := k.status(sku, at); status.PerBuyerLimit != 25 || status.Counting || status.LimitSince.IsZero() {
		t.Errorf("%+v", status)
	}
}
