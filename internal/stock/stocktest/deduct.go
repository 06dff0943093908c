package stocktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"inventory/internal/stock"
)

func testBatch(t *testing.T, k *kit) {
	k.create(25, 3)
	k.segments(9, 8, 8)
	o := stock.Order{OrderID: "b", BuyerID: "buyer", Quantity: 3}
	result := k.deduct(1, stock.Fence{Token: 7, Owner: "x"}, o, order("a", 4))
	k.outcomes(result.Outcomes, stock.Accepted, stock.Accepted)
	k.segments(9, 1, 8)
	if result.Available != 1 {
		t.Errorf("available: got %d, want 1", result.Available)
	}
	want := stock.Deduction{
		SKU: sku, Order: stock.Order{OrderID: "b", BuyerID: "buyer", Quantity: 3}, Quantity: 3, Status: stock.StatusCommitted,
	}
	k.equal("outcome", fmt.Sprintf("%+v", result.Outcomes[0].Deduction), fmt.Sprintf("%+v", want))
	got, err := k.store.Deduction(t.Context(), sku, "b")
	want.Parts = []stock.Part{{Segment: 1, Quantity: 3}}
	if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("read back: got %+v, %v, want %+v", got, err, want)
	}
	k.absent("c")
}

func testShortOrder(t *testing.T, k *kit) {
	k.create(10, 1)
	result := k.deduct(0, stock.Fence{}, order("a", 6), order("b", 7), order("c", 4), order("d", 1))
	k.outcomes(result.Outcomes, stock.Accepted, stock.Short, stock.Accepted, stock.Short)
	if got := result.Outcomes[1].Available; got != 4 {
		t.Errorf("the short order saw %d, want 4", got)
	}
	k.segments(0)
	k.absent("b")
	k.absent("d")
}

func testInTurn(t *testing.T, k *kit) {
	k.create(10, 1)
	k.deduct(0, stock.Fence{}, order("known", 1))
	batch := k.batch(0, stock.Fence{}, order("a", 5), order("b", 7), order("c", 4), order("known", 1), order("d", 1))
	batch.InTurn = true
	result, err := k.store.Deduct(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	k.outcomes(result.Outcomes, stock.Accepted, stock.Short, stock.Short, stock.Known, stock.Short)
	k.segments(4)
	for _, id := range []string{"b", "c", "d"} {
		k.absent(id)
	}
}

func testTurns(_ *testing.T, k *kit) {
	k.create(1, 1)
	result := k.deduct(0, stock.Fence{}, order("z", 1), order("a", 1))
	k.outcomes(result.Outcomes, stock.Accepted, stock.Short)
}

// testShortRace lets batches of which a part does not fit race over the same ids in two segments.
func testShortRace(t *testing.T, k *kit) {
	const rounds = 40
	k.create(6*rounds, 2)
	var sold int64
	for round := range rounds {
		batch := append(orders(fmt.Sprintf("round-%d", round), 3), order(fmt.Sprintf("large-%d", round), 1000))
		results := k.race(t, func(ctx context.Context, segment int) (stock.BatchResult, error) {
			return k.store.Deduct(ctx, k.batch(segment, stock.Fence{}, batch...))
		})
		for i := range 3 {
			a, b := results[0].Outcomes[i].Kind, results[1].Outcomes[i].Kind
			if a+b != stock.Accepted+stock.Known {
				t.Fatalf("round %d, order %d: outcomes %d and %d", round, i, a, b)
			}
			sold++
		}
	}
	k.sold(sold)
}

func testReplay(_ *testing.T, k *kit) {
	k.create(10, 2)
	k.deduct(0, stock.Fence{}, stock.Order{OrderID: "a", BuyerID: "x", Quantity: 2})
	// Another content under a used id: the store says with what it was used.
	result := k.deduct(1, stock.Fence{}, order("a", 3), order("b", 1))
	k.outcomes(result.Outcomes, stock.Known, stock.Accepted)
	if d := result.Outcomes[0].Deduction; d.Quantity != 2 || d.BuyerID != "x" || d.OrderID != "a" {
		k.Fatalf("known as %+v", d)
	}
	result = k.deduct(1, stock.Fence{}, order("a", 2)) // a batch of nothing but replays
	k.outcomes(result.Outcomes, stock.Known)
	k.segments(3, 4)
	if result.Available != 4 {
		k.Fatalf("available: got %d, want 4", result.Available)
	}
	known, err := k.store.Deductions(k.Context(), sku, []string{"a", "b", "c"})
	if err != nil || len(known) != 2 || known["a"].Quantity != 2 {
		k.Fatalf("look-up: got %+v, %v", known, err)
	}
}

func testReplayWhenGone(_ *testing.T, k *kit) {
	k.create(3, 1)
	k.deduct(0, stock.Fence{}, order("a", 3))
	result := k.deduct(0, stock.Fence{}, order("b", 1), order("a", 3))
	k.outcomes(result.Outcomes, stock.Short, stock.Known)
	k.segments(0)
}

// testReplayRace sends one batch of orders through two segments at once: every id is accepted once, and whoever
// comes second is told of it, although the first one's row was not there when its statement began.
func testReplayRace(t *testing.T, k *kit) {
	const rounds, size = 25, 8
	k.create(2*rounds*size, 2)
	for round := range rounds {
		batch := orders(fmt.Sprintf("round-%d", round), size)
		results := k.race(t, func(ctx context.Context, segment int) (stock.BatchResult, error) {
			return k.store.Deduct(ctx, k.batch(segment, stock.Fence{}, batch...))
		})
		for i, o := range batch {
			pair := []stock.Outcome{results[0].Outcomes[i], results[1].Outcomes[i]}
			accepted := slices.IndexFunc(pair, func(o stock.Outcome) bool { return o.Kind == stock.Accepted })
			if accepted < 0 || pair[1-accepted].Kind != stock.Known || pair[1-accepted].Deduction.OrderID != o.OrderID {
				t.Fatalf("round %d, order %s: outcomes %+v", round, o.OrderID, pair)
			}
		}
	}
	k.sold(rounds * size)
}

// testOppositeOrder sends the same ids in opposite order: a deadlock would be an error.
func testOppositeOrder(t *testing.T, k *kit) {
	const rounds, size = 25, 64
	k.create(4*rounds*size, 2)
	for round := range rounds {
		batch := orders(fmt.Sprintf("round-%d", round), size)
		reversed := slices.Clone(batch)
		slices.Reverse(reversed)
		k.race(t, func(ctx context.Context, segment int) (stock.BatchResult, error) {
			list := [][]stock.Order{batch, reversed}[segment]
			return k.store.Deduct(ctx, k.batch(segment, stock.Fence{}, list...))
		})
	}
	k.sold(rounds * size)
}

// race calls f for segments 0 and 1 at once.
func (k *kit) race(t *testing.T, f func(context.Context, int) (stock.BatchResult, error)) (results [2]stock.BatchResult) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	for segment := range results {
		group.Go(func() (err error) {
			results[segment], err = f(ctx, segment)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return results
}

// sold checks the units taken.
func (k *kit) sold(want int64) {
	k.Helper()
	status, err := k.store.Status(k.Context(), sku, at)
	if err != nil || status.Committed != want {
		k.Fatalf("sold: got %d, %v, want %d", status.Committed, err, want)
	}
}

func testIDs(t *testing.T, k *kit) {
	k.create(100, 1)
	for i, id := range []string{"ü€😀", `'"\%_{}`, "a b/c?d#e", strings.Repeat("x", 128), "NULL", "{1,2}", "-0"} {
		k.outcomes(k.deduct(0, stock.Fence{}, stock.Order{OrderID: id, BuyerID: id, Quantity: 1}).Outcomes, stock.Accepted)
		d, err := k.store.Deduction(t.Context(), sku, id)
		if err != nil || d.OrderID != id || d.BuyerID != id {
			t.Fatalf("id %d %q came back as %+v, %v", i, id, d, err)
		}
		k.outcomes(k.deduct(0, stock.Fence{}, stock.Order{OrderID: id, BuyerID: id, Quantity: 1}).Outcomes, stock.Known)
	}
}

func testEndedContext(t *testing.T, k *kit) {
	k.create(10, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.store.Deduct(ctx, k.batch(0, stock.Fence{}, orders("a", 1)...)); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	k.segments(10)
}
