package stocktest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"inventory/internal/stock"
)

func testMerge(t *testing.T, k *kit) {
	k.create(30, 3)
	result := k.merge(map[int]stock.Fence{0: {Token: 1, Owner: "x"}}, stock.Order{OrderID: "a", BuyerID: "x", Quantity: 14})
	k.outcomes(result.Outcomes, stock.Accepted)
	k.equal("merged", fmt.Sprint(result.Merged), "1")
	d, err := k.store.Deduction(t.Context(), sku, "a")
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for i, p := range d.Parts {
		sum += p.Quantity
		if i > 0 && p.Segment <= d.Parts[i-1].Segment {
			t.Errorf("parts are not ascending: %+v", d.Parts)
		}
	}
	if len(d.Parts) != 2 || sum != 14 || d.Quantity != 14 || d.BuyerID != "x" {
		t.Errorf("got %+v", d)
	}
	k.sold(14)
}

func testMergeRefuses(_ *testing.T, k *kit) {
	k.create(5, 5)
	result := k.merge(nil, order("a", 6), order("b", 3), order("c", 3), order("d", 2), order("e", 1))
	k.outcomes(result.Outcomes, stock.Short, stock.Accepted, stock.Short, stock.Accepted, stock.Short)
	k.equal("left for a, c, e", fmt.Sprint(result.Outcomes[0].Available, result.Outcomes[2].Available, result.Outcomes[4].Available), "5 2 0")
	k.segments(0, 0, 0, 0, 0)
}

func testMergeKnown(_ *testing.T, k *kit) {
	k.create(4, 2)
	k.deduct(0, stock.Fence{}, order("a", 2))
	result := k.merge(nil, order("a", 2), order("b", 2), order("a", 1))
	k.outcomes(result.Outcomes, stock.Known, stock.Accepted, stock.Known)
	result = k.merge(nil, order("b", 2), order("c", 1))
	k.outcomes(result.Outcomes, stock.Known, stock.Short)
	k.segments(0, 0)
}

// testMergeTopsUp checks that what a merge leaves can be sold without another: in one segment if none of them
// could fill such an order again, and where it was if one can or if the order was refused.
func testMergeTopsUp(_ *testing.T, k *kit) {
	k.create(12, 4)
	result := k.merge(nil, order("a", 5))
	k.equal("segments", fmt.Sprint(sum(result.Segments), count(result.Segments)), "7 1")
	k.sold(5)
	k.merge(nil, order("too much", 1000))
	k.segments(result.Segments...)
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

// testRace lets batches, merges and replays of both fight for stock that does not suffice, with and without
// tokens: every unit is sold once.
func testRace(t *testing.T, k *kit) {
	const units, segments, workers, perWorker = 400, 4, 8, 60
	k.create(units, segments)
	seeds := seeded(t)
	var accepted atomic.Int64
	group, ctx := errgroup.WithContext(t.Context())
	for worker := range workers {
		first, second := seeds.Uint64(), seeds.Uint64()
		group.Go(func() error {
			r := newRand(first, second)
			for n := range perWorker {
				list := []stock.Order{
					order(fmt.Sprintf("w%d-%d", worker, n), r.Int64N(4)+1),
					order(fmt.Sprintf("shared-%d", r.IntN(perWorker)), 2),
				}
				outcomes, err := k.anyWay(ctx, r.IntN(segments+1), int64(n), list)
				if err != nil && !errors.Is(err, stock.ErrFenced) {
					return err
				}
				for _, o := range outcomes {
					if o.Kind == stock.Accepted {
						accepted.Add(o.Deduction.Quantity)
					}
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	k.sold(accepted.Load())
}

// anyWay sends the orders to a segment, or, beyond the last one, to a merge. Every third call, by n, carries a token.
func (k *kit) anyWay(ctx context.Context, segment int, n int64, list []stock.Order) ([]stock.Outcome, error) {
	var fence stock.Fence
	if n%3 == 0 {
		fence = stock.Fence{Token: n + 1, Owner: "x"}
	}
	if segment < 4 {
		result, err := k.store.Deduct(ctx, k.batch(segment, fence, list...))
		return result.Outcomes, err
	}
	result, err := k.store.Merge(ctx, k.merging(map[int]stock.Fence{1: fence}, list...))
	return result.Outcomes, err
}
