package history

import "time"

// stock: units add up, and what is left can be bought.
func (c *checker) stock(rows Rows) {
	for _, s := range rows.SKUs {
		if s.Difference != 0 || s.Available < 0 {
			c.complain(nil, "oversold", "SKU %q has %d units, %d too many", s.Name, s.Available, s.Difference)
		}
		if s.FencesFell > 0 {
			c.complain(nil, "fence", "rows of SKU %q were written %d times under an older token", s.Name, s.FencesFell)
		}
		for _, found := range s.Audit {
			c.complain(nil, "audit", "%s", found)
		}
		if s.Sold != s.Available {
			c.complain(nil, "stranded", "SKU %q has %d units left, and an order of all got %d", s.Name, s.Available, s.Sold)
		}
	}
}

// buyers: no buyer holds more of a SKU than one buyer may.
func (c *checker) buyers(rows Rows) {
	limit := make(map[string]int64)
	for _, s := range rows.SKUs {
		limit[s.Name] = s.BuyerLimit
	}
	type holder struct{ sku, buyer string }
	held := make(map[holder]int64)
	for _, row := range rows.Deductions {
		if limit[row.SKU] > 0 && (row.State == reserved || row.State == committed) {
			held[holder{row.SKU, row.Buyer}] += row.Quantity
		}
	}
	for who, units := range held {
		if units > limit[who.sku] {
			c.complain(nil, "buyer limit", "buyer %q holds %d units of SKU %q, of %d", who.buyer, units, who.sku, limit[who.sku])
		}
	}
}

// change is what an operation may do, or surely does, to the units of a SKU.
type change struct {
	units int64
	at    time.Time
}

// changes are what happened to a SKU: gains that surely were there from some instant on, and all that may have been taken
// from some instant on. What was given back, and what came later than it could, count for nothing: so what they sum up to
// is never more than there was.
type changes struct{ gains, takes []change }

// refusals: nobody was refused for want of units that were certainly there.
func (c *checker) refusals(rows Rows) {
	all := make(map[string]*changes)
	initial := make(map[string]int64)
	for _, s := range rows.SKUs {
		all[s.Name], initial[s.Name] = &changes{}, s.Initial
	}
	for i := range c.operations {
		c.count(&c.operations[i], all)
	}
	for i := range c.operations {
		o := &c.operations[i]
		if o.Kind != Deduct {
			continue
		}
		line := o.Lines[0]
		for _, a := range o.Attempts {
			if a.Answer.Code != "sold_out" && a.Answer.Code != "insufficient_stock" {
				continue
			}
			left := initial[line.SKU] + all[line.SKU].least(a.Sent.Add(-c.promise.Staleness), a.Ended)
			if left >= line.Quantity {
				c.complain(o, "false refusal", "at least %d units were left", left)
			}
		}
	}
}

// count notes what an operation changes.
func (c *checker) count(o *Operation, all map[string]*changes) {
	for _, line := range o.Lines {
		of := all[line.SKU]
		switch {
		case of == nil:
		case o.Kind == Restock:
			for _, a := range o.Attempts {
				if a.Answer.Accepted() {
					of.gains = append(of.gains, change{line.Quantity, a.Ended})
					break
				}
			}
		case o.Kind == Deduct || o.Kind == Order:
			if _, there := c.rows[key{line.SKU, o.ID}]; there {
				of.takes = append(of.takes, change{line.Quantity, o.Attempts[0].Sent})
			}
		}
	}
}

// least is how much the units have changed at least: gains that were there at one instant, less all that may have been
// taken until another.
func (ch *changes) least(gained, taken time.Time) (units int64) {
	for _, g := range ch.gains {
		if g.at.Before(gained) {
			units += g.units
		}
	}
	for _, t := range ch.takes {
		if t.at.Before(taken) {
			units -= t.units
		}
	}
	return units
}
