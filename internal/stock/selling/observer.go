package selling

import "time"

// Observer receives what the service does, for metrics. Its methods are called on the hot path by many
// goroutines, so they must be quick and safe for concurrent use.
type Observer interface {
	// BatchWritten reports that a batch of orders was answered from one segment. locked is false when it was
	// written under the guard alone.
	BatchWritten(orders int, took time.Duration, locked bool)
	// MergeWritten reports that a merge was answered, and how many of its orders took from several segments.
	MergeWritten(orders, merged int, took time.Duration, locked bool)
	// LockWaited reports how long a worker waited for a lock, and whether it got it.
	LockWaited(took time.Duration, got bool)
	// LocksFail reports that workers no longer ask for locks, because they fail, or that they ask again.
	LocksFail(fail bool)
	// Queued reports how long an order waited in its queue.
	Queued(took time.Duration)
	// FencedOut reports that the guard refused a fencing token.
	FencedOut()
	// GuardFired reports that a constraint of the database fired: a bug, or a stranger who writes to the tables.
	GuardFired()
	// SoldOutFromCache reports how many orders were refused without asking for stock again.
	SoldOutFromCache(orders int)
	// SoldOutCached reports that the ids of the orders of a SKU that sold out were read.
	SoldOutCached(ids int, took time.Duration)
	// SettlementWritten reports that commits and cancels were answered together.
	SettlementWritten(requests int, took time.Duration)
	// ReservationsExpired reports that reservations have expired and their units are back.
	ReservationsExpired(reservations int)
	// OrderWritten reports that an order of several SKUs was answered. locked is false when it was written under the guard
	// alone.
	OrderWritten(lines int, took time.Duration, locked bool)
	// Resegmented reports for how long workers were kept out while a SKU got other segments.
	Resegmented(pause time.Duration)
	// NotificationsFail reports, each time that it is tried, why notifications of other processes' restocks fail; nil: they work.
	NotificationsFail(err error)
}

// NoObserver observes nothing.
type NoObserver struct{}

// BatchWritten does nothing.
func (NoObserver) BatchWritten(int, time.Duration, bool) {}

// MergeWritten does nothing.
func (NoObserver) MergeWritten(int, int, time.Duration, bool) {}

// LockWaited does nothing.
func (NoObserver) LockWaited(time.Duration, bool) {}

// LocksFail does nothing.
func (NoObserver) LocksFail(bool) {}

// Queued does nothing.
func (NoObserver) Queued(time.Duration) {}

// FencedOut does nothing.
func (NoObserver) FencedOut() {}

// GuardFired does nothing.
func (NoObserver) GuardFired() {}

// SoldOutFromCache does nothing.
func (NoObserver) SoldOutFromCache(int) {}

// SoldOutCached does nothing.
func (NoObserver) SoldOutCached(int, time.Duration) {}

// NotificationsFail does nothing.
func (NoObserver) NotificationsFail(error) {}

// SettlementWritten does nothing.
func (NoObserver) SettlementWritten(int, time.Duration) {}

// ReservationsExpired does nothing.
func (NoObserver) ReservationsExpired(int) {}

// OrderWritten does nothing.
func (NoObserver) OrderWritten(int, time.Duration, bool) {}

// Resegmented does nothing.
func (NoObserver) Resegmented(time.Duration) {}
