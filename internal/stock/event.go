package stock

import "time"

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
	Kind   EventKind
	SKU    string
	Orders int   // filled, for EventSale and EventMerge
	Units  int64 // sold; or added or back, if known
	At     time.Time
}

// Events receives what happens. Publish is called on the hot path: it must not wait.
type Events interface {
	Publish(event Event)
}

// NoEvents drops all events.
type NoEvents struct{}

// Publish does nothing.
func (NoEvents) Publish(Event) {}
