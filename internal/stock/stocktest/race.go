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

// together runs all of them at once, and waits.
func (k *kit) together(all ...func(context.Context) error) {
	k.Helper()
	group, ctx := errgroup.WithContext(k.Context())
	for _, f := range all {
		group.Go(func() error { return f(ctx) })
	}
	if err := group.Wait(); err != nil {
		k.Fatal(err)
	}
}

// settling settles one request, and tells what became of it.
func (k *kit) settling(at time.Time, request stock.SettleRequest, got *stock.Settled) func(context.Context) error {
	return func(ctx context.Context) error {
		results, err := k.store.Settle(ctx, stock.Settlement{SKU: sku, At: at, Requests: []stock.SettleRequest{request}})
		if err == nil {
			*got = results[0]
		}
		return err
	}
}

// testCommitOrExpiry lets a commit that comes just in time race the sweep that comes just after it: one of them wins.
func testCommitOrExpiry(_ *testing.T, k *kit) {
	sold := k.orExpiry(commit, func(string) {})
	k.balance(at.Add(time.Minute), 2*races-sold, 0, sold)
}

// races is how many reservations of one unit orExpiry plays with, of twice as many units.
const races = 30

// orExpiry settles reservations of a minute, each in its last instant while it expires: one of the two happens. It returns how many
// were settled, after each of which won is called.
func (k *kit) orExpiry(request func(orderID string) stock.SettleRequest, won func(orderID string)) (settled int64) {
	k.Helper()
	k.create(2*races, 2)
	over := at.Add(time.Minute)
	for n := range races {
		id := fmt.Sprintf("o-%d", n)
		k.deduct(n%2, stock.Fence{}, reserved(id, 1, time.Minute))
		var got stock.Settled
		var expired int
		k.together(k.settling(over.Add(-time.Microsecond), request(id), &got), func(ctx context.Context) (err error) {
			expired, err = k.store.Expire(ctx, sku, over)
			return err
		})
		if (got.Err == nil) == (expired == 1) {
			k.Fatalf("round %d: settled %+v, %d expired", n, got, expired)
		}
		if got.Err != nil {
			k.code(got.Err, stock.CodeNotReserved)
			continue
		}
		settled++
		won(id)
	}
	return settled
}

// testCancelOrCommit: whoever comes first decides, and each unit comes back once.
func testCancelOrCommit(_ *testing.T, k *kit) {
	const rounds = 30
	k.create(10, 4)
	for n := range rounds {
		id := fmt.Sprintf("o-%d", n)
		k.merge(nil, reserved(id, 5, time.Minute))
		var got [3]stock.Settled
		k.together(
			k.settling(at, stock.SettleRequest{OrderID: id, Quantity: 3}, &got[0]),
			k.settling(at, cancel(id), &got[1]),
			k.settling(at, cancel(id), &got[2]),
		)
		back := got[0].Returned + got[1].Returned + got[2].Returned
		if got[0].Err != nil {
			k.code(got[0].Err, stock.CodeNotReserved)
			k.equal("units back", fmt.Sprint(back, got[1].Err, got[2].Err), "5 <nil> <nil>")
		} else {
			k.code(got[1].Err, stock.CodeAlreadyCommitted)
			k.code(got[2].Err, stock.CodeAlreadyCommitted)
			k.equal("units back", fmt.Sprint(back), "2")
			k.settled(at, returns(id, "", 0), stock.StatusReturned, 3, 3)
		}
		k.balance(at, 10, 0, 0)
		k.segmentsSum(10)
	}
}

// testSweepers lets processes sweep the same SKU, while a merge looks for units as well.
func testSweepers(_ *testing.T, k *kit) {
	const rounds, reservations = 5, 40
	k.limit = reservations
	k.create(reservations+1, 4)
	over := at.Add(time.Minute)
	for n := range rounds {
		list := make([]stock.Order, reservations)
		for i := range list {
			list[i] = stock.Order{OrderID: fmt.Sprintf("%d-%d", n, i), BuyerID: fmt.Sprint(i % 7), Quantity: 1, ReserveFor: time.Minute}
		}
		k.merge(nil, list...)
		var total atomic.Int64
		sweep := func(ctx context.Context) error {
			n, err := k.store.Expire(ctx, sku, over)
			total.Add(int64(n))
			return err
		}
		merge := k.merging(nil, by("m", fmt.Sprint("m", n), 1))
		merge.At = over
		k.together(sweep, sweep, sweep, func(ctx context.Context) error {
			result, err := k.store.Merge(ctx, merge)
			total.Add(int64(result.Expired))
			return err
		})
		k.equal("reservations given back", fmt.Sprint(total.Load()), fmt.Sprint(reservations))
		k.settle(over, returns(fmt.Sprint("m", n), "", 0))
		k.balance(over, reservations+1, 0, 0)
	}
}

// testOrdersRace lets orders of several SKUs, each sent twice, meet each other and plain deductions with their ids.
func testOrdersRace(t *testing.T, k *kit) {
	const rounds = 40
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		if _, err := k.store.CreateSKU(t.Context(), stock.NewSKU{SKU: name, Stock: 3 * rounds, Segments: 3}, at); err != nil {
			t.Fatal(err)
		}
	}
	seeds := seeded(t)
	var created, plain atomic.Int64
	group, ctx := errgroup.WithContext(t.Context())
	for worker := range 8 {
		r := newRand(seeds.Uint64(), seeds.Uint64())
		group.Go(func() error {
			for n := range rounds / 4 {
				// Two workers send the same order, one of them from other places.
				id := fmt.Sprintf("%d-%d", worker/2, n)
				var lines []stock.Line
				var placed []stock.PlacedLine
				for i, name := range names {
					if (n+i)%4 != 0 {
						lines = append(lines, stock.Line{SKU: name, Quantity: 1})
						placed = append(placed, stock.PlacedLine{Layout: firstLayout, Segment: r.IntN(4) - 1})
					}
				}
				_, isNew, err := k.store.Order(ctx, placing(id, lines, placed))
				switch {
				case isNew:
					created.Add(int64(len(lines)))
				case err != nil && !errors.Is(err, stock.ErrSpread) && stock.CodeOf(err) != stock.CodeOrderIDReused:
					return err
				}
				result, err := k.store.Deduct(ctx, stock.Batch{
					SKU: lines[0].SKU, Layout: firstLayout, Segment: r.IntN(3), At: at,
					Orders: []stock.Order{order(fmt.Sprintf("%d-%d", (worker/2+1)%4, n), 1)},
				})
				if err != nil {
					return err
				}
				if result.Outcomes[0].Kind == stock.Accepted {
					plain.Add(1)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	var taken int64
	for _, name := range names {
		status, err := k.store.Status(t.Context(), name, at)
		if err != nil {
			t.Fatal(err)
		}
		taken += status.Committed
	}
	k.equal("units taken", fmt.Sprint(taken), fmt.Sprint(created.Load()+plain.Load()))
}
