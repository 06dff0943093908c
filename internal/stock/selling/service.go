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
	store       stock.Store
	lock        func(sku string, segment int) locking.Locker
	lockAlways  bool
	observer    Observer
	events      stock.Events
	clock       func() time.Time // nil: the store's
	log         *slog.Logger
	mostPlacing int
	mostWorkers int
	mostOrders  int // of one write
	maxReserve  time.Duration
	// answerWithin is how long something may be written for a request.
	answerWithin time.Duration
	expiring     singleflight.Group // by SKU: what has expired is given back
	reads        chan struct{}      // holds as many as there are callers who read

	base   context.Context // of the workers' writes; outlives the callers, ends when a Close has waited long enough
	cancel context.CancelFunc
	stop   chan struct{} // closed by Close: workers finish their queues and end
	// background is of what runs besides the workers, and ends when Close begins.
	background    context.Context
	endBackground context.CancelFunc
	soldOut       *soldOutCache
	// notificationsFail is whether this process misses other processes' restocks.
	notificationsFail bool
	breaker           breaker      // between the workers and the locks
	requests          sync.Pool    // of *request
	overloaded        error        // shared by all that find a queue full
	placing           placing      // of orders of several SKUs
	many              *turns.Turns // of requests with many orders
	workers           registry
}

// at is the instant by which a write decides: zero, which is the store's clock, but where a test has one of its own.
func (s *Service) at() time.Time {
	if s.clock == nil {
		return time.Time{}
	}
	return s.now()
}

// now is about the instant by which a write would decide: UTC, and no finer than what both stores keep.
func (s *Service) now() time.Time {
	if s.clock == nil {
		return s.store.Now()
	}
	return s.clock().UTC().Truncate(time.Microsecond)
}

// over tells whether an instant at which a reservation expires has come; the zero time is none.
func (s *Service) over(until time.Time) bool { return !until.IsZero() && !s.now().Before(until) }
