package stock

import "time"

// Amendment changes a deduction that stays: its reservation is extended, or a part of it is given back. Ref makes it
// happen once within its deduction.
type Amendment struct {
	OrderID  string
	Ref      string
	Returned int64         // units that were given back
	Extended time.Duration // for how long it was reserved, from then on
}

// replayed answers a request for another amendment with the same ref: [RefReused], unless it asks for this one.
func (a Amendment) replayed(asked Amendment) error {
	if a != asked {
		return RefReused(a.Ref)
	}
	return nil
}

// on is what an amendment makes of a deduction, and the parts that go back. A reservation is extended by most at most; 0:
// any time.
func (a Amendment) on(d Deduction, at time.Time, most time.Duration) (after Deduction, back []Part, err error) {
	if a.Returned > 0 {
		return a.giveBack(d)
	}
	after, err = a.extend(d, at, most)
	return after, nil, err
}

// extend moves the end of a reservation, and never to an earlier instant.
func (a Amendment) extend(d Deduction, at time.Time, most time.Duration) (Deduction, error) {
	if d.Status != StatusReserved {
		return d, notReserved(d, "extend")
	}
	if most > 0 && a.Extended > most {
		return d, reservedTooLong(d.SKU, most)
	}
	if until := at.Add(a.Extended); until.After(d.ExpiresAt) {
		d.ExpiresAt = until
	}
	return d, nil
}

// giveBack gives units back, the last of its parts first. The last units cancel it.
func (a Amendment) giveBack(d Deduction) (after Deduction, back []Part, err error) {
	switch {
	case !d.Status.Live():
		return d, nil, notReserved(d, "give back")
	case a.Returned > d.Quantity:
		return d, nil, Invalid("quantity", "must be 1 to %d, which is what the deduction holds", d.Quantity)
	case a.Returned == d.Quantity:
		back, d.Status = d.Parts, StatusCancelled
		return d, back, nil
	}
	if d.Status == StatusCommitted && d.Committed == 0 {
		d.Committed = d.Quantity
	}
	d.Quantity -= a.Returned
	d.Parts, back = splitParts(d.Parts, d.Quantity)
	return d, back, nil
}
