package stocktest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/stock"
)

func adjust(ref string, units int64) stock.Movement {
	return stock.Movement{SKU: sku, Ref: ref, Kind: stock.Adjusted, Quantity: units, Reason: "counted", At: at}
}

func resegment(ref string, segments int) stock.Movement {
	return stock.Movement{SKU: sku, Ref: ref, Kind: stock.Resegmented, Segments: segments, At: at}
}

// moved makes a movement that is new.
func (k *kit) moved(m stock.Movement) {
	k.Helper()
	if created, err := k.store.Move(k.Context(), m); err != nil || !created {
		k.Fatalf("%+v: created %v, %v", m, created, err)
	}
	if m.NewLayout() {
		k.layout++
	}
}

func testAdjust(t *testing.T, k *kit) {
	k.create(10, 3)
	k.moved(adjust("up", 5))
	k.segments(6, 5, 4)
	before := fmt.Sprint(k.soldOut(0))
	k.moved(adjust("down", -7))
	k.segmentsSum(8)
	if after := fmt.Sprint(k.soldOut(0)); after == before {
		t.Errorf("an adjustment left the versions at %s", after)
	}
	for _, again := range []stock.Movement{adjust("up", 5), adjust("down", -7)} {
		if created, err := k.store.Move(t.Context(), again); created || err != nil {
			t.Errorf("again: %v, %v", created, err)
		}
	}
	other := adjust("up", 5)
	other.Reason = "counted anew"
	for _, reused := range []stock.Movement{adjust("up", -5), other, restock(sku, "up", 5), resegment("up", 2)} {
		_, err := k.store.Move(t.Context(), reused)
		k.code(err, stock.CodeRefReused)
	}
	_, err := k.store.Move(t.Context(), adjust("too many", -9))
	k.short(err, 8)
	k.moved(adjust("all", -8))
	_, err = k.store.Move(t.Context(), adjust("one more", -1))
	k.short(err, 0)
	k.balance(at, 0, 0, 0)
	unknown := adjust("r", 1)
	unknown.SKU = "nope"
	_, err = k.store.Move(t.Context(), unknown)
	k.code(err, stock.CodeUnknownSKU)
}

func (k *kit) short(err error, available int64) {
	k.Helper()
	k.code(err, stock.CodeInsufficientStock)
	var refusal *stock.Error
	if errors.As(err, &refusal); refusal.Available != available {
		k.Fatalf("available: got %d, want %d", refusal.Available, available)
	}
	if want := fmt.Sprintf("SKU %q has %d available, fewer than are to be taken away", sku, available); refusal.Message != want {
		k.Fatalf("got %q, want %q", refusal.Message, want)
	}
}

// testAdjustTakesBackFirst: units of expired reservations are there to be taken away.
// testAdjustIfStock: of two who both want the stock to be 120, one changes it.
func testAdjustIfStock(t *testing.T, k *kit) {
	k.create(100, 3)
	k.deduct(0, stock.Fence{}, order("sold", 5))
	const clerks = 8
	var done [clerks]bool
	calls := make([]func(context.Context) error, clerks)
	for n := range calls {
		m := adjust(fmt.Sprint("clerk ", n), 20)
		m.IfStock = new(int64(100))
		calls[n] = func(ctx context.Context) error {
			created, err := k.store.Move(ctx, m)
			if stock.CodeOf(err) == stock.CodeStockChanged {
				var changed *stock.Error
				if errors.As(err, &changed); changed.Stock != 120 {
					return fmt.Errorf("told a stock of %d, want 120", changed.Stock)
				}
				err = nil
			}
			done[n] = created
			return err
		}
	}
	k.together(calls...)
	var ref string
	for n, d := range done {
		if d && ref != "" {
			t.Errorf("got two that changed it, %s and clerk %d", ref, n)
		} else if d {
			ref = fmt.Sprint("clerk ", n)
		}
	}
	k.segmentsSum(115)
	again := adjust(ref, 20)
	again.IfStock = new(int64(100))
	if created, err := k.store.Move(t.Context(), again); created || err != nil {
		t.Errorf("again: got %t, %v, want a replay", created, err)
	}
}

func testAdjustTakesBackFirst(t *testing.T, k *kit) {
	k.create(10, 2)
	k.merge(nil, reserved("a", 8, time.Minute), reserved("b", 2, time.Hour))
	down := adjust("down", -6)
	_, err := k.store.Move(t.Context(), down)
	k.short(err, 0)
	down.At = at.Add(time.Minute)
	k.moved(down)
	k.balance(down.At, 2, 2, 0)
	k.segmentsSum(2)
}

func testMovements(t *testing.T, k *kit) {
	if _, err := k.store.Movements(t.Context(), sku, stock.Position{}, 9); stock.CodeOf(err) != stock.CodeUnknownSKU {
		t.Errorf("of no SKU: %v", err)
	}
	k.create(10, 2)
	early := restock(sku, "c", 5)
	early.At, early.Reason = at.Add(-time.Hour), "late"
	want := []stock.Movement{restock(sku, "b", 1), adjust("z", -2), resegment("a", 3), early}
	for _, m := range want {
		k.moved(m)
	}
	k.moved(restock(sku, "d", 2))
	for i := range want { // one clock for all: times grow in the order of the commits
		want[i].At = at.Add(time.Duration(i) * time.Microsecond)
	}
	got, err := k.store.Movements(t.Context(), sku, stock.Position{}, len(want))
	if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
	last := got[len(got)-1]
	got, err = k.store.Movements(t.Context(), sku, stock.Position{At: last.At, Ref: last.Ref}, 9)
	if err != nil || len(got) != 1 || got[0].Ref != "d" {
		t.Fatalf("behind %s: %+v, %v", last.Ref, got, err)
	}
	got, err = k.store.Movements(t.Context(), sku, stock.Position{At: got[0].At, Ref: "d"}, 9)
	if err != nil || len(got) != 0 {
		t.Fatalf("behind the last: %+v, %v", got, err)
	}
}

// testMovementsBesideWriters reads page after page while others write: who goes on from what was read misses none.
func testMovementsBesideWriters(t *testing.T, k *kit) {
	const writers, each = 4, 20
	k.create(1000, 3)
	group, ctx := errgroup.WithContext(t.Context())
	for writer := range writers {
		group.Go(func() error {
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
	over := make(chan error, 1)
	go func() { over <- group.Wait() }()
	seen, after, ended := make(map[string]bool), stock.Position{}, false
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
		if len(page) > 0 {
			continue
		}
		if ended {
			break
		}
		select {
		case err := <-over:
			if err != nil {
				t.Fatal(err)
			}
			ended = true // one more look: the last ones may have come after this one
		default:
		}
	}
	k.equal("movements seen", fmt.Sprint(len(seen)), fmt.Sprint(writers*each))
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
		if after, _, _ := k.soldOut(0); min(after[0], after[segments-1]) <= max(before[0], before[len(before)-1]) {
			t.Errorf("versions: %v, then %v", before, after)
		}
		for _, layout := range []int64{stale, k.layout + 1} {
			k.refusesLayout(layout, segments-1)
		}
		status, err := k.store.Status(t.Context(), sku, at)
		if err != nil || status.Layout != k.layout || status.Stock != 10 {
			t.Fatalf("status: %+v, %v, want layout %d", status, err, k.layout)
		}
	}
	if created, err := k.store.Move(t.Context(), resegment("to 1 at 2", 1)); created || err != nil {
		t.Fatalf("again: %v, %v", created, err)
	}
	_, err := k.store.Move(t.Context(), resegment("to 1 at 2", 2))
	k.code(err, stock.CodeRefReused)
	k.segments(3, 2, 2)
	// Units of a segment that is gone go to another one, on time and by hand.
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

// refusesLayout tries every write that tells a layout.
func (k *kit) refusesLayout(layout int64, segment int) {
	k.Helper()
	batch, merge := k.batch(segment, stock.Fence{}, order("late", 1)), k.merging(nil, order("late", 1))
	batch.Layout, merge.Layout = layout, layout
	_, whole := k.store.Deduct(k.Context(), batch)
	batch.Orders = append(batch.Orders, order("later", 1000))
	_, short := k.store.Deduct(k.Context(), batch)
	_, merged := k.store.Merge(k.Context(), merge)
	placed := stock.PlacedLine{Layout: layout, Segment: segment}
	_, _, ordered := k.place(k.Context(), "late", stock.Line{SKU: sku, Quantity: 1}, placed)
	for _, err := range []error{whole, short, merged, ordered} {
		if !errors.Is(err, stock.ErrLayout) {
			k.Fatalf("layout %d: got %v, want ErrLayout", layout, err)
		}
	}
	k.absent("late")
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
	k.balance(m.At.Add(time.Hour), 12, 0, 0)
}
