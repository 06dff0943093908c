package stock

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Outbox lists changes of deductions, for programs that pass them on: a deduction was inserted, or its status or its
// quantity changed. The outbox belongs to the database, whichever process writes, and a change is listed in the
// transaction that makes it. The outbox is off at first, and costs nothing then.
type Outbox interface {
	// On starts to list all changes that begin after it has returned. It may be called while stock is sold, and twice.
	On(ctx context.Context) error
	// Off stops that. Listed rows stay.
	Off(ctx context.Context) error
	// Read returns the changes after a cursor, at most limit. The cursor "" is before all of them. A reader that goes on
	// from the cursor of the last change, at once or after a restart, misses none and gets none twice. A cursor that the
	// database cannot have given yet, but another one or a later state of it, is a [BadCursor].
	Read(ctx context.Context, after string, limit int) ([]Change, error)
	// Trim removes the changes up to a cursor, including the one that it came with, and returns how many.
	Trim(ctx context.Context, before string) (removed int64, err error)
	// Status says whether it is on, and what it has.
	Status(ctx context.Context) (OutboxStatus, error)
}

// OutboxStatus is the state of an outbox, and its JSON.
type OutboxStatus struct {
	On     bool      `json:"on"`
	Rows   int64     `json:"rows"`
	About  bool      `json:"rows_estimated,omitzero"` // there are more than OutboxCounted, and Rows is an estimate of the database
	Oldest time.Time `json:"oldest,omitzero"`         // of the rows; zero: there are none
	Newest time.Time `json:"newest,omitzero"`
}

// OutboxCounted bounds the rows that are counted for an [OutboxStatus].
const OutboxCounted = 1000

// Change is a deduction as a transaction left it. The changes of one order id are nearly always read in their order; when
// transactions cross, Version shows which change is the later one. Programs that read an outbox get it as JSON.
type Change struct {
	Cursor  string `json:"cursor"`  // the position after this change
	Version int64  `json:"version"` // of two changes of one order id, the later one has the higher one
	SKU     string `json:"sku"`
	OrderID string `json:"order_id"`
	// Namespace says whose order id it is: "" is the shop's, else it is this buyer's own.
	Namespace string          `json:"namespace,omitempty"`
	BuyerID   string          `json:"buyer_id,omitempty"` // "" for none
	Quantity  int64           `json:"quantity"`
	Status    DeductionStatus `json:"status"`
	// WrittenOff is how many units this change has returned that are not sold again.
	WrittenOff int64     `json:"written_off,omitempty"`
	At         time.Time `json:"at"` // by the clock of the database
}

// BadCursor is the error for a cursor that no change came with: the cursor itself.
type BadCursor string

func (c BadCursor) Error() string {
	return fmt.Sprintf("cursor %q: must be one that was read here", string(c))
}

// EventKind says what happened in an [Event].
type EventKind string

// The kinds of events.
const (
	EventSale        EventKind = "sale"          // orders were filled; one event for a whole batch
	EventMerge       EventKind = "merge"         // orders were filled that no single segment could fill
	EventSoldOut     EventKind = "sold_out"      // nothing is left in any segment
	EventBackInStock EventKind = "back_in_stock" // units were added, or came back
)

// Event is something that happened to a SKU, for people who watch. It is published after the write, and may be lost: the
// rows are the truth.
type Event struct {
	Kind   EventKind `json:"kind"`
	SKU    string    `json:"sku"`
	Orders int       `json:"orders,omitempty"` // how many were filled, for EventSale and EventMerge
	Units  int64     `json:"units,omitempty"`  // how many were sold; or were added or came back, if known
	At     time.Time `json:"at"`

	// Of EventSoldOut and EventBackInStock, which say what a look has seen: whoever gets them leaves out what is no change.
	Age      Age  `json:"age,omitzero"`
	WasEmpty bool `json:"was_empty,omitempty"` // a SKU that is back in stock was sold out before, as far as its publisher knows
}

// Age orders what was seen of a SKU: what is seen later is not younger. All writes that change what the segments hold raise it.
type Age struct {
	Layout  int64 `json:"layout,omitempty"`
	Version int64 `json:"version,omitempty"` // the sum of the segments' versions
}

// Before reports whether something was seen before something else.
func (a Age) Before(b Age) bool {
	return cmp.Or(cmp.Compare(a.Layout, b.Layout), cmp.Compare(a.Version, b.Version)) < 0
}

// Events receives what happens. Publish is called on the hot path: it must not wait.
type Events interface {
	Publish(event Event)
}

// NoEvents drops all events.
type NoEvents struct{}

// Publish does nothing.
func (NoEvents) Publish(Event) {}
