package stock

import "time"

// EventKind says what an [Event] tells.
type EventKind string

// The kinds of events.
const (
	EventSale        EventKind = "sale"          // orders were filled; one event for a whole batch
	EventMerge       EventKind = "merge"         // orders were filled that no single segment could fill
	EventSoldOut     EventKind = "sold_out"      // nothing is left in any segment
	EventBackInStock EventKind = "back_in_stock" // units were added, or came back
)

// Event is something that happened to a SKU, for people who watch. It is told after it was written, and may be lost:
// the rows are the truth.
type Event struct {
	Kind   EventKind
	SKU    string
	Orders int   // filled, for EventSale and EventMerge
	Units  int64 // sold, or come back where that is known
	At     time.Time
}

// Events is told what happens. Publish is called on the hot path: it must not wait.
type Events interface {
	Publish(event Event)
}

// NoEvents tells nobody.
type NoEvents struct{}

// Publish does nothing.
func (NoEvents) Publish(Event) {}
