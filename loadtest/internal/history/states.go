package history

import (
	"cmp"
	"slices"
	"time"
)

// The states of a deduction.
const (
	reserved  = "reserved"
	committed = "committed"
	cancelled = "cancelled"
	expired   = "expired"
	unknown   = "" // it was not answered
)

// follows reports whether a deduction in one state can be found in another one later.
func follows(before, after string) bool {
	switch before {
	case unknown, reserved:
		return true
	case committed:
		return after == committed || after == cancelled
	default:
		return after == before
	}
}

// sight is a state that was answered.
type sight struct {
	state string
	from  time.Time // the question was sent
	to    time.Time // the answer was there
	of    *Operation
}

// states: no later answer and no row undoes a state that was answered.
func (c *checker) states(k key, all []*Operation) {
	var seen []sight
	known := time.Time{} // since when callers know that there is a row
	for _, o := range all {
		for _, a := range o.Attempts {
			if state := stateTold(o, a.Answer); state != unknown {
				seen = append(seen, sight{state, a.Sent, a.Ended, o})
				if known.IsZero() || a.Ended.Before(known) {
					known = a.Ended
				}
			}
		}
	}
	for _, o := range all {
		for _, a := range o.Attempts {
			if a.Answer.Code == unknownDeduction && !known.IsZero() && known.Before(a.Sent) {
				c.violated(o, "lost", "it was there at %s", clock(known))
			}
		}
	}
	slices.SortFunc(seen, func(a, b sight) int { return cmp.Or(a.to.Compare(b.to), a.from.Compare(b.from)) })
	if row, there := c.rows[k]; there && len(seen) > 0 {
		seen = append(seen, sight{state: row.State, from: seen[len(seen)-1].to.Add(time.Hour), of: seen[len(seen)-1].of})
	}
	for i, before := range seen {
		for _, after := range seen[i+1:] {
			if before.to.Before(after.from) && !follows(before.state, after.state) {
				c.violated(after.of, "undone", "SKU %q: it was told %q at %s, and then it was %q", k.sku, before.state, clock(before.to), after.state)
				return
			}
		}
	}
}

// stateTold is the state of the deduction that an answer shows.
func stateTold(o *Operation, a Answer) string {
	switch {
	case !a.Accepted():
		return unknown
	case a.State != unknown:
		return a.State
	case o.Kind == Commit:
		return committed
	case o.Kind == Cancel:
		return cancelled
	case o.Kind.Takes() && a.Status == statusCreated && o.ReserveFor == 0:
		return committed
	case o.Kind.Takes() && a.Status == statusCreated:
		return reserved
	default:
		return unknown
	}
}

// estimate is how far a process's estimate of the database's clock may be behind.
const estimate = 100 * time.Millisecond

// times: a reservation lasts until its time, and no longer.
func (c *checker) times(k key, all []*Operation, readAt time.Time) {
	row, there := c.rows[k]
	if !there || row.Expires.IsZero() {
		return
	}
	ends := row.Expires
	mayCancel, mayCommit, mayHaveCommitted := false, false, false
	for _, o := range all {
		mayCancel = mayCancel || o.possible() && (o.Kind == Cancel || o.Kind == Return && row.State == cancelled)
		mayCommit = mayCommit || o.Kind == Commit && o.possible()
		mayHaveCommitted = mayHaveCommitted || o.Kind == Commit && o.possible() && !o.first().After(ends.Add(c.promise.Clocks))
	}
	for _, o := range all {
		for _, a := range o.Attempts {
			early, late := a.Ended.Add(c.promise.Clocks).Before(ends), a.Sent.After(ends.Add(c.promise.Clocks))
			switch {
			case early && (a.Answer.State == expired || a.Answer.Code == notReserved && !mayCancel && !(o.Kind == Extend && mayCommit)):
				c.violated(o, "too early", "it expires at %s", clock(ends))
			case late && (o.Kind == Read && a.Answer.State == reserved && a.Sent.After(ends.Add(c.promise.Clocks+estimate)) || o.Kind == Commit && a.Answer.Accepted() && !mayHaveCommitted):
				c.violated(o, "too late", "it had expired at %s", clock(ends))
			}
		}
	}
	if c.promise.Sweep > 0 && row.State == reserved && readAt.After(ends.Add(c.promise.Sweep+c.promise.Clocks)) {
		c.violated(all[0], "too late", "it is reserved at %s, and had expired at %s", clock(readAt), clock(ends))
	}
}
