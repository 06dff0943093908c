package stock

import (
	"context"
	"time"
)

// Store keeps the rows. Every write is one transaction, relative and conditional, so that processes with and
// without locks may write at the same time: the guard is here, not in the locks.
//
// Rows are locked in one order by every method: segments ascending, then deductions ascending by order id.
//
// Every transaction that changes what a segment holds, or inserts a deduction, raises the version of a segment's row.
// So equal versions of all segments, read at two instants, prove that nothing happened in between.
//
// Errors: a *[Error] where the caller is told a code, a *[FencedError], [ErrGuard], and anything else means that the
// outcome is not known.
type Store interface {
	// CreateSKU adds a SKU, its stock spread over its segments. It reports false if the same SKU was there
	// already, and CodeSKUExists if it was there with other properties.
	CreateSKU(ctx context.Context, sku NewSKU, at time.Time) (created bool, err error)
	// Status reads a SKU in one snapshot.
	Status(ctx context.Context, sku string) (Status, error)
	// Segments reads the available units of each segment, without any lock.
	Segments(ctx context.Context, sku string) ([]int64, error)
	// Deduct takes a batch from one segment.
	Deduct(ctx context.Context, batch Batch) (BatchResult, error)
	// Merge takes a batch from all segments of a SKU, whose rows it locks, so its refusals are final.
	Merge(ctx context.Context, merge Merge) (MergeResult, error)
	// Deduction reads one deduction with its parts.
	Deduction(ctx context.Context, sku, orderID string) (Deduction, error)
	// Deductions reads those of the order ids that exist, without their parts.
	Deductions(ctx context.Context, sku string, orderIDs []string) (map[string]Deduction, error)
	// SoldOut reads a SKU in one snapshot and without any lock: the version of each segment, and whether none holds
	// anything. If so, accepted gets the ids of the orders that were accepted, at most as many as limit says and in
	// any order; the bytes are its own only until it returns. A limit of 0 reads no ids.
	SoldOut(ctx context.Context, sku string, limit int, accepted func(orderID []byte)) (versions []int64, soldOut bool, err error)
	// Restock adds units and a ledger row. It reports false if this very restock was there already.
	Restock(ctx context.Context, restock Restock) (created bool, err error)
	// Watch calls restocked for every SKU that gets units, whichever process adds them, soon after the commit. It calls
	// listening once it hears them all; those of before it has missed. It returns nil at once if no other process can
	// write, and else the error that ended it, at the latest when ctx ends.
	Watch(ctx context.Context, listening func(), restocked func(sku string)) error
	// Audit recomputes the balance of every SKU from the rows, in one snapshot.
	Audit(ctx context.Context) (Audit, error)
	// Ping tells whether the database answers.
	Ping(ctx context.Context) error
	// Close gives everything back.
	Close() error
}

// Batch is a number of orders for one segment under one fencing token. A later order with the id of an earlier
// one is answered from the earlier one's outcome.
type Batch struct {
	SKU     string
	Segment int
	Fence   Fence
	At      time.Time
	Orders  []Order
}

// BatchResult has an outcome for each order of the batch, and what the segment holds afterwards.
type BatchResult struct {
	Outcomes  []Outcome
	Available int64
}

// Merge is a number of orders for all segments of a SKU together. Fences holds a token for each segment that is
// locked; the others are guarded by their rows alone.
type Merge struct {
	SKU    string
	Fences map[int]Fence
	At     time.Time
	Orders []Order
}

// MergeResult has an outcome for each order, and what each segment holds afterwards. Merged counts the orders
// that took from more than one segment.
type MergeResult struct {
	Outcomes []Outcome
	Segments []int64
	Merged   int
}

// Verdict says what became of one order of a batch.
type Verdict uint8

// The verdicts.
const (
	Accepted Verdict = iota + 1 // stock was taken now
	Known                       // the order id was there before; Deduction says with what
	Short                       // not enough stock; Available says how much there was when its turn came
)

// Outcome is the verdict on one order.
type Outcome struct {
	Verdict   Verdict
	Deduction Deduction // for Accepted and Known
	Available int64     // for Short
}

// AcceptedOutcome is the outcome of an order that was taken from sku.
func AcceptedOutcome(sku string, o Order) Outcome {
	return Outcome{Verdict: Accepted, Deduction: Deduction{
		SKU: sku, OrderID: o.OrderID, BuyerID: o.BuyerID, Quantity: o.Quantity, Status: StatusCommitted,
	}}
}
