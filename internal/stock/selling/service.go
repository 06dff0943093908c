package selling

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"inventory/internal/locking"
	"inventory/internal/stock"
	"inventory/internal/turns"
)

// Service sells stock. It is safe for concurrent use.
type Service struct {
	store      stock.Store
	sharer     stock.Sharer // the store; nil: it is none
	lock       func(sku string, segment int) locking.Locker
	lockAlways bool
	observer   Observer
	events     stock.Events
	clock      func() time.Time // nil: the store's
	log        *slog.Logger
	mostOrders int // of one write
	maxReserve time.Duration
	// answerWithin is how long something may be written for a request.
	answerWithin time.Duration
	expiring     singleflight.Group // by SKU: what has expired is given back
	reads        chan struct{}      // one element for each caller that reads

	base   context.Context // of the workers' writes; outlives the callers, and ends when Close has waited long enough
	cancel context.CancelFunc
	stop   chan struct{} // closed by Close: workers finish their queues and end
	// background is the context of the background goroutines, and ends when Close begins.
	background    context.Context
	endBackground context.CancelFunc
	soldOut       *soldOutCache
	breaker       breaker      // between the workers and the locks
	requests      sync.Pool    // of *request
	overloaded    error        // shared by all requests that a full queue refuses
	placing       *turns.Turns // of orders of several SKUs
	many          *turns.Turns // of requests with many orders
	workers       registry
}

// at is the instant by which a write decides: zero for the store's own clock, or the time of a test's clock.
func (s *Service) at() time.Time {
	if s.clock == nil {
		return time.Time{}
	}
	return s.now()
}

// now is approximately the instant by which a write would decide now: in UTC, in microseconds as both stores keep it. It is for
// what decides nothing.
func (s *Service) now() time.Time {
	if s.clock == nil {
		return s.store.Now()
	}
	return s.clock().UTC().Truncate(time.Microsecond)
}

// between returns the earliest and the latest instant by which a write of a SKU could decide now.
func (s *Service) between(sku string) (earliest, latest time.Time) {
	if s.clock == nil {
		return s.store.Clock(sku)
	}
	at := s.now()
	return at, at
}

// over reports whether the expiry of a reservation of a SKU may have come; the zero time never does. Who asks then reads the
// rows, or ends what has expired by the store's own clock: so it must not be late.
func (s *Service) over(sku string, until time.Time) bool {
	if until.IsZero() {
		return false
	}
	_, latest := s.between(sku)
	return !latest.Before(until)
}

// mayBeDue reports whether a deduction may be a reservation that has expired.
func (s *Service) mayBeDue(d stock.Deduction) bool {
	_, latest := s.between(d.SKU)
	return d.Due(latest)
}
