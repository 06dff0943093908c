package stock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Outbox lists changes of deductions, for programs that pass them on: a deduction was inserted, or its status or its
// quantity changed. The outbox belongs to the database, whichever process writes, and a change is listed in the
// transaction that makes it. The outbox is off at first, and costs nothing then.
type Outbox interface {
	// On starts to list all changes that begin after it has returned. It may be called while stock is sold, and twice.
	On(ctx context.Context) error
	// Off stops that. What is listed stays.
	Off(ctx context.Context) error
	// Read returns the changes after a cursor, at most limit. The cursor "" is before all of them. A reader that goes on
	// from the cursor of the last change, at once or after a restart, misses none and gets none twice. A cursor that the
	// database cannot have given yet, but another one or a later state of it, is a [BadCursor].
	Read(ctx context.Context, after string, limit int) ([]Change, error)
	// Trim removes the changes up to a cursor, including the one that it came with, and returns how many.
	Trim(ctx context.Context, before string) (removed int64, err error)
}

// Change is a deduction as a transaction left it. The changes of one order id are nearly always read in their order; when
// transactions cross, Version shows which change is the later one.
type Change struct {
	Cursor  string // the position after this change
	Version int64  // of two changes of one order id, the later one has the higher one
	SKU     string
	OrderID string
	// Namespace says whose order id it is: "" is the shop's, else it is this buyer's own.
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
	return fmt.Sprintf("cursor %q: must be one that was read here", string(c))
}
