package selling

import "time"

// Observer is told what the service does, for metrics. Its methods are called on the hot path by many
// goroutines, so they must be quick and safe for concurrent use.
type Observer interface {
	// BatchWritten tells that a batch of orders was answered from one segment. locked is false when it was
	// written under the guard alone.
	BatchWritten(orders int, took time.Duration, locked bool)
	// MergeWritten tells that a merge was answered, and how many of its orders took from several segments.
	MergeWritten(orders, merged int, took time.Duration, locked bool)
	// LockWaited tells how long a lane waited for a lock, and whether it got it.
	LockWaited(took time.Duration, got bool)
	// LocksFail tells that lanes no longer ask for locks, because they fail, or that they ask again.
	LocksFail(fail bool)
	// Queued tells how long an order stood in its lane's queue.
	Queued(took time.Duration)
	// FencedOut tells that the guard refused a fencing token.
	FencedOut()
	// GuardFired tells that a constraint of the database fired: a bug, or a stranger who writes to the tables.
	GuardFired()
	// SoldOutFromCache tells how many orders were refused without asking for stock again.
	SoldOutFromCache(orders int)
	// SoldOutCached tells that the ids of the orders of a SKU that sold out were read.
	SoldOutCached(ids int, took time.Duration)
	// SettlementWritten tells that commits and cancels were answered together.
	SettlementWritten(wishes int, took time.Duration)
	// ReservationsExpired tells that reservations have expired and their units are back.
	ReservationsExpired(reservations int)
	// OrderWritten tells that an order of several SKUs was answered. locked is false when it was written under the guard
	// alone.
	OrderWritten(lines int, took time.Duration, locked bool)
	// Resegmented tells for how long lanes were kept out while a SKU got other segments.
	Resegmented(pause time.Duration)
	// NotificationsFail tells that notices of other processes' restocks have begun to fail, or work again.
	NotificationsFail(failing bool)
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
func (NoObserver) NotificationsFail(bool) {}

// SettlementWritten does nothing.
func (NoObserver) SettlementWritten(int, time.Duration) {}

// ReservationsExpired does nothing.
func (NoObserver) ReservationsExpired(int) {}

// OrderWritten does nothing.
func (NoObserver) OrderWritten(int, time.Duration, bool) {}

// Resegmented does nothing.
func (NoObserver) Resegmented(time.Duration) {}
