package history

import (
	"fmt"
	"slices"
	"time"
)

// key names a deduction.
type key struct{ sku, id string }

// checker holds operations against rows.
type checker struct {
	operations []Operation
	promise    Promise
	rows       map[key]Deduction
	askers     map[key]*Operation   // who asked for a deduction
	about      map[key][]*Operation // all that was asked of a deduction
	broken     []Violation
}

// Check names each promise that was broken.
func Check(operations []Operation, rows Rows, promise Promise) []Violation {
	operations = joined(operations)
	c := &checker{
		operations: operations, promise: promise,
		rows: make(map[key]Deduction), askers: make(map[key]*Operation), about: make(map[key][]*Operation),
	}
	for _, row := range rows.Deductions {
		k := key{row.SKU, row.ID}
		if _, there := c.rows[k]; there {
			c.complain(nil, "twice", "SKU %q has order %q more than once", row.SKU, row.ID)
		}
		c.rows[k] = row
	}
	for i := range operations {
		o := &operations[i]
		if o.Kind == Restock {
			continue
		}
		for _, line := range o.Lines {
			k := key{line.SKU, o.ID}
			c.about[k] = append(c.about[k], o)
			if o.Kind == Deduct || o.Kind == Order {
				c.askers[k] = o
			}
		}
	}
	for i := range operations {
		switch o := &operations[i]; o.Kind {
		case Deduct, Order:
			c.accepted(o)
			c.final(o)
			c.late(o)
			c.half(o)
		case Commit, Cancel, Restock, Read: // of which the states and the ledger tell
		}
	}
	for k, row := range c.rows {
		if c.askers[k] == nil {
			c.complain(nil, "from nowhere", "SKU %q has order %q, which nobody sent", row.SKU, row.ID)
		}
	}
	for k, all := range c.about {
		c.states(k, all)
	}
	c.ledger(rows.Movements)
	c.stock(rows)
	c.refusals(rows)
	c.buyers(rows)
	slices.SortStableFunc(c.broken, func(a, b Violation) int { return compare(a.Name, b.Name) })
	return c.broken
}

// joined makes one operation of all that took something under one id.
func joined(operations []Operation) (all []Operation) {
	at := make(map[string]int)
	for _, o := range operations {
		if o.Kind != Deduct && o.Kind != Order && o.Kind != Restock {
			all = append(all, o)
			continue
		}
		name := fmt.Sprintf("%s %s %v", o.Kind, o.ID, o.Lines)
		if i, there := at[name]; there {
			all[i].Attempts = append(slices.Clip(all[i].Attempts), o.Attempts...)
			continue
		}
		at[name] = len(all)
		all = append(all, o)
	}
	return all
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

func (c *checker) complain(o *Operation, name, what string, values ...any) {
	c.broken = append(c.broken, Violation{name, fmt.Sprintf(what, values...), o})
}

// accepted: what was accepted has its row, and is what was asked for, in each answer.
func (c *checker) accepted(o *Operation) {
	var first Answer
	for _, a := range o.Attempts {
		if !a.Answer.Accepted() {
			continue
		}
		for _, line := range o.Lines {
			row, there := c.rows[key{line.SKU, o.ID}]
			switch {
			case !there:
				c.complain(o, "lost", "SKU %q has no row of an order that was accepted", line.SKU)
			case row.Asked != line.Quantity || row.Buyer != o.Buyer:
				c.complain(o, "different", "the row of SKU %q has %d units for buyer %q", line.SKU, row.Asked, row.Buyer)
			case o.ReserveFor > 0 && row.Expires.Sub(row.Created) != o.ReserveFor:
				c.complain(o, "different", "the reservation lasts %s", row.Expires.Sub(row.Created))
			}
		}
		if first.Status != 0 && o.Kind == Deduct && (a.Answer.Quantity != first.Quantity || !a.Answer.Expires.Equal(first.Expires)) {
			c.complain(o, "different", "a replay is not what was answered before")
		}
		first = a.Answer
	}
}

// over is when an attempt cannot be carried out any more.
func (c *checker) over(a Attempt) time.Time {
	latest := a.Ended.Add(c.promise.AnswerWithin) // who hung up was there until then
	if !a.Deadline.IsZero() && a.Deadline.Before(latest) {
		return a.Deadline
	}
	return latest
}

// final: a refusal that was asked for when all attempts before were over stays one, unless somebody asks again.
func (c *checker) final(o *Operation) {
	for i, refused := range o.Attempts {
		if refused.Answer.Status != statusConflict || !c.isFinal(o, i) {
			continue
		}
		for _, line := range o.Lines {
			if row, there := c.rows[key{line.SKU, o.ID}]; there {
				c.complain(o, "not final", "SKU %q has a row, %s at %s", line.SKU, row.State, clock(row.Created))
			}
		}
	}
}

// isFinal tells whether no other attempt can have written a row that a refusal did not know of.
func (c *checker) isFinal(o *Operation, refusal int) bool {
	refused := o.Attempts[refusal]
	for i, other := range o.Attempts {
		mayWrite := other.Answer.Unknown() && !c.over(other).Before(refused.Sent)
		askedAgain := other.Answer.Accepted() && other.Ended.After(refused.Sent)
		if i != refusal && (mayWrite || askedAgain) {
			return false
		}
	}
	return true
}

const statusConflict = 409

// late: a row is written while an attempt may write.
func (c *checker) late(o *Operation) {
	var last time.Time
	for _, a := range o.Attempts {
		if over := c.over(a); over.After(last) {
			last = over
		}
	}
	for _, line := range o.Lines {
		if row, there := c.rows[key{line.SKU, o.ID}]; there && row.Created.After(last) {
			c.complain(o, "late", "the row of SKU %q was written %s too late", line.SKU, row.Created.Sub(last))
		}
	}
}

// half: an order has all of its lines, or none.
func (c *checker) half(o *Operation) {
	there := 0
	for _, line := range o.Lines {
		if _, is := c.rows[key{line.SKU, o.ID}]; is {
			there++
		}
	}
	if there > 0 && there < len(o.Lines) {
		c.complain(o, "half", "%d of %d lines have a row", there, len(o.Lines))
	}
}

// ledger: a restock that was accepted is there once, as it was asked for.
func (c *checker) ledger(movements []Movement) {
	there := make(map[key][]Movement)
	for _, m := range movements {
		there[key{m.SKU, m.Ref}] = append(there[key{m.SKU, m.Ref}], m)
	}
	for i := range c.operations {
		o := &c.operations[i]
		if o.Kind != Restock {
			continue
		}
		line := o.Lines[0]
		rows := there[key{line.SKU, o.ID}]
		if len(rows) > 1 || len(rows) == 1 && rows[0].Quantity != line.Quantity {
			c.complain(o, "ledger", "there are %v", rows)
		}
		if len(rows) == 0 && slices.ContainsFunc(o.Attempts, func(a Attempt) bool { return a.Answer.Accepted() }) {
			c.complain(o, "ledger", "it is not there")
		}
	}
}
