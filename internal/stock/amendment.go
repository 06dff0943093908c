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

// Amends tells whether the request asks for an amendment.
func (w SettleRequest) Amends() bool { return w.Ref != "" }

// amendment is what the request asks for.
func (w SettleRequest) amendment() Amendment {
	if w.Cancel {
		return Amendment{OrderID: w.OrderID, Ref: w.Ref, Returned: w.Quantity}
	}
	return Amendment{OrderID: w.OrderID, Ref: w.Ref, Extended: w.Extend}
}

func (w SettleRequest) checkAmendment() error {
	if err := checkText("ref", w.Ref, maxIDBytes); err != nil {
		return err
	}
	switch {
	case w.Cancel:
		return checkQuantity(w.Quantity)
	case w.Extend == 0:
		return Invalid("reserve_for", "must be given")
	default:
		return checkReserve(w.Extend)
	}
}

// replay answers a request whose ref an amendment has already: [RefReused] if that was another one.
func (w SettleRequest) replay(there Amendment) error {
	if there != w.amendment() {
		return RefReused(w.Ref)
	}
	return nil
}

// amend is what the request makes of a deduction, and the parts that go back.
func (w SettleRequest) amend(d Deduction, at time.Time) (after Deduction, back []Part, err error) {
	if w.Cancel {
		return w.giveBack(d)
	}
	after, err = w.extend(d, at)
	return after, nil, err
}

// extend moves the end of a reservation, and never to an earlier instant.
func (w SettleRequest) extend(d Deduction, at time.Time) (Deduction, error) {
	if d.Status != StatusReserved {
		return d, notReserved(d, "extend")
	}
	if w.MostExtend > 0 && w.Extend > w.MostExtend {
		return d, reservedTooLong(d.SKU, w.MostExtend)
	}
	if until := at.Add(w.Extend); until.After(d.ExpiresAt) {
		d.ExpiresAt = until
	}
	return d, nil
}

// giveBack gives units back, the last of its parts first. The last units cancel it.
func (w SettleRequest) giveBack(d Deduction) (after Deduction, back []Part, err error) {
	switch {
	case !d.Status.Live():
		return d, nil, notReserved(d, "give back")
	case w.Quantity > d.Quantity:
		return d, nil, Invalid("quantity", "must be 1 to %d, which is what the deduction holds", d.Quantity)
	case w.Quantity == d.Quantity:
		back, d.Status = d.Parts, StatusCancelled
		return d, back, nil
	}
	if d.Status == StatusCommitted && d.Committed == 0 {
		d.Committed = d.Quantity
	}
	d.Quantity -= w.Quantity
	d.Parts, back = splitParts(d.Parts, d.Quantity)
	return d, back, nil
}
