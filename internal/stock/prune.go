package stock

import "time"

// Pruning asks to fold old deductions of an archived SKU into a sum, so that tables stop growing. A deduction is old if it is
// no longer reserved, and its creation, the end of its reservation and its amendments lie before an instant. A cancel leaves
// no instant. Pruned order ids sell nothing again: a SKU stays archived, and an order of several SKUs leaves its row.
type Pruning struct {
	SKU      string
	OrderIDs []string  // keys, as [Store.DeductionPage] returns them; other deductions stay
	Before   time.Time // the instant
	DryRun   bool      // only count
}

// Pruned is what a [Pruning] folded, or would fold.
type Pruned struct {
	Deductions int64
	Units      int64 // that these deductions hold
	Busy       bool  // another transaction has the SKU's rows: nothing was done
}
