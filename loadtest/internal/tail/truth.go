package tail

import (
	"cmp"
	"slices"
	"time"
)

// sale is what was sold at some moment between two.
type sale struct {
	from, to time.Duration
	units    int64
}

// refusal is an answer to somebody who wanted so many units.
type refusal struct {
	at    time.Duration
	units int64
}

// level is what had been sold by a moment, since the one before.
type level struct {
	at   time.Duration
	sold int64
}

// ladder sums up what was sold by each moment, when that is what when tells of a sale.
func ladder(sales []sale, when func(sale) time.Duration) []level {
	steps := make([]level, len(sales))
	for i, s := range sales {
		steps[i] = level{when(s), s.units}
	}
	slices.SortFunc(steps, func(a, b level) int { return cmp.Compare(a.at, b.at) })
	for i := 1; i < len(steps); i++ {
		steps[i].sold += steps[i-1].sold
	}
	return steps
}

// by is what had been sold by a moment, that moment included.
func by(ladder []level, at time.Duration) int64 {
	n, _ := slices.BinarySearchFunc(ladder, at+1, func(l level, at time.Duration) int { return cmp.Compare(l.at, at) })
	if n == 0 {
		return 0
	}
	return ladder[n-1].sold
}

// judge counts the refusals that were false for certain, and those that may have been: see the package's comment.
func judge(stock int64, sales []sale, refusals []refusal) (proven, undecided int) {
	sent := ladder(sales, func(s sale) time.Duration { return s.from })
	answered := ladder(sales, func(s sale) time.Duration { return s.to })
	for _, r := range refusals {
		switch {
		case r.units <= stock-by(sent, r.at):
			proven++
		case r.units <= stock-by(answered, r.at):
			undecided++
		}
	}
	return proven, undecided
}

// longestGap is the longest time between two answers that sold something, and from 0 to the first, among those that end
// after a moment.
func longestGap(sales []sale, after time.Duration) (longest time.Duration) {
	var last time.Duration
	for _, l := range ladder(sales, func(s sale) time.Duration { return s.to }) {
		if l.at > after {
			longest = max(longest, l.at-max(last, 0))
		}
		last = l.at
	}
	return longest
}
