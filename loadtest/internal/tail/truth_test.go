package tail

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

const ms = time.Millisecond

func TestRefusalsAreJudged(t *testing.T) {
	t.Parallel()
	// Of 10 units, 4 are gone by 20 ms, and 3 more go between 30 and 50 ms.
	sales := []sale{{30 * ms, 50 * ms, 3}, {10 * ms, 20 * ms, 4}}
	for name, c := range map[string]struct {
		refusal           refusal
		proven, undecided int
	}{
		"before anything was sent":   {refusal{5 * ms, 10}, 1, 0},
		"more than there ever was":   {refusal{5 * ms, 11}, 0, 0},
		"while the first is sold":    {refusal{15 * ms, 7}, 0, 1},
		"when the first was sold":    {refusal{20 * ms, 7}, 0, 0},
		"what is left of it":         {refusal{20 * ms, 6}, 1, 0},
		"while the second is sold":   {refusal{40 * ms, 4}, 0, 1},
		"less than is left of both":  {refusal{40 * ms, 3}, 1, 0},
		"when the second was sold":   {refusal{50 * ms, 4}, 0, 0},
		"at the end, what was there": {refusal{time.Hour, 3}, 1, 0},
	} {
		if proven, undecided := judge(10, sales, []refusal{c.refusal}); proven != c.proven || undecided != c.undecided {
			t.Errorf("%s: %d proven, %d undecided", name, proven, undecided)
		}
	}
}

// TestNoTrueRefusalIsProvenFalse draws histories of which everything is known.
func TestNoTrueRefusalIsProvenFalse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		moment := func(from int, name string) time.Duration {
			return time.Duration(rapid.IntRange(from, 60).Draw(t, name)) * ms
		}
		var sales []sale
		var happened []time.Duration
		stock := int64(rapid.IntRange(0, 10).Draw(t, "left in the end"))
		for range rapid.IntRange(0, 12).Draw(t, "sales") {
			from := moment(0, "from")
			at := moment(int(from/ms), "at")
			s := sale{from, moment(int(at/ms), "to"), int64(rapid.IntRange(1, 5).Draw(t, "units"))}
			sales, happened, stock = append(sales, s), append(happened, at), stock+s.units
		}
		r := refusal{moment(0, "refused"), int64(rapid.IntRange(1, 20).Draw(t, "wanted"))}
		left := stock
		for i, at := range happened {
			if at <= r.at {
				left -= sales[i].units
			}
		}
		proven, undecided := judge(stock, sales, []refusal{r})
		if wasFalse := r.units <= left; proven > 0 && !wasFalse || proven+undecided == 0 && wasFalse {
			t.Fatalf("%d proven, %d undecided, and %d were left for %d", proven, undecided, left, r.units)
		}
	})
}

func TestGaps(t *testing.T) {
	t.Parallel()
	sales := []sale{{0, 90 * ms, 1}, {0, 30 * ms, 1}, {0, 50 * ms, 1}}
	for after, want := range map[time.Duration]time.Duration{0: 40 * ms, 45 * ms: 40 * ms, 20 * ms: 40 * ms, 90 * ms: 0} {
		if got := longestGap(sales, after); got != want {
			t.Errorf("after %v: %v", after, got)
		}
	}
	if got := longestGap(sales[1:2], 0); got != 30*ms {
		t.Errorf("until the first: %v", got)
	}
}
