package history

import (
	"cmp"
	"slices"
	"time"

	"inventory/internal/stock"
)

// amendment is the key of one: each ref of a deduction happens once. The return of all that is left has none.
type amendment struct {
	key
	ref string
}

// amends reports whether an operation changes a deduction once for its ref.
func (o Operation) amends() bool {
	return o.Kind == Extend || o.Kind == Return || o.Kind == Change || o.Kind == Cancel && o.Ref != ""
}

// amendments: each accepted amendment is there once, as it was asked for, and nothing else is. A deduction keeps what was asked less
// what was given back, a reservation lasts until the end of its last extension, and what was written off is in the ledger.
// An order that was changed has checks of its own.
func (c *checker) amendments(rows []Amendment, additions []Addition, movements []Movement) {
	asked := make(map[amendment][]*Operation)
	for i := range c.operations {
		o := &c.operations[i]
		for _, line := range o.Lines {
			if a := (amendment{key{line.SKU, o.ID}, o.Ref}); o.amends() {
				asked[a] = append(asked[a], o)
			}
		}
	}
	there, of := make(map[amendment]bool), make(map[key][]Amendment)
	for _, row := range rows {
		k := key{row.SKU, row.ID}
		a := amendment{k, row.Ref}
		if there[a] {
			c.violated(nil, "twice", "SKU %q: order %q was amended more than once for ref %q", row.SKU, row.ID, row.Ref)
		}
		if there[a], of[k] = true, append(of[k], row); !c.isChanged(row.ID) {
			c.amended(row, asked[a])
		}
	}
	for a, all := range asked {
		for _, o := range all {
			_, accepted := o.accepted()
			if accepted {
				c.tries("lost")
			}
			// Without a ref it may have found that all had been returned.
			if accepted && !there[a] && !c.isChanged(a.id) && (a.ref != "" || c.rows[a.key].State != returned) {
				c.violated(o, "amendment", "SKU %q: it was accepted, and is not there", a.sku)
			}
		}
	}
	later := make(map[key]int64)
	for _, a := range additions {
		later[key{a.SKU, a.ID}] += a.Units
	}
	for k, row := range c.rows {
		if c.kept(row, of[k], later[k]); c.isChanged(k.id) {
			continue
		}
		c.order(k, row, of[k])
		c.ends(k, row, of[k])
	}
	c.writeOffs(rows, movements)
}

// amended compares one amendment with those who asked for it.
func (c *checker) amended(row Amendment, asked []*Operation) {
	possible := slices.DeleteFunc(slices.Clone(asked), func(o *Operation) bool { return !o.possible() || c.isPart(o) })
	is := func(o *Operation) bool {
		kind := map[bool]string{true: writtenOff, false: o.Kind.String()}[o.WriteOff]
		units := row.Returned == o.Lines[0].Quantity || o.Kind == Return && o.Ref == "" && row.Returned > 0
		return row.Kind == kind && units && row.Extended == o.ReserveFor
	}
	switch {
	case len(asked) == 0:
		c.violated(nil, "from nowhere", "SKU %q: order %q has an amendment %q, which nobody sent", row.SKU, row.ID, row.Ref)
	case len(possible) == 0:
		c.violated(asked[0], "amendment", "SKU %q: it was refused, and is there", row.SKU)
	case !slices.ContainsFunc(possible, is):
		c.violated(asked[0], "amendment", "SKU %q: there is a %s of %d units, and of %s", row.SKU, row.Kind, row.Returned, row.Extended)
	case !slices.ContainsFunc(possible, func(o *Operation) bool { return !row.Created.After(latest(o.Attempts, c.promise.over)) }):
		c.inTime(possible[0], row.Created, "amendment")
	}
}

// kept: what was given back counts once, what was taken later does, and no unit is given back that was not held. A commit of some lines may
// keep fewer units of one than it held: the others go back without an amendment.
func (c *checker) kept(row Deduction, all []Amendment, later int64) {
	left := row.Asked + later
	for _, a := range all {
		left -= a.Returned
	}
	inPart := slices.ContainsFunc(c.about[key{row.SKU, row.ID}], func(o *Operation) bool { return o.Only && o.possible() })
	ok := row.Quantity == left || inPart && row.Quantity < left
	switch row.State {
	case returned:
		ok = left == 0 || inPart && left > 0
	case cancelled: // in parts, or all at once
		ok = ok || left == 0
	}
	if !ok {
		c.violated(nil, "amendment", "SKU %q: order %q is %s and has %d units, of %d that were asked for and %d that were not given back",
			row.SKU, row.ID, row.State, row.Quantity, row.Asked, left)
	}
}

// order: units are given up while they are reserved, and returned once they are committed.
func (c *checker) order(k key, row Deduction, all []Amendment) {
	asker := c.askers[k]
	if asker == nil {
		return
	}
	sold, never := row.Committed, asker.ReserveFor > 0 && row.Committed.IsZero()
	if asker.ReserveFor == 0 {
		sold = row.Created
	}
	for _, a := range all {
		back := a.Kind == gaveBack || a.Kind == writtenOff
		switch {
		case back && (never || a.Created.Before(sold)):
			c.violated(asker, "undone", "SKU %q: %d units were returned at %s, and not committed before", k.sku, a.Returned, clock(a.Created))
		case !back && !never && a.Created.After(sold):
			c.violated(asker, "undone", "SKU %q: there is a %s at %s of what was committed at %s", k.sku, a.Kind, clock(a.Created), clock(sold))
		case a.Kind == gaveUp && !a.Created.Before(row.Expires):
			c.violated(asker, "too late", "SKU %q: a part was cancelled at %s, and had expired at %s", k.sku, clock(a.Created), clock(row.Expires))
		}
	}
}

// ends: an extension comes before the end, and is one.
func (c *checker) ends(k key, row Deduction, all []Amendment) {
	asker := c.askers[k]
	if asker == nil || asker.ReserveFor == 0 {
		return
	}
	slices.SortFunc(all, func(a, b Amendment) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Ref, b.Ref)) })
	end, extended := row.Created.Add(asker.ReserveFor), false
	for _, a := range all {
		if a.Extended == 0 {
			continue
		}
		if a.Created.After(end) {
			c.violated(asker, "too late", "it was extended at %s, and had expired at %s", clock(a.Created), clock(end))
		}
		if until := a.Created.Add(a.Extended); until.After(end) {
			end, extended = until, true
		}
	}
	switch {
	case extended && row.Expires.Before(end):
		c.violated(asker, "too early", "it expires at %s, and was extended until %s", clock(row.Expires), clock(end))
	case !row.Expires.Equal(end):
		c.violated(asker, "different", "the reservation lasts %s", row.Expires.Sub(row.Created))
	}
	for _, o := range c.about[k] {
		for _, a := range o.Attempts {
			if a.Answer.Accepted() && a.Answer.Expires.After(row.Expires) {
				c.violated(o, "too early", "it expires at %s, and was said to at %s", clock(row.Expires), clock(a.Answer.Expires))
			}
		}
	}
}

// writeOffs: each write-off is a line of the ledger, and none is there without one. Returns of all that a line held have the same ref, none,
// also if a change took units again in between.
func (c *checker) writeOffs(rows []Amendment, movements []Movement) {
	units := make(map[key]int64) // less those of the ledger
	of := func(sku, written string) key {
		id, ref := stock.Movement{Ref: written}.Returned()
		return key{sku, id + "\x1e" + ref}
	}
	for _, a := range rows {
		if a.Kind == writtenOff {
			units[of(a.SKU, a.ID+"\x1e"+a.Ref)] += a.Returned
		}
	}
	for _, m := range movements {
		if m.Kind == writtenOff {
			units[of(m.SKU, m.Ref)] += m.Quantity
		}
	}
	for k, missing := range units {
		if missing != 0 {
			c.violated(nil, "ledger", "SKU %q: of write-off %q %d units are not in the ledger", k.sku, k.id, missing)
		}
	}
}

// inTime: a row is written while an attempt may write.
func (c *checker) inTime(o *Operation, created time.Time, what string) {
	c.tries("late")
	if last := latest(o.Attempts, c.promise.over); created.After(last) {
		c.violated(o, "late", "the %s was written %s too late", what, created.Sub(last))
	}
}
