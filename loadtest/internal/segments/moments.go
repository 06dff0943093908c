package segments

import (
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/loadtest/internal/compare"
)

// moment is what happened in a slice of an overload. Answers count when they come, and their times when the order was
// planned: that is when its buyer began to wait.
type moment struct {
	offered, accepted, refused int
	sold, turnedAway           []time.Duration
}

// moments are the slices of one plan's answers.
func (all replies) moments() []moment {
	var out []moment
	at := func(when time.Duration) *moment {
		i := int(when / slice)
		for len(out) <= i {
			out = append(out, moment{})
		}
		return &out[i]
	}
	for _, r := range all {
		asked := at(r.planned)
		asked.offered++
		switch r.code {
		case "":
			asked.sold = append(asked.sold, r.took)
			at(r.planned+r.took).accepted++
		case stock.CodeOverloaded:
			asked.turnedAway = append(asked.turnedAway, r.took)
			at(r.planned+r.took).refused++
		}
	}
	return out
}

// show adds a round to what is shown over time.
func (f *flood) show(all replies) {
	for i, m := range all.moments() {
		for to, n := range map[*course]int{&f.offered: m.offered, &f.accepted: m.accepted, &f.refused: m.refused} {
			to.note(i, float64(n)/slice.Seconds())
		}
		noteQuantile(&f.acceptedP50, i, m.sold, 0.5)
		noteQuantile(&f.acceptedP99, i, m.sold, 0.99)
		noteQuantile(&f.refusedP99, i, m.turnedAway, 0.99)
	}
}

// noteQuantile notes the time that a share of all stayed within, in milliseconds, where there are any.
func noteQuantile(to *course, i int, times []time.Duration, share float64) {
	if len(times) == 0 {
		return
	}
	slices.Sort(times)
	to.note(i, compare.Milliseconds(times[int(share*float64(len(times)-1))]))
}
