package stock

// DeductionQuery asks for a page of the deductions of a SKU, in the order of their order keys' bytes.
type DeductionQuery struct {
	SKU     string
	BuyerID string          // only this buyer's; "": of anybody
	Status  DeductionStatus // only in this state; "": in any
	After   string          // the order key behind which the page begins; "": before all
	Limit   int             // deductions in the page, at most
	// Scan is how many rows are read to find them, at most. What a page costs grows with it alone, however many
	// deductions there are and however few are meant.
	Scan int
}

// Check holds a query to what can be there.
func (q DeductionQuery) Check() error {
	if err := CheckSKU(q.SKU); err != nil {
		return err
	}
	if q.BuyerID != "" {
		if err := CheckKnownID("buyer_id", q.BuyerID); err != nil {
			return err
		}
	}
	switch q.Status {
	case "", StatusReserved, StatusCommitted, StatusCancelled, StatusExpired:
	default:
		return Invalid("status", "must be reserved, committed, cancelled or expired")
	}
	if q.After != "" && !CheckKey(q.After) {
		return Invalid("after", "must be the next of an earlier answer")
	}
	return nil
}

// Bound is how many rows are read at most: where all are meant, as many as the page holds.
func (q DeductionQuery) Bound() int {
	if q.BuyerID == "" && q.Status == "" {
		return q.Limit
	}
	return max(q.Limit, q.Scan)
}

// DeductionPage is a part of the deductions of a SKU, without their parts. Next is the key to read on behind; "" where
// this is the end for now. Where few are meant, a page may hold few or none and have a Next all the same.
type DeductionPage struct {
	Deductions []Deduction
	Next       string
}

// Page makes a page of what was found up to the last key that was read; "" where all were read.
func (q DeductionQuery) Page(found []Deduction, last string) DeductionPage {
	if len(found) == q.Limit {
		last = found[len(found)-1].OrderID
	}
	return DeductionPage{Deductions: found, Next: last}
}
