package selling

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"inventory/internal/locking"
	"inventory/internal/stock"
)

// Config holds what a [Service] is made of.
type Config struct {
	Store stock.Store
	// Lock returns the lock of one segment. The locks of a SKU's segments should share a group, so that a merge
	// takes them in one round trip. The lock of segment -1 guards nothing: it shows whether locks work. Nil
	// runs without locks: slower under contention, never wrong.
	Lock func(sku string, segment int) locking.Locker
	// LockAlways takes a lock for every batch, and not only where it saves waiting.
	LockAlways bool
	Placing    int // orders of several SKUs that are placed at the same time; 0 is 4
	// BatchLimit is how many orders one write carries out at most; 0 is no limit but the queue's. The lab measures what batches
	// are worth with 1.
	BatchLimit int
	// MaxReserveFor is how long a reservation lasts at most, if the SKU's terms do not say; 0 is MaxReserve.
	MaxReserveFor time.Duration
	Observer      Observer     // nil: none
	Events        stock.Events // nil: none
	// AnswerWithin is how long after it was read a request may still be written, unless its context ends before; 0 is
	// DefaultAnswerWithin.
	AnswerWithin time.Duration
	// Clock times sale windows and reservations, for tests; nil is the store's clock.
	Clock  func() time.Time
	Logger *slog.Logger // nil: none
}

// NewService returns a service that runs until Close.
func NewService(c Config) *Service {
	s := &Service{
		store: c.Store, lock: c.Lock, lockAlways: c.LockAlways, clock: c.Clock, stop: make(chan struct{}),
		placing: newPlacing(cmp.Or(c.Placing, defaultPlacing)), many: newMany(),
		mostOrders: cmp.Or(c.BatchLimit, queueLimit), maxReserve: cmp.Or(c.MaxReserveFor, stock.MaxReserve),
		answerWithin: cmp.Or(c.AnswerWithin, DefaultAnswerWithin), log: cmp.Or(c.Logger, slog.New(slog.DiscardHandler)),
		observer: cmp.Or[Observer](c.Observer, NoObserver{}), events: cmp.Or[stock.Events](c.Events, stock.NoEvents{}),
	}
	s.sharer, _ = c.Store.(stock.Sharer)
	s.base, s.cancel = context.WithCancel(context.Background())
	s.background, s.endBackground = context.WithCancel(s.base)
	s.breaker.circuit = s.newCircuit()
	s.workers.selling = make(map[string]*worker)
	s.workers.settling = make(map[string]*settler)
	s.overloaded = overloaded()
	s.reads = make(chan struct{}, mostReads)
	s.requests.New = func() any { return &request{answer: make(chan answer, 1)} }
	s.soldOut = newSoldOutCache()
	s.workers.running.Go(s.watch)
	s.workers.running.Go(s.sweepExpired)
	s.workers.running.Go(s.forgetIdle)
	return s
}

// Close refuses new deductions, finishes those in the queues, gives all locks back, and returns. When ctx ends
// first, what is left is abandoned and answered as unavailable.
func (s *Service) Close(ctx context.Context) error {
	s.workers.Lock()
	if !s.workers.stopped {
		s.workers.stopped = true
		close(s.stop)
		s.endBackground()
	}
	s.workers.Unlock()
	done := make(chan struct{})
	go func() {
		s.workers.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		s.cancel()
		return nil
	case <-ctx.Done():
		s.cancel()
		<-done
		return context.Cause(ctx)
	}
}
