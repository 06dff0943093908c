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
	unknown   = "" // nobody knows of it
)

// follows tells whether a deduction in one state can be found in another one later.
func follows(before, after string) bool {
	switch before {
	case unknown, reserved:
		return true // also none: what tells of no state tells nothing
	case committed:
		return after == committed || after == cancelled
	default:
		return after == before
	}
}

// sight is a state that somebody was told.
type sight struct {
	state string
	from  time.Time // the question was sent
	to    time.Time // the answer was there
	of    *Operation
}

// states: what one caller was told of a deduction, no later answer and no row undoes.
func (c *checker) states(k key, all []*Operation) {
	var seen []sight
	row, there := c.rows[k]
	accepted := time.Time{} // since when callers know that there is a row
	for _, o := range all {
		for _, a := range o.Attempts {
			if state := stateTold(o, a.Answer); state != unknown {
				seen = append(seen, sight{state, a.Sent, a.Ended, o})
				if accepted.IsZero() || a.Ended.Before(accepted) {
					accepted = a.Ended
				}
			}
			if a.Answer.State == expired && there && a.Ended.Before(row.Expires) {
				c.complain(o, "too early", "it expires at %s", clock(row.Expires))
			}
		}
	}
	for _, o := range all {
		for _, a := range o.Attempts {
			if a.Answer.Code == "unknown_deduction" && !accepted.IsZero() && accepted.Before(a.Sent) {
				c.complain(o, "lost", "it was there at %s", clock(accepted))
			}
		}
	}
	slices.SortFunc(seen, func(a, b sight) int { return cmp.Or(a.to.Compare(b.to), a.from.Compare(b.from)) })
	if there && len(seen) > 0 {
		seen = append(seen, sight{state: row.State, from: seen[len(seen)-1].to.Add(time.Hour), of: seen[len(seen)-1].of})
	}
	for i, before := range seen {
		for _, after := range seen[i+1:] {
			if before.to.Before(after.from) && !follows(before.state, after.state) {
				c.complain(after.of, "undone", "SKU %q: it was told %q at %s, and then it was %q", k.sku, before.state, clock(before.to), after.state)
				return
			}
		}
	}
}

// stateTold is what an answer tells of the state of a deduction.
func stateTold(o *Operation, a Answer) string {
	switch {
	case !a.Accepted():
		return unknown
	case o.Kind == Order && o.ReserveFor == 0 && a.Status == statusCreated:
		return committed
	default:
		return a.State
	}
}

const statusCreated = 201
