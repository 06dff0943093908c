package stocktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// held is for how long other writers keep a case's writes waiting beyond the instant that matters. The cases need this real time to
// pass: the clock is that of the database.
const held = 60 * time.Millisecond

// whileHeld begins a write while somebody else has all rows of the database, lets some time pass, and returns what the write
// returned.
func whileHeld(k *kit, pass time.Duration, write func(context.Context) error) error {
	k.t.Helper()
	release := k.hold()
	done := make(chan error, 1)
	go func() { done <- write(k.t.Context()) }()
	time.Sleep(pass)
	release()
	err := <-done
	k.hold()() // what was left behind and waited for the rows has had them by now
	return err
}

// takesWhileHeld takes an order one way while somebody else has all rows, by the store's clock.
func (k *kit) takesWhileHeld(w way, pass time.Duration, b stock.Batch) (got stock.Outcome, err error) {
	k.t.Helper()
	b.At = time.Time{}
	err = whileHeld(k, pass, func(ctx context.Context) (err error) {
		got, err = w.takeFirst(k, ctx, b)
		return err
	})
	return got, err
}

// settlesWhileHeld settles one request while somebody else has all rows.
func (k *kit) settlesWhileHeld(pass time.Duration, s stock.Settlement, request stock.SettleRequest) (got stock.Settled, err error) {
	k.t.Helper()
	s.SKU, s.Requests = sku, []stock.SettleRequest{request}
	err = whileHeld(k, pass, func(ctx context.Context) error {
		results, err := k.store.Settle(ctx, s)
		if err == nil {
			got = results[0]
		}
		return err
	})
	return got, err
}

// testLate: what comes to its end after its deadline has written nothing, and does not write later.
func testLate(_ *testing.T, k *kit) {
	k.createKnown(20, 3)
	r := by("r", "r", 1)
	r.ReserveFor = time.Hour
	k.deduct(0, stock.Fence{}, r, by("c", "c", 1))
	k.deduct(1, stock.Fence{}, by("more", "more", 2))
	for _, way := range ways() {
		b := k.batch(1, stock.Fence{}, by("late", "late", 1))
		b.Deadline = time.Now().Add(held)
		_, err := k.takesWhileHeld(way, 2*held, b)
		if late := errors.Is(err, stock.ErrLate) || way.placed && err != nil; !late {
			k.t.Fatalf("%s: got %v, want ErrLate", way.name, err)
		}
		k.untouched(way.name)
	}
	for _, request := range []stock.SettleRequest{commit("r"), cancel("c"), extend("r", "late", 2*time.Hour), returns("more", "late", 1)} {
		_, err := k.settlesWhileHeld(2*held, stock.Settlement{At: at, Deadline: time.Now().Add(held)}, request)
		if !errors.Is(err, stock.ErrLate) {
			k.t.Fatalf("%+v: got %v, want ErrLate", request, err)
		}
		k.untouched(request)
	}
	move := func(m stock.Movement) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := k.store.Move(ctx, m)
			return err
		}
	}
	for name, write := range map[string]func(context.Context) error{
		"adjust":          move(adjust("late", -1)),
		"restock":         move(restock(sku, "late", 1)),
		"resegment":       move(resegment("late", 2)),
		"change of terms": move(reterm("late", stock.TermsChange{MaxQuantity: stock.To[int64](3)})),
		"archive": func(ctx context.Context) error {
			_, err := k.store.Archive(ctx, sku, at)
			return err
		},
	} {
		// The deadline is that of the context, with which the caller gives up as well. It is over before the rows are free.
		ctx, cancel := context.WithTimeout(k.t.Context(), held)
		err := whileHeld(k, 2*held, func(context.Context) error { return write(ctx) })
		cancel()
		if err == nil {
			k.t.Fatalf("%s: got nil, want an error", name)
		}
		k.untouched(name)
	}
}

// untouched checks that nothing has changed since testLate began.
func (k *kit) untouched(after any) {
	k.t.Helper()
	k.t.Logf("after %v", after)
	k.segments(4, 5, 6)
	k.absent("late")
	k.isProfile(stock.Profile{Terms: stock.Terms{PerBuyerLimit: k.limit}})
	k.balance(at, 15, 1, 4)
	k.ends("r", at.Add(time.Hour), time.Hour)
}

// testDecidesAfterWaiting: who waits for rows, and has them before the deadline, decides by the time when it has them, not by that when it
// asked.
func testDecidesAfterWaiting(_ *testing.T, k *kit) {
	k.createKnown(90, 3)
	const reserve = time.Minute
	decides := func(name string, decide func() (stock.Deduction, error)) {
		k.t.Helper()
		asked := k.store.Now()
		d, err := decide()
		if over := d.ExpiresAt.Sub(asked); err != nil || over < reserve+held*9/10 || d.ReserveFor != reserve {
			k.t.Fatalf("%s: reserved for %s from the instant it was asked, and %s, %v; want %s from when it had the rows",
				name, over, d.ReserveFor, err, reserve)
		}
		k.ends(d.OrderID, d.ExpiresAt, reserve)
	}
	for _, way := range ways() {
		decides(way.name, func() (stock.Deduction, error) {
			o := by("b", way.name, 1)
			o.ReserveFor = reserve
			batch := k.batch(0, stock.Fence{}, o)
			batch.Deadline = time.Now().Add(busytest.Patience)
			got, err := k.takesWhileHeld(way, held, batch)
			return got.Deduction, err
		})
	}
	decides("extend", func() (stock.Deduction, error) {
		got, err := k.settlesWhileHeld(held, stock.Settlement{}, extend(ways()[0].name, "r", reserve))
		return got.Deduction, errors.Join(err, got.Err)
	})
}

// testSaleEndsWhileWaiting: the write decides whether the sale is over, by the time when it has the rows.
func testSaleEndsWhileWaiting(_ *testing.T, k *kit) {
	k.createKnown(90, 3)
	for _, way := range ways() {
		b := k.batch(0, stock.Fence{}, by("b", "late", 1))
		b.SaleWindow.EndsAt = k.store.Now().Add(held)
		if got, err := k.takesWhileHeld(way, 2*held, b); err != nil || got.Kind != stock.Closed {
			k.t.Errorf("%s: got %+v, %v, want closed", way.name, got, err)
		}
		k.absent("late")
	}
	k.segments(29, 30, 30)
}

// testExpiresWhileWaiting: a commit or an extension that has to wait until the reservation's time is over does not happen, and
// ends it: nobody is told that it has expired before a row says so.
func testExpiresWhileWaiting(_ *testing.T, k *kit) {
	k.create(9, 3)
	for name, request := range map[string]stock.SettleRequest{"commit": commit("commit"), "extend": extend("extend", "r", time.Hour)} {
		batch := k.batch(0, stock.Fence{}, reserved(name, 2, held))
		batch.At = time.Time{}
		k.takesFirst(ways()[0], batch, stock.Accepted)
		got, err := k.settlesWhileHeld(2*held, stock.Settlement{}, request)
		if err != nil {
			k.t.Fatal(err)
		}
		k.code(got.Err, stock.CodeNotReserved)
		k.equal(name, k.state(name), stock.StatusExpired)
		k.segments(3, 3, 3)
	}
}
