package tail

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"inventory/loadtest/internal/load"
)

const ms = time.Millisecond

func TestGaps(t *testing.T) {
	t.Parallel()
	told := []time.Duration{30 * ms, 50 * ms, 90 * ms}
	for after, want := range map[time.Duration]time.Duration{0: 40 * ms, 45 * ms: 40 * ms, 20 * ms: 40 * ms, 90 * ms: 0} {
		if got := longestGap(told, after); got != want {
			t.Errorf("after %v: %v", after, got)
		}
	}
	if got := longestGap(told[:1], 0); got != 30*ms {
		t.Errorf("until the first: %v", got)
	}
}

// TestWhoGotNoAnswerAsksOn at the next process, and never at the one that is killed.
func TestWhoGotNoAnswerAsksOn(t *testing.T) {
	t.Parallel()
	all := fleet{{number: 0}, {number: 1}, {number: 2}}
	for victim, want := range map[*process][]int{nil: {1, 2, 0}, all[1]: {2, 2, 0}} {
		for asked, next := range want {
			p := all.others(victim, asked)
			if p.First != next || p.Next(asked) != next {
				t.Errorf("after %d, without %v: %d, and then %d instead of %d", asked, victim, p.First, p.Next(asked), next)
			}
		}
	}
}

func TestASeedDecidesTheOrders(t *testing.T) {
	t.Parallel()
	c := Config{Stock: 100_000, Rate: 300}
	sum := func(seed uint64) string {
		l := c.load(seed, "hot")
		return load.Sum(l.At, l.Operations)
	}
	if first, again, other := sum(1), sum(1), sum(2); first != again || first == other {
		t.Errorf("seed 1: %s and %s, seed 2: %s", first, again, other)
	}
	asked, ids := map[int64]int{}, map[string]bool{}
	c.Stock = 5_000_000
	all := c.load(1, "hot").Operations[:5000]
	for _, o := range all {
		asked[o.Lines[0].Quantity]++
		ids[o.ID] = true
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
		for _, o := range portions(load.NewRandom(rapid.Uint64().Draw(t, "seed"), "fill"), "hot", units, tail, segments) {
			q := o.Lines[0].Quantity
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
