package history

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"inventory/internal/api/client"
)

// isChanged reports whether the lines of an order may have changed.
func (c *checker) isChanged(id string) bool { return c.changes[id] != nil }

// gainsOfChanges: a change may take all units of its lines, and give back whatever its order has held. So may whatever ends the order.
func (c *checker) gainsOfChanges(rows Rows, all map[string]*course) {
	skus := make(map[string][]string)
	for _, row := range rows.Deductions {
		if c.isChanged(row.ID) {
			skus[row.ID] = append(skus[row.ID], row.SKU)
			if of := all[row.SKU]; of != nil && !row.Expires.IsZero() {
				of.gain(row.Expires.Add(c.promise.Clocks))
			}
		}
	}
	for i := range c.operations {
		o := &c.operations[i]
		if !c.isChanged(o.ID) || !o.Kind.Settles() || !o.possible() {
			continue
		}
		for _, sku := range skus[o.ID] {
			if of := all[sku]; of != nil {
				of.gain(c.promise.Over(o.Attempts))
			}
		}
		for _, line := range o.Lines {
			if of := all[line.SKU]; of != nil && o.Kind == Change {
				of.mayHaveTaken.add(o.first(), line.Quantity)
			}
		}
	}
}

// beforeTheEnd: an order that was told to have ended is not changed any more.
func (c *checker) beforeTheEnd(o *Operation, created time.Time) {
	for _, a := range o.Attempts {
		if a.Answer.Code == client.OrderEnded && created.After(a.Ended.Add(c.promise.Clocks)) {
			c.violated(o, "not final", "the order had ended, and was changed at %s", clock(created))
		}
	}
}

// changed: each accepted change is there once, as it was asked for, and nothing else is. In the end an order is as its last change says.
func (c *checker) changed(rows Rows) {
	there := make(map[string]map[string]OrderChange) // by order and ref
	for _, row := range rows.Changes {
		if there[row.ID] == nil {
			there[row.ID] = make(map[string]OrderChange)
		}
		there[row.ID][row.Ref] = row
	}
	sent := make(map[[2]string]bool)
	for i := range c.operations {
		o := &c.operations[i]
		if o.Kind != Change {
			continue
		}
		sent[[2]string{o.ID, o.Ref}] = true
		row, is := there[o.ID][o.Ref]
		_, accepted := o.accepted()
		if accepted {
			c.tries("lost")
		}
		switch {
		case accepted && !is:
			c.violated(o, "lost", "it was accepted, and is not there")
		case is && !o.possible():
			c.violated(o, "amendment", "it was refused, and is there")
		case is && (row.lines() != told(o.Lines) || row.Buyer != o.Hands):
			c.violated(o, "different", "there is a change to %s, for buyer %q", row.lines(), row.Buyer)
		case is:
			c.inTime(o, row.Created, "change")
			c.beforeTheEnd(o, row.Created)
		}
	}
	for _, row := range rows.Changes {
		if !sent[[2]string{row.ID, row.Ref}] {
			c.violated(nil, "from nowhere", "order %q has a change %q, which nobody sent", row.ID, row.Ref)
		}
	}
	for id := range c.changes {
		c.whole(rows, id, slices.SortedFunc(maps.Values(there[id]), func(a, b OrderChange) int { return a.Created.Compare(b.Created) }))
	}
}

// whole: the lines of a changed order are settled together. Unless units were given back since, or it has ended, they are those of its last
// change, and its buyer's.
func (c *checker) whole(rows Rows, id string, changes []OrderChange) {
	c.tries("half")
	states, held, buyer, last := make(States), []Line(nil), "", OrderChange{}
	for _, row := range rows.Deductions {
		if asker := c.askers[key{row.SKU, id}]; row.ID == id && asker != nil {
			buyer = asker.Buyer
		}
	}
	for _, last = range changes {
		if last.Buyer != "" {
			buyer = last.Buyer
		}
	}
	for _, row := range rows.Deductions {
		if row.ID != id || row.Removed {
			continue
		}
		if states[row.SKU] = row.State; row.State == reserved && row.Expires.Before(rows.At) {
			states[row.SKU] = expired
		}
		if row.held() > 0 {
			held = append(held, Line{row.SKU, row.Quantity})
		}
		if row.held() > 0 && row.Buyer != buyer {
			c.violated(c.changes[id][0], "different", "the row of SKU %q is of buyer %q, not %q", row.SKU, row.Buyer, buyer)
		}
	}
	if !states.agree() || states.have(reserved) && states.have(expired) {
		c.violated(c.changes[id][0], "half", "its rows are %v", states)
	}
	since := slices.ContainsFunc(rows.Amendments, func(a Amendment) bool {
		return a.ID == id && a.Returned > 0 && a.Created.After(last.Created)
	}) || slices.ContainsFunc(c.changes[id], func(o *Operation) bool { return o.Only })
	if len(held) > 0 && len(changes) > 0 && !since && told(held) != last.lines() {
		c.violated(c.changes[id][0], "amendment", "order %q holds %s, and its last change asked for %s", id, told(held), last.lines())
	}
}

// lines are those that a change asks for.
func (o OrderChange) lines() string {
	var lines []Line
	if err := json.Unmarshal([]byte(o.Lines), &lines); err != nil {
		return err.Error()
	}
	return told(lines)
}

// told is a text of lines that is the same in any order of them.
func told(lines []Line) string {
	lines = slices.SortedFunc(slices.Values(lines), func(a, b Line) int { return strings.Compare(a.SKU, b.SKU) })
	text, _ := json.Marshal(lines) // texts and numbers do not fail
	return string(text)
}
