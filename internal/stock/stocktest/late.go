package stocktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"inventory/internal/stock"
)

// held is for how long other writers keep a case's writes waiting beyond the instant that matters.
const held = 60 * time.Millisecond

// whileHeld begins a write while somebody else has all rows of the database, lets some time pass, and returns what the write
// returned.
func whileHeld(k *kit, pass time.Duration, write func(context.Context) error) error {
	k.Helper()
	release := k.hold()
	done := make(chan error, 1)
	go func() { done <- write(k.Context()) }()
	<-time.After(pass)
	release()
	err := <-done
	k.hold()() // what was left behind and waited for the rows has had them by now
	return err
}

// testLate: what comes to its end after its deadline has written nothing, and does not write later.
func testLate(_ *testing.T, k *kit) {
	k.create(9, 3)
	k.deduct(0, stock.Fence{}, reserved("r", 1, time.Hour), order("c", 1))
	k.deduct(1, stock.Fence{}, order("more", 2))
	deadline := func() time.Time { return time.Now().Add(held) }
	for name, write := range map[string]func(context.Context) error{
		"batch": func(ctx context.Context) error {
			batch := k.batch(1, stock.Fence{}, order("late", 1))
			batch.Deadline = deadline()
			_, err := k.store.Deduct(ctx, batch)
			return err
		},
		"batch that does not fit": func(ctx context.Context) error {
			batch := k.batch(1, stock.Fence{}, order("late", 1), order("large", 100))
			batch.Deadline = deadline()
			_, err := k.store.Deduct(ctx, batch)
			return err
		},
		"batch with a buyer limit": func(ctx context.Context) error {
			batch := k.batch(1, stock.Fence{}, stock.Order{OrderID: "late", BuyerID: "b", Quantity: 1})
			batch.Deadline, batch.Limit = deadline(), 5
			_, err := k.store.Deduct(ctx, batch)
			return err
		},
		"merge": func(ctx context.Context) error {
			merge := k.merging(nil, order("late", 6))
			merge.Deadline = deadline()
			_, err := k.store.Merge(ctx, merge)
			return err
		},
		"commit": func(ctx context.Context) error {
			_, err := k.store.Settle(ctx, stock.Settlement{SKU: sku, At: at, Deadline: deadline(), Requests: []stock.SettleRequest{commit("r")}})
			return err
		},
		"cancel": func(ctx context.Context) error {
			_, err := k.store.Settle(ctx, stock.Settlement{SKU: sku, At: at, Deadline: deadline(), Requests: []stock.SettleRequest{cancel("c")}})
			return err
		},
		"extend": func(ctx context.Context) error {
			_, err := k.store.Settle(ctx, stock.Settlement{SKU: sku, At: at, Deadline: deadline(), Requests: []stock.SettleRequest{extend("r", "late", 2*time.Hour)}})
			return err
		},
		"return of a part": func(ctx context.Context) error {
			_, err := k.store.Settle(ctx, stock.Settlement{SKU: sku, At: at, Deadline: deadline(), Requests: []stock.SettleRequest{giveBack("more", "late", 1)}})
			return err
		},
	} {
		if err := whileHeld(k, 2*held, write); !errors.Is(err, stock.ErrLate) {
			k.Fatalf("%s: got %v, want ErrLate", name, err)
		}
		k.untouched(name)
	}
	for name, write := range map[string]func(context.Context) error{
		"order": func(ctx context.Context) error {
			_, _, err := k.place(ctx, "late", stock.Line{SKU: sku, Quantity: 1}, here)
			return err
		},
		"order from all segments": func(ctx context.Context) error {
			_, _, err := k.place(ctx, "late", stock.Line{SKU: sku, Quantity: 6}, anywhere)
			return err
		},
		"adjust": func(ctx context.Context) error {
			_, err := k.store.Move(ctx, adjust("late", -1))
			return err
		},
		"restock": func(ctx context.Context) error {
			_, err := k.store.Move(ctx, restock(sku, "late", 1))
			return err
		},
		"resegment": func(ctx context.Context) error {
			_, err := k.store.Move(ctx, resegment("late", 2))
			return err
		},
		"change of terms": func(ctx context.Context) error {
			_, err := k.store.Move(ctx, reterm("late", stock.TermsChange{MaxQuantity: stock.To[int64](3)}))
			return err
		},
		"archive": func(ctx context.Context) error {
			_, err := k.store.Archive(ctx, sku, at)
			return err
		},
	} {
		// The deadline is that of the context, with which the caller gives up as well.
		err := whileHeld(k, 2*held, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, held)
			defer cancel()
			return write(ctx)
		})
		if err == nil {
			k.Fatalf("%s: got nil, want an error", name)
		}
		k.untouched(name)
	}
}

// untouched checks that nothing has changed since testLate began.
func (k *kit) untouched(after string) {
	k.Helper()
	views, err := k.store.Views(k.Context(), sku)
	if err != nil || sum(views[sku].Segments) != 5 || len(views[sku].Segments) != 3 {
		k.Fatalf("after %s: got %v, %v, want 5 units in 3 segments", after, views[sku].Segments, err)
	}
	k.absent("late")
	k.isProfile(stock.Profile{Terms: stock.Terms{PerBuyerLimit: k.limit}})
	k.balance(at, 5, 1, 3)
	k.ends("r", at.Add(time.Hour), time.Hour)
}

// testInTime: what was held up, and is done before its deadline, is done.
func testInTime(_ *testing.T, k *kit) {
	k.create(9, 3)
	var result stock.BatchResult
	err := whileHeld(k, held, func(ctx context.Context) (err error) {
		batch := k.batch(1, stock.Fence{}, order("in time", 1))
		batch.Deadline = time.Now().Add(time.Minute)
		result, err = k.store.Deduct(ctx, batch)
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
	k.outcomes(result.Outcomes, stock.Accepted)
	k.segments(3, 2, 3)
}

// testDecidesAfterWaiting: who waits for rows decides by the time when it has them, not by that when it asked.
func testDecidesAfterWaiting(t *testing.T, k *kit) {
	k.create(90, 3)
	const reserve = time.Minute
	o := reserved("r", 1, reserve)
	if _, err := k.store.Deduct(t.Context(), k.now(k.batch(1, stock.Fence{}, called(o, "r-extend")))); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(context.Context) (stock.Deduction, error){
		"batch": func(ctx context.Context) (stock.Deduction, error) {
			result, err := k.store.Deduct(ctx, k.now(k.batch(0, stock.Fence{}, called(o, "r-batch"))))
			return firstOf(result.Outcomes), err
		},
		"batch that does not fit": func(ctx context.Context) (stock.Deduction, error) {
			result, err := k.store.Deduct(ctx, k.now(k.batch(0, stock.Fence{}, called(o, "r-short"), order("large", 1000))))
			return firstOf(result.Outcomes), err
		},
		"merge": func(ctx context.Context) (stock.Deduction, error) {
			merge := k.merging(nil, called(o, "r-merge"))
			merge.At = time.Time{}
			result, err := k.store.Merge(ctx, merge)
			return firstOf(result.Outcomes), err
		},
		"order": func(ctx context.Context) (stock.Deduction, error) {
			placement := placing("r-order", []stock.Line{{SKU: sku, Quantity: 1}}, []stock.PlacedLine{here})
			placement.At, placement.Order.ReserveFor = time.Time{}, reserve
			lines, _, err := k.store.Order(ctx, placement)
			if err != nil {
				return stock.Deduction{}, err
			}
			return lines[0], nil
		},
		"extend": func(ctx context.Context) (stock.Deduction, error) {
			results, err := k.store.Settle(ctx, stock.Settlement{SKU: sku, Requests: []stock.SettleRequest{extend("r-extend", "r", reserve)}})
			if err != nil {
				return stock.Deduction{}, err
			}
			return results[0].Deduction, results[0].Err
		},
	} {
		asked := k.store.Now()
		var d stock.Deduction
		err := whileHeld(k, held, func(ctx context.Context) (err error) {
			d, err = write(ctx)
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if over := d.ExpiresAt.Sub(asked); over < reserve+held*9/10 || d.ReserveFor != reserve {
			t.Errorf("%s: reserved for %s from the instant it was asked, and %s; want %s from when it had the rows", name, over, d.ReserveFor, reserve)
		}
		if read, err := k.store.Deductions(t.Context(), sku, []string{d.OrderID}); err != nil || read[d.OrderID].ExpiresAt != d.ExpiresAt {
			t.Errorf("%s: the row says %s, the answer %s, %v", name, read[d.OrderID].ExpiresAt, d.ExpiresAt, err)
		}
	}
}

// testSaleEndsWhileWaiting: the write decides whether the sale is over, by the time when it has the rows.
func testSaleEndsWhileWaiting(t *testing.T, k *kit) {
	k.create(90, 3)
	window := func() stock.SaleWindow { return stock.SaleWindow{EndsAt: k.store.Now().Add(held)} }
	for name, write := range map[string]func(context.Context) ([]stock.Outcome, error){
		"batch": func(ctx context.Context) ([]stock.Outcome, error) {
			batch := k.now(k.batch(0, stock.Fence{}, order("late", 1)))
			batch.SaleWindow = window()
			result, err := k.store.Deduct(ctx, batch)
			return result.Outcomes, err
		},
		"batch with a buyer limit": func(ctx context.Context) ([]stock.Outcome, error) {
			batch := k.now(k.batch(0, stock.Fence{}, stock.Order{OrderID: "late", BuyerID: "b", Quantity: 1}))
			batch.SaleWindow, batch.Limit = window(), 3
			result, err := k.store.Deduct(ctx, batch)
			return result.Outcomes, err
		},
		"merge": func(ctx context.Context) ([]stock.Outcome, error) {
			merge := k.merging(nil, order("late", 1))
			merge.At, merge.SaleWindow = time.Time{}, window()
			result, err := k.store.Merge(ctx, merge)
			return result.Outcomes, err
		},
	} {
		var outcomes []stock.Outcome
		err := whileHeld(k, 2*held, func(ctx context.Context) (err error) {
			outcomes, err = write(ctx)
			return err
		})
		if err != nil || outcomes[0].Kind != stock.Closed {
			t.Errorf("%s: %+v, %v, want closed", name, outcomes, err)
		}
		k.absent("late")
	}
	err := whileHeld(k, 2*held, func(ctx context.Context) error {
		line := here
		line.SaleWindow = window()
		placement := placing("late", []stock.Line{{SKU: sku, Quantity: 1}}, []stock.PlacedLine{line})
		placement.At = time.Time{}
		_, _, err := k.store.Order(ctx, placement)
		return err
	})
	k.code(err, stock.CodeSaleClosed)
	k.absent("late")
	k.segments(30, 30, 30)
}

// testExpiresWhileWaiting: a commit or an extension that has to wait until the reservation's time is over does not happen, and
// ends it: nobody is told that it has expired before a row says so.
func testExpiresWhileWaiting(t *testing.T, k *kit) {
	k.create(9, 3)
	for name, request := range map[string]stock.SettleRequest{"commit": commit("commit"), "extend": extend("extend", "r", time.Hour)} {
		result, err := k.store.Deduct(t.Context(), k.now(k.batch(0, stock.Fence{}, reserved(name, 2, held))))
		if err != nil {
			t.Fatal(err)
		}
		k.outcomes(result.Outcomes, stock.Accepted)
		var settled []stock.Settled
		err = whileHeld(k, 2*held, func(ctx context.Context) (err error) {
			settled, err = k.store.Settle(ctx, stock.Settlement{SKU: sku, Requests: []stock.SettleRequest{request}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		k.code(settled[0].Err, stock.CodeNotReserved)
		k.equal(name, string(k.state(name)), "expired")
		k.segments(3, 3, 3)
	}
}

// now is a batch that decides by the store's clock.
func (k *kit) now(batch stock.Batch) stock.Batch {
	batch.At = time.Time{}
	return batch
}

// called is an order with another id.
func called(o stock.Order, id string) stock.Order {
	o.OrderID = id
	return o
}

func firstOf(outcomes []stock.Outcome) stock.Deduction {
	if len(outcomes) == 0 {
		return stock.Deduction{}
	}
	return outcomes[0].Deduction
}
