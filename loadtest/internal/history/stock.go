package history

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"inventory/internal/api/client"
)

// stock: units add up.
func (c *checker) stock(rows Rows) {
	should := make(map[string]int64) // be left
	for _, s := range rows.SKUs {
		should[s.Name] = s.Initial
	}
	for _, m := range rows.Movements {
		if m.Kind != Resegment.String() {
			should[m.SKU] += m.Quantity
		}
	}
	for _, row := range rows.Deductions {
		should[row.SKU] -= row.held()
	}
	for _, s := range rows.SKUs {
		c.tries("oversold")
		c.tries("fence")
		c.tries("audit")
		switch lost := should[s.Name] - s.Available; {
		case lost < 0 || s.Available < 0:
			c.violated(nil, "oversold", "SKU %q has %d units left, %d too many", s.Name, s.Available, -lost)
		case lost > 0:
			c.violated(nil, "missing", "SKU %q has %d units left, %d too few", s.Name, s.Available, lost)
		}
		if stock, told := c.promise.Stocks[s.Name]; told && stock.Units != s.Initial {
			c.violated(nil, "no such SKU", "SKU %q began with %d units instead of %d", s.Name, s.Initial, stock.Units)
		}
		if s.FencesFell > 0 {
			c.violated(nil, "fence", "rows of SKU %q were written %d times under an older token", s.Name, s.FencesFell)
		}
	}
	for _, found := range rows.Audit {
		c.violated(nil, "audit", "%s", found)
	}
	for sku := range c.promise.Stocks {
		if c.courses[sku] == nil {
			c.violated(nil, "no such SKU", "the database does not know SKU %q: is it the one that the service uses?", sku)
		}
	}
}

// buyers: no buyer holds more of a SKU, or of a group of SKUs with one limit, than one buyer may.
func (c *checker) buyers(rows Rows) {
	type holder struct {
		of    string // a SKU, or a group of them
		buyer string
		limit int64
	}
	held := make(map[holder]int64)
	for _, row := range rows.Deductions {
		if stock := c.promise.Stocks[row.SKU]; stock.BuyerLimit > 0 {
			held[holder{cmp.Or(stock.Group, row.SKU), row.Buyer, stock.BuyerLimit}] += row.held()
		}
	}
	for who, units := range held {
		c.tries("buyer limit")
		if units > who.limit {
			c.violated(nil, "buyer limit", "buyer %q holds %d units of %q, of %d", who.buyer, units, who.of, who.limit)
		}
	}
}

// step is a change of units at an instant.
type step struct {
	at    time.Time
	units int64 // summed up to the instant, once sorted
}

type steps []step

func (s *steps) add(at time.Time, units int64) { *s = append(*s, step{at, units}) }

// sum sorts the steps and sums them up.
func (s steps) sum() {
	slices.SortFunc(s, func(a, b step) int { return a.at.Compare(b.at) })
	for i := 1; i < len(s); i++ {
		s[i].units += s[i-1].units
	}
}

// by is what has happened by an instant, that instant included.
func (s steps) by(at time.Time) int64 {
	n := sort.Search(len(s), func(i int) bool { return s[i].at.After(at) })
	if n == 0 {
		return 0
	}
	return s[n-1].units
}

// course is what is known of the units of a SKU over time. Units that were given back do not count. So the least that was left
// is never too high; and the most is never too low, because there what may have been given back was never taken.
type course struct {
	initial, left       int64
	came, mayHaveCome   steps
	taken, mayHaveTaken steps
	lastGain            time.Time // nothing came, or came back, after this
	stranded            bool
}

// gains reports whether units came in or back.
func (of *course) gains() bool { return of != nil && !of.lastGain.IsZero() }

// newCourses are those of all SKUs.
func (c *checker) newCourses(rows Rows) map[string]*course {
	all := make(map[string]*course)
	for _, s := range rows.SKUs {
		all[s.Name] = &course{initial: s.Initial, left: s.Available}
	}
	there := make(map[key]bool)
	for _, m := range rows.Movements {
		there[key{m.SKU, m.Ref}] = true
	}
	for i := range c.operations {
		o := &c.operations[i]
		for _, line := range o.Lines {
			of, k := all[line.SKU], key{line.SKU, o.ID}
			switch {
			case of == nil:
			case o.Kind.TakesUnits():
				of.takeLine(o, line, c.rows[k], c.isChanged(o.ID), c.promise)
			case (o.Kind == Cancel || o.Kind == Return) && o.possible():
				of.gain(c.promise.Over(o.Attempts))
			case o.Kind == Restock && there[k]:
				of.come(o, line, c.promise)
			}
		}
	}
	c.gainsOfChanges(rows, all)
	for _, of := range all {
		for _, s := range []steps{of.came, of.mayHaveCome, of.taken, of.mayHaveTaken} {
			s.sum()
		}
	}
	return all
}

func (of *course) gain(at time.Time) { of.lastGain = later(of.lastGain, at) }

func (of *course) takeLine(o *Operation, line Line, row Deduction, changed bool, p Promise) {
	if row.ID == "" {
		return
	}
	of.mayHaveTaken.add(o.first(), line.Quantity)
	if accepted, ok := o.accepted(); ok && row.held() == line.Quantity && !row.retaken() && !changed {
		of.taken.add(accepted, line.Quantity)
	}
	if row.State == expired || row.retaken() {
		of.gain(row.Expires.Add(p.Clocks))
	}
}

// come is a restock.
func (of *course) come(o *Operation, line Line, p Promise) {
	of.mayHaveCome.add(o.first(), line.Quantity)
	of.gain(p.Over(o.Attempts))
	if accepted, ok := o.accepted(); ok {
		of.came.add(accepted, line.Quantity)
	}
}

// refusals: no order was refused for want of units that were certainly there, or are still there.
func (c *checker) refusals() {
	for i := range c.operations {
		o := &c.operations[i]
		for _, a := range o.Attempts {
			switch {
			case o.Kind.TakesUnits() && a.Answer.Short():
				c.refusal(o, a)
			case o.retakes() && a.Answer.Code == client.NotReserved && !c.isChanged(o.ID):
				c.notRetaken(o, a)
			}
		}
	}
	for sku, of := range c.courses {
		if of.stranded {
			r := c.found.Refusals[sku]
			r.Stranded = of.left
			c.found.Refusals[sku] = r
			c.violated(nil, "stranded", "SKU %q has %d units left, and somebody was refused who wanted no more", sku, of.left)
		}
	}
}

// least is how many units were certainly left during an attempt.
func (of *course) least(a Attempt, p Promise) int64 {
	return of.initial + of.came.by(a.Sent.Add(-p.Staleness)) - of.mayHaveTaken.by(a.Ended)
}

// notRetaken: an expired reservation is only refused to be taken again for want of units.
func (c *checker) notRetaken(o *Operation, a Attempt) {
	for _, line := range o.Lines {
		of, row := c.courses[line.SKU], c.rows[key{line.SKU, o.ID}]
		if of == nil || row.State != expired || c.promise.Stocks[line.SKU].BuyerLimit > 0 || of.least(a, c.promise) < row.Quantity {
			return
		}
	}
	c.violated(o, "false refusal", "it has expired, and its units were there to be taken again")
}

// refusal compares one refusal with what was left of each of its SKUs: it is false if none of them was short.
func (c *checker) refusal(o *Operation, a Attempt) {
	least, most := true, true
	for _, line := range o.Lines {
		of := c.courses[line.SKU]
		if of == nil {
			return
		}
		wanted := line.Quantity
		if a.Answer.Code == client.SoldOut {
			wanted = 1
		}
		atLeast := of.least(a, c.promise)
		atMost := of.initial + of.mayHaveCome.by(a.Ended) - of.taken.by(a.Ended)
		onlyFell := of.lastGain.Before(a.Sent.Add(-c.promise.Staleness))
		if onlyFell && of.left >= line.Quantity && len(o.Lines) == 1 {
			of.stranded = true
		}
		least = least && (atLeast >= wanted || onlyFell && of.left >= wanted)
		most = most && (atMost >= wanted || least)
	}
	c.tries("false refusal")
	r := c.found.Refusals[o.Lines[0].SKU]
	if least {
		r.False.Least++
		c.violated(o, "false refusal", "what it asked for was there")
	}
	if most {
		r.False.Most++
	}
	c.found.Refusals[o.Lines[0].SKU] = r
}
