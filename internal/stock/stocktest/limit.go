package stocktest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/stock"
)

// by is an order of a buyer.
func by(buyer, id string, quantity int64) stock.Order {
	return stock.Order{OrderID: id, BuyerID: buyer, Quantity: quantity}
}

func testLimit(_ *testing.T, k *kit) {
	k.limit = 3
	k.create(40, 2)
	result := k.deduct(0, stock.Fence{}, by("x", "a", 2), by("y", "b", 3), by("z", "c", 4))
	k.outcomes(result.Outcomes, stock.Accepted, stock.Accepted, stock.Limited)
	k.equal("left", fmt.Sprint(result.Available), "15")
	// Through another segment, with a replay of a winner who is at the limit, and one order that is free to buy.
	result = k.deduct(1, stock.Fence{Token: 1, Owner: "l"}, by("x", "d", 2), by("y", "b", 3), by("w", "e", 1))
	k.outcomes(result.Outcomes, stock.Limited, stock.Known, stock.Accepted)
	k.equal("left", fmt.Sprint(result.Available), "19")
	// Nothing but bots, and nothing but replays.
	result = k.deduct(1, stock.Fence{}, by("x", "f", 3), by("y", "g", 1))
	k.outcomes(result.Outcomes, stock.Limited, stock.Limited)
	k.equal("left, stale", fmt.Sprint(result.Available, result.Stale), "19 false")
	k.outcomes(k.deduct(1, stock.Fence{}, by("x", "a", 2), by("y", "b", 3)).Outcomes, stock.Known, stock.Known)
	// One that does not fit whole, and a merge.
	result = k.deduct(1, stock.Fence{}, by("y", "b", 3), by("y2", "h", 3), by("x", "i", 2), by("v", "j", 100))
	k.outcomes(result.Outcomes, stock.Known, stock.Accepted, stock.Limited, stock.Limited)
	k.outcomes(k.merge(nil, by("x", "k", 2), by("x2", "l", 1), by("y", "b", 3)).Outcomes, stock.Limited, stock.Accepted, stock.Known)
	// The last unit that x may have.
	k.outcomes(k.deduct(0, stock.Fence{}, by("x", "m", 1)).Outcomes, stock.Accepted)
	// A known order whose buyer might have bought as much again, beside a new one.
	k.outcomes(k.deduct(0, stock.Fence{}, by("w", "e", 1), by("v", "n", 2)).Outcomes, stock.Known, stock.Accepted)
	k.outcomes(k.deduct(0, stock.Fence{}, by("w", "o", 2), by("v", "p", 1)).Outcomes, stock.Accepted, stock.Accepted)
	k.balance(at, 40-2-3-1-3-1-1-2-2-1, 0, 16)
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
	k.deduct(1, stock.Fence{}, stock.Order{OrderID: "r", BuyerID: "x", Quantity: 1, ReserveFor: time.Hour})
	k.deduct(1, stock.Fence{}, stock.Order{OrderID: "cancelled", BuyerID: "x", Quantity: 1, ReserveFor: time.Hour})
	p := placing("basket", []stock.Line{{SKU: sku, Quantity: 2}}, []stock.PlacedLine{{Layout: k.layout, Limit: k.limit, Segment: 1}})
	p.Order.BuyerID = "x"
	if _, created, err := k.store.Order(k.Context(), p); err != nil || !created {
		k.Fatalf("order: created %v, %v", created, err)
	}
	k.settled(at, stock.SettleRequest{OrderID: "cancelled", Verb: stock.Cancel}, stock.StatusCancelled, 1, 1)
	k.settled(at, returns("gone", "", 0), stock.StatusReturned, 1, 1)
	k.settled(at, returns("m", "part", 1), stock.StatusCommitted, 1, 1)
	k.settled(at, stock.SettleRequest{OrderID: "r"}, stock.StatusCommitted, 1, 0)
	k.buyerOrders("x", false, 9, "basket", "d", "m", "r")
	k.buyerOrders("x", false, 2, "basket", "d")
	k.buyerOrders("x", true, 9, stock.OrderKey("x", "c"), stock.OrderKey("x", "d"))
	k.buyerOrders("y", false, 9, "x")
	k.buyerOrders("y", true, 9)
	k.buyerOrders("nobody", false, 9)
}

// buyerOrders checks which orders use a buyer's limit up.
func (k *kit) buyerOrders(buyer string, own bool, limit int, want ...string) {
	k.Helper()
	got, err := k.store.BuyerOrders(k.Context(), sku, buyer, own, limit)
	if err != nil {
		k.Fatal(err)
	}
	k.equal("orders of "+buyer, fmt.Sprintf("%q", stock.Column(got, func(d stock.Deduction) string { return d.OrderID })), fmt.Sprintf("%q", append([]string{}, want...)))
}

// testLimitCountsTurns: also where a buyer occurs twice, which a worker avoids, nobody gets more than the limit.
func testLimitCountsTurns(_ *testing.T, k *kit) {
	k.limit = 3
	k.create(40, 2)
	k.outcomes(k.deduct(0, stock.Fence{}, by("x", "a", 2), by("x", "b", 2), by("x", "c", 1)).Outcomes,
		stock.Accepted, stock.Limited, stock.Accepted)
	k.outcomes(k.deduct(0, stock.Fence{}, by("y", "d", 2), by("y", "e", 1), by("y", "f", 90)).Outcomes,
		stock.Accepted, stock.Accepted, stock.Limited)
	k.outcomes(k.merge(nil, by("z", "g", 2), by("z", "h", 2), by("z", "i", 1)).Outcomes,
		stock.Accepted, stock.Limited, stock.Accepted)
}

// testLimitAndWhatComesBack: what a buyer returns, cancels or lets expire may be bought again.
func testLimitAndWhatComesBack(t *testing.T, k *kit) {
	k.limit = 3
	k.create(40, 2)
	r := by("x", "a", 3)
	r.ReserveFor = time.Minute
	k.deduct(0, stock.Fence{}, r)
	k.outcomes(k.deduct(1, stock.Fence{}, by("x", "b", 1)).Outcomes, stock.Limited)
	k.settled(at, stock.SettleRequest{OrderID: "a", Quantity: 1}, stock.StatusCommitted, 1, 2)
	k.outcomes(k.deduct(1, stock.Fence{}, by("x", "c", 2)).Outcomes, stock.Accepted)
	k.outcomes(k.deduct(1, stock.Fence{}, by("x", "d", 1)).Outcomes, stock.Limited)
	k.settled(at, returns("a", "", 0), stock.StatusReturned, 1, 1)
	r = by("x", "e", 1)
	r.ReserveFor = time.Minute
	k.outcomes(k.merge(nil, r).Outcomes, stock.Accepted)
	batch := k.batch(1, stock.Fence{}, by("x", "f", 1))
	batch.At = at.Add(time.Minute)
	result, err := k.store.Deduct(t.Context(), batch)
	if err != nil || !result.Stale || result.Outcomes[0].Kind != stock.Limited {
		t.Errorf("before the sweep: %+v, %v", result, err)
	}
	batch.Orders = append(batch.Orders, by("y", "g", 90)) // the other way through the store
	if result, err = k.store.Deduct(t.Context(), batch); err != nil || !result.Stale {
		t.Errorf("before the sweep, not whole: %+v, %v", result, err)
	}
	merge := k.merging(nil, by("x", "h", 1))
	merge.At = batch.At
	merged, err := k.store.Merge(t.Context(), merge)
	if err != nil || merged.Expired != 1 {
		t.Errorf("merge: %+v, %v", merged, err)
	}
	k.outcomes(merged.Outcomes, stock.Accepted)
	if result, err = k.store.Deduct(t.Context(), batch); err != nil || result.Stale {
		t.Errorf("after it: %+v, %v", result, err)
	}
}

// testLimitRace sends many orders of one buyer through all ways at once.
func testLimitRace(t *testing.T, k *kit) {
	const segments, all = 4, 100
	k.limit = 3
	k.create(1000, segments)
	var accepted atomic.Int64
	group, ctx := errgroup.WithContext(t.Context())
	for n := range all {
		group.Go(func() error {
			list := []stock.Order{by("greedy", fmt.Sprintf("g-%d", n), 1), by(fmt.Sprint("fair ", n), fmt.Sprintf("f-%d", n), 2)}
			outcomes, err := k.anyWay(ctx, n%(segments+1), 1, list)
			if err != nil {
				return fmt.Errorf("order %d: %w", n, err)
			}
			if outcomes[0].Kind == stock.Accepted {
				accepted.Add(1)
			}
			if outcomes[1].Kind != stock.Accepted {
				return fmt.Errorf("the fair buyer of order %d: %+v", n, outcomes[1])
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	k.equal("orders of the greedy buyer", fmt.Sprint(accepted.Load()), "3")
	k.sold(3 + 2*all)
}

// testLimitReplayRace sends the same orders through two segments at once, in opposite order, each at its buyer's limit: one
// of two is accepted, and the other is told so, not that its buyer has too much.
func testLimitReplayRace(t *testing.T, k *kit) { k.replayRace(t, 1) }

// testRoomReplayRace is the same where the buyer could have bought twice: the second one is not counted.
func testRoomReplayRace(t *testing.T, k *kit) { k.replayRace(t, 2) }

func (k *kit) replayRace(t *testing.T, limit int64) {
	const rounds, size = 25, 16
	k.limit = limit
	k.create(4*rounds*size, 2)
	for round := range rounds {
		batches := [2][]stock.Order{make([]stock.Order, size), make([]stock.Order, size)}
		for i := range size {
			o := by(fmt.Sprintf("buyer-%d-%d", round, size-i), fmt.Sprintf("o-%d-%d", round, i), 1)
			batches[0][i], batches[1][size-1-i] = o, o
		}
		results := k.race(t, func(ctx context.Context, segment int) (stock.BatchResult, error) {
			return k.store.Deduct(ctx, k.batch(segment, stock.Fence{}, batches[segment]...))
		})
		for i := range size {
			a, b := results[0].Outcomes[i].Kind, results[1].Outcomes[size-1-i].Kind
			if a+b != stock.Accepted+stock.Known {
				t.Fatalf("round %d, order %d: outcomes %d and %d", round, i, a, b)
			}
		}
	}
	k.sold(rounds * size)
}
