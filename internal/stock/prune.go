package stock

import "time"

// Pruning asks to fold old deductions of an archived SKU into a sum, so that tables stop growing: those that are not reserved
// any more, and that were taken, would have expired, and were amended before an instant. A cancel leaves no instant. Their order
// ids sell nothing again: a SKU stays archived, and an order of several SKUs leaves its row.
type Pruning struct {
	SKU      string
	OrderIDs []string  // keys, as [Store.DeductionPage] has them; others are left
	Before   time.Time // all has to have happened before
	DryRun   bool      // only count
}

// Pruned is what a [Pruning] folded, or would fold.
type Pruned struct {
	Deductions int64
	Units      int64 // that they hold
	Busy       bool  // somebody else has the SKU's rows: nothing was done
}
