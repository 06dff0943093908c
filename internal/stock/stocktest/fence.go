package stocktest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"inventory/internal/stock"
)

// fencedWay is a way in which one unit of segment 0 is taken under a fence.
type fencedWay struct {
	name  string
	limit int64 // per buyer; 0: none
	write func(k *kit, o stock.Order, layout int64, fence stock.Fence) error
}

const fenceLimit = 100 // per buyer, where there is a limit

// fencedWays are all of them: each may be another statement of a store.
func fencedWays() []fencedWay {
	batch := func(others ...stock.Order) func(*kit, stock.Order, int64, stock.Fence) error {
		return func(k *kit, o stock.Order, layout int64, fence stock.Fence) error {
			b := k.batch(0, fence, append([]stock.Order{o}, others...)...)
			b.Layout = layout
			_, err := k.store.Deduct(k.Context(), b)
			return err
		}
	}
	merge := func(k *kit, o stock.Order, layout int64, fence stock.Fence) error {
		m := k.merging(map[int]stock.Fence{0: fence}, o)
		m.Layout = layout
		_, err := k.store.Merge(k.Context(), m)
		return err
	}
	line := func(k *kit, o stock.Order, layout int64, fence stock.Fence) error {
		p := placing(o.OrderID, []stock.Line{{SKU: sku, Quantity: o.Quantity}},
			[]stock.PlacedLine{{Layout: layout, Limit: k.limit, Fence: fence}})
		p.Order.BuyerID = o.BuyerID
		_, _, err := k.store.Order(k.Context(), p)
		return err
	}
	return []fencedWay{
		{"batch", 0, batch()},
		{"batch that is short", 0, batch(order("large", 60))},
		{"batch of buyers", fenceLimit, batch()},
		{"batch of buyers that is short", fenceLimit, batch(by("large", "large", 60))},
		{"merge", 0, merge},
		{"merge of buyers", fenceLimit, merge},
		{"order of several SKUs", 0, line},
		{"order of several SKUs of a buyer", fenceLimit, line},
	}
}

// checkFence tries a row that has seen a fence: lower ones and another owner's change nothing, and its own passes.
func (k *kit) checkFence(way fencedWay, seen stock.Fence) {
	k.Helper()
	for _, stale := range []stock.Fence{{Token: seen.Token - 1, Owner: seen.Owner}, {Token: seen.Token - 1, Owner: "other"}, {Token: seen.Token, Owner: "other"}} {
		before := k.available()
		k.fenced(way.write(k, by("stale", "stale", 1), k.layout, stale), map[int]int64{0: seen.Token})
		k.equal("available after a stale write", fmt.Sprint(k.available()), fmt.Sprint(before))
		k.absent("stale")
	}
	k.passes(way, seen)
}

// passes takes a unit.
func (k *kit) passes(way fencedWay, fence stock.Fence) {
	k.Helper()
	before := k.available()
	k.taken++
	id := fmt.Sprint("order ", k.taken)
	if err := way.write(k, by(id, id, 1), k.layout, fence); err != nil {
		k.Fatalf("under %+v: %v", fence, err)
	}
	if k.available() >= before {
		k.Fatalf("under %+v: nothing was taken", fence)
	}
}

func (k *kit) available() int64 {
	k.Helper()
	views, err := k.store.Views(k.Context(), sku)
	if err != nil {
		k.Fatal(err)
	}
	return sum(views[sku].Segments)
}

// testFences: whichever way a write goes, it is held to the fence and the layout of its row, and leaves its own fence there.
// Without a lock it leaves the row's.
func testFences(_ *testing.T, k *kit) {
	k.create(50, 1)
	for i, way := range fencedWays() {
		if way.limit == k.limit {
			k.keepsFences(way, int64(10*i+10))
		}
	}
}

func testFencesWithALimit(t *testing.T, k *kit) {
	k.limit = fenceLimit
	testFences(t, k)
}

// keepsFences begins with a token above that of the row.
func (k *kit) keepsFences(way fencedWay, token int64) {
	k.Helper()
	k.Log(way.name)
	first, second := stock.Fence{Token: token, Owner: "x"}, stock.Fence{Token: token + 1, Owner: "y"}
	k.passes(way, first)
	k.checkFence(way, first)
	k.passes(way, stock.Fence{})
	k.checkFence(way, first)
	k.passes(way, second)
	k.checkFence(way, second)
	for _, layout := range []int64{k.layout - 1, k.layout + 1} {
		if err := way.write(k, by("stale", "stale", 1), layout, second); !errors.Is(err, stock.ErrLayout) {
			k.Fatalf("layout %d of %d: %v", layout, k.layout, err)
		}
		k.absent("stale")
	}
	k.checkFence(way, second)
}

// testFencesStay: what gives units back, or moves them, has no lock and leaves the fence of the row.
func testFencesStay(t *testing.T, k *kit) {
	k.create(40, 1)
	seen, way := stock.Fence{Token: 10, Owner: "x"}, fencedWays()[0]
	k.deduct(0, seen, reserved("cancelled", 1, time.Minute), reserved("in part", 2, time.Minute), reserved("expired", 1, time.Minute))
	k.settled(at, cancel("cancelled"), stock.StatusCancelled, 1, 1)
	k.checkFence(way, seen)
	k.settled(at, stock.SettleRequest{OrderID: "in part", Quantity: 1}, stock.StatusCommitted, 1, 1)
	k.checkFence(way, seen)
	if n, err := k.store.Expire(t.Context(), sku, at.Add(time.Hour)); err != nil || n != 1 {
		t.Fatalf("expire: %d, %v", n, err)
	}
	k.checkFence(way, seen)
	k.moved(restock(sku, "restock", 1))
	k.checkFence(way, seen)
	k.moved(adjust("adjust", -1))
	k.checkFence(way, seen)
}

func testStaleToken(_ *testing.T, k *kit) {
	k.create(10, 1)
	k.deduct(0, stock.Fence{Token: 10, Owner: "x"}, order("a", 1))
	k.deduct(0, stock.Fence{Token: 10, Owner: "x"}, order("b", 1)) // the same hold goes on
	for _, stale := range []stock.Fence{{Token: 9, Owner: "x"}, {Token: 9, Owner: "y"}, {Token: 10, Owner: "y"}} {
		_, err := k.store.Deduct(k.Context(), k.batch(0, stale, order("c", 1), order("a", 1)))
		k.fenced(err, map[int]int64{0: 10})
		// One that does not fit takes another way through the store.
		_, err = k.store.Deduct(k.Context(), k.batch(0, stale, order("c", 1), order("d", 100)))
		k.fenced(err, map[int]int64{0: 10})
	}
	k.segments(8)
	k.absent("c")
	k.deduct(0, stock.Fence{Token: 11, Owner: "y"}, order("e", 1))
	k.segments(7)
}

// testShortBatchRaisesTheFence takes the way of a batch that does not fit: it leaves its token all the same.
func testShortBatchRaisesTheFence(_ *testing.T, k *kit) {
	k.create(5, 1)
	result := k.deduct(0, stock.Fence{Token: 10, Owner: "x"}, order("a", 2), order("b", 9))
	k.outcomes(result.Outcomes, stock.Accepted, stock.Short)
	_, err := k.store.Deduct(k.Context(), k.batch(0, stock.Fence{Token: 9, Owner: "y"}, order("c", 1)))
	k.fenced(err, map[int]int64{0: 10})
	k.segments(3)
}

func testStaleMerge(_ *testing.T, k *kit) {
	k.create(10, 2)
	k.deduct(1, stock.Fence{Token: 10, Owner: "x"}, order("a", 1))
	_, err := k.store.Merge(k.Context(), k.merging(map[int]stock.Fence{0: {Token: 20, Owner: "y"}, 1: {Token: 9, Owner: "y"}}, order("b", 7)))
	k.fenced(err, map[int]int64{1: 10})
	k.segments(5, 4)
	k.absent("b")
	// Segment 0 has not seen token 20: its holder of token 1 still passes.
	k.deduct(0, stock.Fence{Token: 1, Owner: "z"}, order("c", 1))
	// A merge raises the fence of the segments it changes.
	k.merge(map[int]stock.Fence{0: {Token: 30, Owner: "y"}, 1: {Token: 31, Owner: "y"}}, order("d", 8))
	k.segments(0, 0)
	for segment, stale := range []int64{29, 30} {
		_, err := k.store.Deduct(k.Context(), k.batch(segment, stock.Fence{Token: stale, Owner: "z"}, order("late", 1)))
		k.fenced(err, map[int]int64{segment: stale + 1})
	}
	_, err = k.store.Merge(k.Context(), k.merging(map[int]stock.Fence{0: {Token: 30, Owner: "z"}, 1: {Token: 1, Owner: "z"}}, order("late", 1)))
	k.fenced(err, map[int]int64{0: 30, 1: 31})
}

func testLocklessWrite(_ *testing.T, k *kit) {
	k.create(10, 1)
	k.deduct(0, stock.Fence{Token: 10, Owner: "x"}, order("a", 1))
	k.deduct(0, stock.Fence{}, order("b", 1))
	k.merge(nil, order("c", 1))
	k.deduct(0, stock.Fence{Token: 10, Owner: "x"}, order("d", 1))
	_, err := k.store.Deduct(k.Context(), k.batch(0, stock.Fence{Token: 9, Owner: "y"}, order("e", 1)))
	k.fenced(err, map[int]int64{0: 10})
	k.segments(6)
}
