package stock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Outbox lists what became of deductions, for programs that pass it on: each was inserted, or changed its status or its
// quantity. It is a property of the database, whichever process writes, and written in the transaction that it tells
// of. It is off at first, and costs nothing then.
type Outbox interface {
	// On has all changes noted that begin after it has returned. It may be called while stock is sold, and twice.
	On(ctx context.Context) error
	// Off notes no more. What is there stays.
	Off(ctx context.Context) error
	// Read returns the changes behind a cursor, at most as many as limit says. The cursor "" stands before all of them.
	// Who reads on from the cursor of the last change, today or after a restart, misses none and is told none twice.
	Read(ctx context.Context, after string, limit int) ([]Change, error)
	// Trim removes the changes up to a cursor, with the one that it came with, and tells how many.
	Trim(ctx context.Context, before string) (removed int64, err error)
}

// Change is a deduction as it was left by a transaction. Those of one order id are nearly always told in their order;
// when transactions cross, Version tells which is the later.
type Change struct {
	Cursor  string // stands behind this change
	Version int64  // of two changes of one order id, the later one has the higher one
	SKU     string
	OrderID string
	// Namespace is whose order id it is: "" is the shop's, else it is one of that buyer's own.
	Namespace string
	BuyerID   string // "" for none
	Quantity  int64
	Status    DeductionStatus
	At        time.Time // by the clock of the database
}

// ErrNoOutbox means that the database lacks the migration that an outbox needs.
var ErrNoOutbox = errors.New("the database has no outbox yet: apply the migrations")

// BadCursor is the error for a cursor that no change came with: the cursor itself.
type BadCursor string

func (c BadCursor) Error() string {
	return fmt.Sprintf("cursor %q: must be one that was read", string(c))
}
