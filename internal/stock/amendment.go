package stock

import "time"

// Amendment changes a deduction that stays: its reservation is extended, or a part of it is given back. Ref makes it
// happen only once in its deduction.
type Amendment struct {
	OrderID  string
	Ref      string
	Returned int64         // units that were given back
	Extended time.Duration // how long the reservation lasts from the amendment on
}

// replayed answers a request with the ref of this amendment: [RefReused], unless it asks for the same amendment.
func (a Amendment) replayed(asked Amendment) error {
	if a != asked {
		return RefReused(a.Ref)
	}
	return nil
}

// on returns a deduction as the amendment leaves it, and the parts that go back. most is the longest extension; 0: any.
func (a Amendment) on(d Deduction, at time.Time, most time.Duration) (after Deduction, back []Part, err error) {
	if a.Returned > 0 {
		return a.giveBack(d)
	}
	after, err = a.extend(d, at, most)
	return after, nil, err
}

// extend moves the end of a reservation to a later instant, never to an earlier one.
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

// giveBack gives units back, from the last parts first. Giving back all units cancels the deduction.
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
