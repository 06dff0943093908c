package history

import (
	"cmp"
	"slices"
	"time"
)

// amendment is the key of one: each ref of a deduction happens once.
type amendment struct {
	key
	ref string
}

// amendments: each accepted extension or return is there once, as it was asked for, and nothing else is. A deduction keeps what
// was asked less what was returned, and a reservation lasts until the end of its last extension.
func (c *checker) amendments(rows []Amendment) {
	there, of := make(map[amendment]Amendment), make(map[key][]Amendment)
	for _, row := range rows {
		k := key{row.SKU, row.ID}
		if _, twice := there[amendment{k, row.Ref}]; twice {
			c.violated(nil, "twice", "SKU %q: order %q was amended more than once for ref %q", row.SKU, row.ID, row.Ref)
		}
		there[amendment{k, row.Ref}], of[k] = row, append(of[k], row)
	}
	for i := range c.operations {
		if o := &c.operations[i]; o.Kind.Amends() {
			a := amendment{key{o.Lines[0].SKU, o.ID}, o.Ref}
			row, is := there[a]
			delete(there, a)
			c.amended(o, row, is)
		}
	}
	for a := range there {
		c.violated(nil, "from nowhere", "SKU %q: order %q has an amendment %q, which nobody sent", a.sku, a.id, a.ref)
	}
	for k, row := range c.rows {
		c.kept(row, of[k])
		c.ends(k, row, of[k])
	}
}

// amended compares one amendment with its row.
func (c *checker) amended(o *Operation, row Amendment, there bool) {
	_, accepted := o.accepted()
	switch {
	case !there && accepted:
		c.violated(o, "amendment", "it was accepted, and is not there")
	case !there:
	case row.Returned != o.Lines[0].Quantity || row.Extended != o.ReserveFor:
		c.violated(o, "amendment", "there is a return of %d units, and an extension of %s", row.Returned, row.Extended)
	case !o.possible():
		c.violated(o, "amendment", "it was refused, and is there")
	default:
		c.inTime(o, row.Created, "amendment")
	}
}

// kept: each return counts once.
func (c *checker) kept(row Deduction, all []Amendment) {
	left := row.Asked
	for _, a := range all {
		left -= a.Returned
	}
	if held := row.held(); (held > 0 || row.State == expired && len(all) > 0) && row.Quantity != left {
		c.violated(nil, "amendment", "SKU %q: order %q has %d units, of %d that were asked for and %d that were not returned",
			row.SKU, row.ID, row.Quantity, row.Asked, left)
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

// inTime: a row is written while an attempt may write.
func (c *checker) inTime(o *Operation, created time.Time, what string) {
	if last := latest(o.Attempts, c.promise.over); created.After(last) {
		c.violated(o, "late", "the %s was written %s too late", what, created.Sub(last))
	}
}
