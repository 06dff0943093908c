package stock

// DeductionQuery asks for a page of the deductions of a SKU, in the order of their order keys' bytes.
type DeductionQuery struct {
	SKU     string
	BuyerID string          // only this buyer's; "": any buyer's
	Status  DeductionStatus // only in this state; "": in any
	After   string          // the order key after which the page begins; "": before all
	Limit   int             // deductions in the page, at most
	// Scan is how many rows are read to find them, at most. The cost of a page grows with it alone, however many
	// deductions there are and however few of them match.
	Scan int
}

// Check refuses a query for values that cannot exist.
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

// Bound returns how many rows are read at most: as many as the page holds, if every row matches.
func (q DeductionQuery) Bound() int {
	if q.BuyerID == "" && q.Status == "" {
		return q.Limit
	}
	return max(q.Limit, q.Scan)
}

// DeductionPage is a page of the deductions of a SKU, without their parts. The next page begins after the key Next; "": this
// is the end for now. If few rows match, a page may hold few or none and have a Next anyway.
type DeductionPage struct {
	Deductions []Deduction
	Next       string
}

// Page returns a page of what was found. last is the last key that was read; "" if all were read.
func (q DeductionQuery) Page(found []Deduction, last string) DeductionPage {
	if len(found) == q.Limit {
		last = found[len(found)-1].OrderID
	}
	return DeductionPage{Deductions: found, Next: last}
}
