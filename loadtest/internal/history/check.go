package history

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"inventory/internal/api/client"
)

// key names a deduction or a line of the ledger.
type key struct{ sku, id string }

// checker compares operations with rows.
type checker struct {
	operations []Operation
	promise    Promise
	rows       map[key]Deduction
	askers     map[key]*Operation      // the operation that asked for a deduction
	about      map[key][]*Operation    // all operations on a deduction
	courses    map[string]*course      // of the units of each SKU
	changes    map[string][]*Operation // that may have changed the lines of an order of several SKUs, by its id
	found      Findings
}

// Check names each promise that was broken.
func Check(operations []Operation, rows Rows, promise Promise) Findings {
	if len(rows.SKUs) == 0 && len(promise.Stocks) > 0 {
		return Findings{Violations: []Violation{{Name: "no such SKU", What: "the database knows none of them: is it the one that the service uses?"}}}
	}
	operations = joined(operations)
	c := &checker{
		operations: operations, promise: promise,
		rows: make(map[key]Deduction), askers: make(map[key]*Operation), about: make(map[key][]*Operation), changes: make(map[string][]*Operation),
		found: Findings{Refusals: make(map[string]Refusals), Tried: make(map[string]int)},
	}
	for _, row := range rows.Deductions {
		k := key{row.SKU, row.ID}
		if _, there := c.rows[k]; there {
			c.violated(nil, "twice", "SKU %q has order %q more than once", row.SKU, row.ID)
		}
		c.rows[k] = row
	}
	for i := range operations {
		c.index(&operations[i])
	}
	c.courses = c.newCourses(rows)
	for i := range operations {
		o := &operations[i]
		c.reasons(o)
		if o.Kind.TakesUnits() && !c.isChanged(o.ID) {
			c.answers(o)
			c.final(o)
			c.together(o, rows.At)
		}
		if o.Kind.TakesUnits() || o.Kind.Moves() {
			c.replays(o)
		}
	}
	for k, row := range c.rows {
		if c.askers[k] == nil && !c.isChanged(k.id) {
			c.violated(nil, "from nowhere", "SKU %q has order %q, which nobody sent", row.SKU, row.ID)
		}
	}
	for k, all := range c.about {
		if c.isChanged(k.id) {
			continue
		}
		c.states(k, all)
		c.times(k, all, rows.At)
		c.dates(k)
	}
	c.ledger(rows.Movements)
	c.amendments(rows.Amendments, rows.Additions, rows.Movements)
	c.changed(rows)
	c.stock(rows)
	c.refusals()
	c.buyers(rows)
	slices.SortStableFunc(c.found.Violations, func(a, b Violation) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.What, b.What)) })
	return c.found
}

func (c *checker) index(o *Operation) {
	if o.Kind.Moves() || o.Kind == Look {
		return
	}
	if (o.Kind == Change || o.Only) && o.possible() {
		c.changes[o.ID] = append(c.changes[o.ID], o)
	}
	for _, line := range o.Lines {
		k := key{line.SKU, o.ID}
		c.about[k] = append(c.about[k], o)
		if o.Kind.TakesUnits() {
			c.askers[k] = o
		}
	}
}

// joined makes one operation of all that took, moved or amended something under one id. Operations without attempts are left out.
func joined(operations []Operation) (all []Operation) {
	type name struct {
		kind Kind
		key
		ref string
	}
	at := make(map[name]int)
	for _, o := range operations {
		if len(o.Attempts) == 0 {
			continue
		}
		if !o.Kind.TakesUnits() && !o.Kind.Moves() && !o.amends() {
			all = append(all, o)
			continue
		}
		n := name{o.Kind, key{o.Lines[0].SKU, o.ID}, o.Ref}
		if i, there := at[n]; there && slices.Equal(all[i].Lines, o.Lines) {
			all[i].Attempts = append(slices.Clip(all[i].Attempts), o.Attempts...)
			continue
		}
		at[n] = len(all)
		all = append(all, o)
	}
	return all
}

// violated adds a violation.
func (c *checker) violated(o *Operation, name, what string, values ...any) {
	c.found.Violations = append(c.found.Violations, Violation{name, fmt.Sprintf(what, values...), o})
}

// tries counts that a promise is tried.
func (c *checker) tries(name string) { c.found.Tried[name]++ }

// answers: an accepted order has its row, as it was asked for, and each answer says so.
func (c *checker) answers(o *Operation) {
	var first Answer
	for _, a := range o.Attempts {
		live, told := o.live(a.Answer)
		if told {
			c.tries("ended")
		}
		if told && live != a.Answer.Accepted() {
			c.violated(o, "ended", "an order that holds units is accepted, and one that does not has ended")
		}
		if !a.Answer.Accepted() {
			continue
		}
		for _, line := range o.Lines {
			c.tries("lost")
			row, there := c.rows[key{line.SKU, o.ID}]
			switch {
			case !there:
				c.violated(o, "lost", "SKU %q has no row of an order that was accepted", line.SKU)
			case row.Asked != line.Quantity || row.Buyer != o.Buyer:
				c.violated(o, "different", "the row of SKU %q has %d units for buyer %q", line.SKU, row.Asked, row.Buyer)
			}
		}
		switch {
		case a.Answer.Status == http.StatusCreated && a.Answer.Quantity != o.units():
			c.violated(o, "different", "the answer is of %d units", a.Answer.Quantity)
		case o.Kind == Order:
		case first.Status != 0 && !c.settles(o) && (a.Answer.Quantity != first.Quantity || !a.Answer.Expires.Equal(first.Expires)):
			c.violated(o, "different", "a replay is not what was answered before")
		}
		first = a.Answer
	}
}

// live reports whether an answer tells that an order holds units, of any of its lines.
func (o *Operation) live(a Answer) (live, told bool) {
	for _, line := range o.Lines {
		state := a.of(line.SKU)
		live, told = live || state == reserved || state == committed, told || state != unknown
	}
	return live, told
}

// settles reports whether a deduction may have been settled: then a replay shows it as it is.
func (c *checker) settles(o *Operation) bool {
	return slices.ContainsFunc(c.about[key{o.Lines[0].SKU, o.ID}], func(other *Operation) bool { return other.Kind.Settles() && other.possible() })
}

// replays: an operation happens once. It is answered as a replay only if it happened before.
func (c *checker) replays(o *Operation) {
	created, mayHave, ended := 0, false, false
	for _, a := range o.Attempts {
		if a.Answer.Status == http.StatusCreated {
			created++
		}
		mayHave = mayHave || a.Answer.Status == http.StatusCreated || a.Unknown()
		ended = ended || a.Answer.Code == client.OrderEnded
	}
	if len(o.Attempts) > 1 {
		c.tries("replay")
	}
	if created > 1 {
		c.violated(o, "replay", "it was accepted %d times", created)
	}
	if _, accepted := o.accepted(); accepted && !mayHave || ended && !mayHave && o.ReserveFor == 0 {
		c.violated(o, "replay", "it was told to have been accepted before, and was not")
	}
}

// reasons: each kind of request is refused for some reasons alone.
func (c *checker) reasons(o *Operation) {
	for _, a := range o.Attempts {
		if a.Answer.Refused() {
			c.tries("no reason")
		}
		if a.Answer.Refused() && !c.isReason(o, a.Answer) {
			c.violated(o, "no reason", "%s was refused as %d %s", o.Kind, a.Answer.Status, a.Answer.Code)
		}
		if a.Answer.Accepted() && c.isPart(o) {
			c.violated(o, "half", "a line was settled without the others of its order")
		}
	}
}

// isPart reports whether an operation is about a line alone, which only the whole order allows.
func (c *checker) isPart(o *Operation) bool {
	if !o.Kind.Settles() || o.Kind == Return || o.Whole() {
		return false
	}
	asker := c.askers[key{o.Lines[0].SKU, o.ID}]
	return asker != nil && asker.Kind == Order
}

func (c *checker) isReason(o *Operation, a Answer) bool {
	switch {
	case a.Status == http.StatusRequestTimeout: // it came after its deadline
		return true
	case o.Kind.TakesUnits():
		return a.Short() || a.Code == client.BuyerLimit || a.Code == client.SaleClosed || a.Code == client.OrderEnded
	case a.Code == client.UnknownDeduction:
		return !o.Whole() && (o.Kind.Settles() || o.Kind == Read)
	case a.Code == client.UnknownOrder:
		return o.Whole() && (o.Kind.Settles() || o.Kind == Read)
	case c.isPart(o):
		return a.Code == client.PartOfOrder
	}
	switch o.Kind {
	case Change:
		return a.Short() || a.Code == client.BuyerLimit || a.Code == client.OrderEnded
	case Commit: // a line of it may have been removed, or have fewer units
		return a.Code == client.NotReserved || a.Code == client.AlreadyCommitted || a.Code == client.InvalidRequest && o.Only
	case Extend:
		return a.Code == client.NotReserved
	case Cancel:
		return a.Code == client.AlreadyCommitted || a.Code == client.NotReserved && o.Ref != ""
	case Return:
		return a.Code == client.NotCommitted
	default:
		return false
	}
}

// over is when an attempt can no longer happen.
func (p Promise) over(a Attempt) time.Time {
	latest := a.Ended.Add(p.AnswerWithin) // the service may have read it as late as the caller hung up
	if !a.Deadline.IsZero() && a.Deadline.Before(latest) {
		latest = a.Deadline
	}
	return latest.Add(p.Clocks)
}

// Over is when all attempts are over, and none without an answer can happen any more.
func (p Promise) Over(attempts []Attempt) time.Time {
	return latest(attempts, func(a Attempt) time.Time {
		if a.Unknown() {
			return p.over(a)
		}
		return a.Ended
	})
}

// latest is the latest of some instants; zero: there is none.
func latest(attempts []Attempt, of func(Attempt) time.Time) (at time.Time) {
	for _, a := range attempts {
		at = later(at, of(a))
	}
	return at
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// final: a refusal that was asked for when all attempts before were over stays one, unless the operation is tried again.
func (c *checker) final(o *Operation) {
	for i, refused := range o.Attempts {
		if refused.Answer.Status != http.StatusConflict || refused.Answer.Code == client.OrderEnded || !c.isFinal(o, i) {
			continue
		}
		for _, line := range o.Lines {
			if row, there := c.rows[key{line.SKU, o.ID}]; there {
				c.violated(o, "not final", "SKU %q has a row, %s at %s", line.SKU, row.State, clock(row.Created))
			}
		}
	}
}

// isFinal reports whether no other attempt can have written a row that a refusal did not know of. After units came in or back,
// a process may refuse for a while what another one has sold since.
func (c *checker) isFinal(o *Operation, refusal int) bool {
	refused := o.Attempts[refusal]
	known := refused.Sent
	if refused.Answer.Short() && slices.ContainsFunc(o.Lines, func(l Line) bool { return c.courses[l.SKU].gains() }) {
		known = known.Add(-c.promise.Staleness)
	}
	for i, other := range o.Attempts {
		mayWrite := other.Unknown() && !c.promise.over(other).Before(refused.Sent)
		askedAgain := other.Answer.Accepted() && other.Ended.After(known)
		if i != refusal && (mayWrite || askedAgain) {
			return false
		}
	}
	return true
}

// together: an order has all of its lines, or none. They are written while an attempt may write, and are committed, cancelled and
// expired together, in the rows and in each answer.
func (c *checker) together(o *Operation, readAt time.Time) {
	if o.Kind == Order {
		c.tries("half")
	}
	rows := make(States)
	for _, line := range o.Lines {
		if row, there := c.rows[key{line.SKU, o.ID}]; there {
			c.inTime(o, row.Created, "row")
			rows[line.SKU] = row.State
			if row.State == reserved && row.Expires.Before(readAt) {
				rows[line.SKU] = expired
			}
		}
	}
	if n := len(rows); n > 0 && n < len(o.Lines) {
		c.violated(o, "half", "%d of %d lines have a row", n, len(o.Lines))
	}
	if !rows.agree() || rows.have(reserved) && rows.have(expired) {
		c.violated(o, "half", "its rows are %v", rows)
	}
	for _, about := range c.about[key{o.Lines[0].SKU, o.ID}] {
		for _, a := range about.Attempts {
			if !a.Answer.States.agree() {
				c.violated(about, "half", "its lines are told as %v", a.Answer.States)
			}
		}
	}
}

func (s States) have(state string) bool {
	return slices.Contains(slices.Collect(maps.Values(s)), state)
}

// agree reports whether lines may have these states at one time, or nearly so: a reservation expires while an answer is made. Lines
// are returned singly.
func (s States) agree() bool {
	open, sold, back := s.have(reserved) || s.have(expired), s.have(committed) || s.have(returned), s.have(cancelled)
	return !(open && sold || sold && back || back && open)
}

// ledger: each accepted movement is there once, as it was asked for, and nothing else is.
func (c *checker) ledger(movements []Movement) {
	there := make(map[key][]Movement)
	for _, m := range movements {
		there[key{m.SKU, m.Ref}] = append(there[key{m.SKU, m.Ref}], m)
	}
	for i := range c.operations {
		o := &c.operations[i]
		if !o.Kind.Moves() {
			continue
		}
		k := key{o.Lines[0].SKU, o.ID}
		rows := there[k]
		delete(there, k)
		_, accepted := o.accepted()
		if accepted {
			c.tries("lost")
		}
		switch {
		case len(rows) > 1 || len(rows) == 1 && (rows[0].Kind != o.Kind.String() || rows[0].Quantity != o.Lines[0].Quantity):
			c.violated(o, "ledger", "there are %v", rows)
		case len(rows) == 1 && !o.possible():
			c.violated(o, "ledger", "it was refused, and is there")
		case len(rows) == 0 && accepted:
			c.violated(o, "ledger", "it is not there")
		}
	}
	for k, rows := range there {
		if len(rows) == 1 && rows[0].Kind == writtenOff { // its amendment is held against it
			continue
		}
		c.violated(nil, "from nowhere", "the ledger of SKU %q has %q, which nobody sent", k.sku, k.id)
	}
}
