package history

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"inventory/internal/api/client"
)

// The states of a deduction.
const (
	reserved  = "reserved"
	committed = "committed"
	cancelled = "cancelled"
	expired   = "expired"
	returned  = "returned"
	unknown   = "" // it was not answered
)

// follows reports whether a deduction in one state can be found in another one later. retaken: its units may have been taken again
// after it had ended.
func follows(before, after string, retaken bool) bool {
	switch before {
	case unknown, reserved:
		return true
	case committed:
		return after == committed || after == returned
	case expired, cancelled:
		return after == before || retaken && (after == committed || after == returned)
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

// states: no later answer and no row undoes a state that was answered, and each state has its cause.
func (c *checker) states(k key, all []*Operation) {
	var seen []sight
	for _, o := range all {
		for _, a := range o.Attempts {
			if state := stateTold(o, a.Answer, k.sku); state != unknown {
				seen = append(seen, sight{state, a.Sent, a.Ended, o})
			}
		}
	}
	if len(seen) == 0 {
		return
	}
	slices.SortFunc(seen, func(a, b sight) int { return cmp.Or(a.to.Compare(b.to), a.from.Compare(b.from)) })
	for _, o := range all {
		for _, a := range o.Attempts {
			if (a.Answer.Code == client.UnknownDeduction || a.Answer.Code == client.UnknownOrder) && seen[0].to.Before(a.Sent) {
				c.violated(o, "lost", "it was there at %s", clock(seen[0].to))
			}
		}
	}
	row, there := c.rows[k]
	if there {
		last := seen[len(seen)-1]
		seen = append(seen, sight{state: row.State, from: last.to.Add(time.Hour), to: last.to.Add(time.Hour), of: last.of})
	}
	retaken := c.may(k, Operation.retakes) != nil
	for i, before := range seen {
		c.tries("undone")
		c.cause(k, before)
		for _, after := range seen[i+1:] {
			if before.to.Before(after.from) && !follows(before.state, after.state, retaken) {
				c.violated(after.of, "undone", "SKU %q: it was told %q at %s, and then it was %q", k.sku, before.state, clock(before.to), after.state)
				return
			}
		}
	}
	if !there {
		c.violated(seen[0].of, "lost", "SKU %q has no row of it, and it was told %q", k.sku, seen[0].state)
	}
}

// stateTold is the state of the deduction that an answer shows.
func stateTold(o *Operation, a Answer, sku string) string {
	switch {
	case a.of(sku) != unknown:
		return a.of(sku)
	case !a.Accepted():
		return unknown
	case o.Kind == Commit:
		return committed
	case o.Kind == Cancel && o.Ref == "":
		return cancelled
	case o.Kind.TakesUnits() && a.Status == http.StatusCreated && o.ReserveFor == 0:
		return committed
	case o.Kind.TakesUnits() && a.Status == http.StatusCreated:
		return reserved
	default:
		return unknown
	}
}

func (o Operation) commits() bool { return o.Kind == Commit }
func (o Operation) retakes() bool { return o.Kind == Commit && o.Retake }
func (o Operation) cancels() bool { return o.Kind == Cancel }
func (o Operation) returns() bool { return o.Kind == Return }

// may is every operation of a sort that may have changed a deduction. A line of an order is only returned alone.
func (c *checker) may(k key, sort func(Operation) bool) (all []*Operation) {
	for _, o := range c.about[k] {
		if sort(*o) && o.possible() && !c.isPart(o) {
			all = append(all, o)
		}
	}
	return all
}

// cause: somebody had asked for what was told, and it had not yet ended by itself if it was told to be held.
func (c *checker) cause(k key, s sight) {
	asker := c.askers[k]
	if asker == nil {
		return // told elsewhere
	}
	begun := func(sort func(Operation) bool) bool {
		return slices.ContainsFunc(c.may(k, sort), func(o *Operation) bool { return !o.first().After(s.to) })
	}
	ok := true
	switch reserves := asker.ReserveFor > 0; s.state {
	case reserved, expired:
		ok = reserves
	case committed:
		ok = !reserves || begun(Operation.commits)
	case cancelled:
		ok = reserves && begun(Operation.cancels)
	case returned:
		ok = (!reserves || begun(Operation.commits)) && begun(Operation.returns)
	}
	if row, there := c.rows[k]; there && ok {
		early := s.to.Add(c.promise.Clocks)
		ok = !(s.state == committed && row.State != cancelled && early.Before(row.Committed)) &&
			!((s.state == cancelled || s.state == returned) && s.state == row.State && early.Before(row.Ended))
	}
	if !ok {
		c.violated(s.of, "no cause", "SKU %q: it is told %q at %s, and nobody had asked for that", k.sku, s.state, clock(s.to))
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
	c.tries("too early")
	ends := row.Expires
	mayCancel, mayCommit := c.may(k, Operation.cancels) != nil, c.may(k, Operation.commits) != nil
	mayHaveCommitted := slices.ContainsFunc(c.may(k, Operation.commits), func(o *Operation) bool {
		return o.Retake || !o.first().After(ends.Add(c.promise.Clocks))
	})
	for _, o := range all {
		for _, a := range o.Attempts {
			state := a.Answer.of(k.sku)
			early, late := a.Ended.Add(c.promise.Clocks).Before(ends), a.Sent.After(ends.Add(c.promise.Clocks))
			held := (o.Kind == Read || o.Kind.TakesUnits() && a.Answer.Accepted()) && state == reserved
			switch {
			case early && (state == expired || a.Answer.Code == client.NotReserved && !mayCancel && !(o.Kind == Extend && mayCommit)):
				c.violated(o, "too early", "it expires at %s", clock(ends))
			case late && (held && a.Sent.After(ends.Add(c.promise.Clocks+estimate)) || o.Kind == Commit && a.Answer.Accepted() && !mayHaveCommitted):
				c.violated(o, "too late", "it had expired at %s", clock(ends))
			}
		}
	}
	if c.promise.Sweep > 0 && row.State == reserved && readAt.After(ends.Add(c.promise.Sweep+c.promise.Clocks)) {
		c.violated(all[0], "too late", "it is reserved at %s, and had expired at %s", clock(readAt), clock(ends))
	}
}

// dates: a reservation was committed or cancelled before its end, or committed after it by who may take its units again. Nothing
// that was committed was cancelled, and each change was made while somebody's attempt might make it.
func (c *checker) dates(k key) {
	row, there := c.rows[k]
	asker := c.askers[k]
	if !there || asker == nil {
		return
	}
	within := func(at time.Time, what string, sort func(Operation) bool) {
		all := c.may(k, sort)
		if !slices.ContainsFunc(all, func(o *Operation) bool { return !at.After(latest(o.Attempts, c.promise.over)) }) {
			c.violated(asker, "late", "SKU %q: it was %s at %s, when nobody asked for that any more", k.sku, what, clock(at))
		}
	}
	reserves, sold := asker.ReserveFor > 0, row.State == committed || row.State == returned
	if reserves && sold != !row.Committed.IsZero() || (row.State == cancelled || row.State == returned) != !row.Ended.IsZero() {
		c.violated(asker, "undone", "SKU %q: it is %s, committed at %s and ended at %s", k.sku, row.State, clock(row.Committed), clock(row.Ended))
		return
	}
	if reserves && sold {
		if within(row.Committed, committed, Operation.commits); row.retaken() {
			within(row.Committed, "taken again", Operation.retakes)
		}
	}
	switch row.State {
	case cancelled:
		within(row.Ended, cancelled, Operation.cancels)
		if !row.Ended.Before(row.Expires) {
			c.violated(asker, "too late", "SKU %q: it was cancelled at %s, and had expired at %s", k.sku, clock(row.Ended), clock(row.Expires))
		}
	case returned:
		within(row.Ended, returned, Operation.returns)
	}
}
