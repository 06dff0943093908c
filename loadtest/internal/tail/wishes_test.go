package tail

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"inventory/loadtest/internal/openloop"
)

func TestASeedDecidesTheOrders(t *testing.T) {
	t.Parallel()
	sum := func(seed uint64) string {
		at := Config{Stock: 100_000, Rate: 300}.load(seed)
		return openloop.Sum(at, newWishes(seed, "hot", len(at)))
	}
	if first, again, other := sum(1), sum(1), sum(2); first != again || first == other {
		t.Errorf("seed 1: %s and %s, seed 2: %s", first, again, other)
	}
	asked, ids := map[int64]int{}, map[string]bool{}
	for _, w := range newWishes(1, "hot", 5000).all {
		asked[w.quantity]++
		ids[w.id] = true
	}
	if len(ids) != 5000 || len(asked) != few+1 || asked[many] < 50 || asked[many] > 200 || asked[1] < 800 || asked[few] < 800 {
		t.Errorf("%d ids; asked for %v", len(ids), asked)
	}
}

func TestPortionsLeaveTheTail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		units, segments := rapid.Int64Range(10_000, 10_000_000).Draw(t, "units"), rapid.Int64Range(1, 1024).Draw(t, "segments")
		tail := units / part
		left := units
		for _, q := range portions(rand.New(randomOf(rapid.Uint64().Draw(t, "seed"), "fill")), units, tail, segments) {
			if q < 1 || q > max(1, units/segments/portionMost) {
				t.Fatalf("an order of %d", q)
			}
			left -= q
		}
		if left != tail {
			t.Fatalf("%d units are left instead of %d", left, tail)
		}
	})
}
