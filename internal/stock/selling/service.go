package selling

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"inventory/internal/locking"
	"inventory/internal/stock"
	"inventory/internal/turns"
)

// Service sells stock. It is safe for concurrent use.
type Service struct {
	store      stock.Store
	sharer     stock.Sharer // the store as a sharer; nil: it is none
	lock       func(sku string, segment int) locking.Locker
	lockAlways bool
	observe    Observer
	events     stock.Events
	clock      func() time.Time // nil: the store's
	log        *slog.Logger
	mostOrders int // one write carries out at most so many
	maxReserve time.Duration
	// answerWithin is how long something may be written for a request.
	answerWithin time.Duration
	reads        *semaphore.Weighted
	longReads    *semaphore.Weighted
	forgetKey    []byte                    // names buyers who are forgotten; nil: none is
	forgotten    atomic.Pointer[forgotten] // nil: not known yet

	base   context.Context // of the workers' writes; outlives the callers, and ends when Close has waited long enough
	cancel context.CancelFunc
	// background is the context of the background goroutines, and ends when Close begins: workers finish their queues and end.
	background    context.Context
	endBackground context.CancelFunc
	soldOut       *soldOutCache
	levels        levels
	breaker       breaker // between the workers and the locks
	viewed        viewCache
	placing       *turns.Turns // of these orders, all of them
	many          *turns.Turns // of requests with many orders
	workers       registry

	careful     *turns.Turns // of those of these orders that need care
	large       *turns.Turns // of the large ones
	lastSmaller atomic.Int64 // when the last one that is not large came, in nanoseconds
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

// over reports whether the expiry of a reservation of a SKU may have come; the zero time never does. The caller then
// reads the rows, or ends what has expired by the store's own clock: so it must not be late.
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

// Config holds what a [Service] is made of.
type Config struct {
	Store stock.Store
	// Lock returns the lock of one segment. The locks of a SKU's segments should share a group, so that a merge
	// takes them in one round trip. The lock of segment -1 guards nothing: it shows whether locks work. Nil
	// runs without locks: slower under contention, never wrong.
	Lock func(sku string, segment int) locking.Locker
	// LockAlways takes a lock for every batch, and not only where it saves waiting.
	LockAlways bool
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
	// ForgetKey is the key of [stock.Pseudonym] by which buyers were forgotten; nil: none was.
	ForgetKey []byte
}

// NewService returns a service that runs until Close.
func NewService(c Config) *Service {
	s := &Service{
		store: c.Store, lock: c.Lock, lockAlways: c.LockAlways, clock: c.Clock,
		mostOrders: cmp.Or(c.BatchLimit, queueLimit), maxReserve: cmp.Or(c.MaxReserveFor, stock.MaxReserve),
		answerWithin: cmp.Or(c.AnswerWithin, DefaultAnswerWithin), log: cmp.Or(c.Logger, slog.New(slog.DiscardHandler)),
		forgetKey: c.ForgetKey, observe: c.Observer, events: cmp.Or[stock.Events](c.Events, stock.NoEvents{}),
	}
	if s.observe == nil {
		s.observe = func(Activity) {}
	}
	s.makePlaces()
	s.viewed.bySKU = make(map[string]*cachedView)
	s.sharer, _ = c.Store.(stock.Sharer)
	s.base, s.cancel = context.WithCancel(context.Background())
	s.background, s.endBackground = context.WithCancel(s.base)
	s.workers.bySKU = make(map[string]*worker)
	s.reads, s.longReads = semaphore.NewWeighted(mostReads), semaphore.NewWeighted(mostLongReads)
	s.soldOut = newSoldOutCache()
	s.levels.pending = make(map[string]int64)
	s.workers.running.Go(s.watch)
	s.workers.running.Go(s.sweepExpired)
	s.workers.running.Go(s.countInBackground)
	s.workers.running.Go(s.loadSoldOut)
	s.workers.running.Go(s.confirmSoldOut)
	s.workers.running.Go(s.tellLevels)
	s.workers.running.Go(s.forgetIdle)
	s.workers.running.Go(s.learn)
	return s
}

// Close refuses new deductions, finishes those in the queues, gives all locks back, and returns. When ctx ends
// first, what is left is abandoned and answered as unavailable.
func (s *Service) Close(ctx context.Context) error {
	s.workers.Lock() // nobody is between a look whether the service stops, and what it has Close wait for
	s.endBackground()
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

// registry holds what sells in a service: a worker for each SKU in use.
type registry struct {
	sync.RWMutex
	bySKU   map[string]*worker
	running sync.WaitGroup // who serves a queue, and the background goroutines
}

// enqueue puts a request into a queue of its SKU's worker, new if there is none, and has the queue served if nobody does.
func (s *Service) enqueue(sku string, r *request) error {
	settles := r.settle.OrderID != ""
	w, serve, err := s.push(sku, r, settles)
	switch {
	case serve && settles:
		go w.runSettling()
	case serve:
		w.step()
	}
	return err
}

// push puts a request into a queue. If the caller is to serve the queue, Close waits until it calls running.Done.
func (s *Service) push(sku string, r *request, settles bool) (w *worker, serve bool, err error) {
	s.workers.RLock()
	defer s.workers.RUnlock()
	for w = s.workers.bySKU[sku]; w == nil; w = s.workers.bySKU[sku] { // nobody forgets it before the push
		s.workers.RUnlock()
		s.workers.Lock()
		if s.workers.bySKU[sku] == nil {
			s.workers.bySKU[sku] = s.newWorker(sku)
		}
		s.workers.Unlock()
		s.workers.RLock()
	}
	if s.background.Err() != nil {
		return w, false, shuttingDown()
	}
	q := w.queue
	if settles {
		q = w.settling
	}
	if serve, err = q.push(r, queueLimit); serve {
		s.workers.running.Add(1)
	}
	return w, serve, err
}

// forgetIdle forgets workers whose queues nobody has served for a while, until the service closes.
func (s *Service) forgetIdle() {
	for s.pause(idleFor / 4) {
		s.workers.Lock()
		maps.DeleteFunc(s.workers.bySKU, func(_ string, w *worker) bool {
			idle := w.idle(idleFor)
			if idle {
				w.remember()
			}
			return idle
		})
		s.workers.Unlock()
	}
}

// Waiting is how many orders wait in the queues of all SKUs.
func (s *Service) Waiting() int {
	s.workers.RLock()
	defer s.workers.RUnlock()
	waiting := 0
	for _, w := range s.workers.bySKU {
		waiting += w.queue.length()
	}
	return waiting
}

// shuttingDown is the error of a request that comes after Close.
func shuttingDown() error {
	return &stock.Error{Code: stock.CodeUnavailable, Message: "the service is shutting down: nothing was written", Err: stock.ErrUnwritten}
}

// begin makes Close wait until the caller calls running.Done. It reports false once the service stops.
func (s *Service) begin() bool {
	s.workers.RLock()
	defer s.workers.RUnlock()
	if s.background.Err() != nil {
		return false
	}
	s.workers.running.Add(1)
	return true
}

// pause waits, and reports false once the service stops.
func (s *Service) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.background.Done():
		return false
	}
}

// Observer receives what the service does, for metrics. It is called on the hot path by many goroutines, so it must be quick and safe
// for concurrent use.
type Observer func(Activity)

// Activity is one thing that the service does.
type Activity struct {
	Kind   ActivityKind
	Count  int           // of what its kind is about: orders, requests or reservations
	Merged int           // of the orders of a merge, those that took from several segments
	Took   time.Duration // from its beginning on
	Locked bool          // the lock was there: without it a write was under the guard alone
	Err    error         // why something fails; nil: it works again
}

// ActivityKind says what the service does.
type ActivityKind int

// The kinds of activities.
const (
	BatchWritten        ActivityKind = iota // a batch of orders was answered from one segment
	MergeWritten                            // a merge was answered
	OrderWritten                            // an order of several SKUs was answered
	SettlementWritten                       // commits and cancels were answered together
	Queued                                  // an order has waited in its queue
	LockWaited                              // a worker has waited for a lock
	LocksFailed                             // workers no longer ask for locks, because they fail, or ask again
	FencedOut                               // the guard refused a fencing token
	GuardFired                              // a constraint of the database fired: a bug, or a stranger who writes to the tables
	SoldOutFromCache                        // orders were refused without asking for stock again
	SoldOutCached                           // the ids of the orders of a SKU that sold out were read
	ReservationsExpired                     // reservations have expired and their units are back
	Resegmented                             // a SKU got other segments, for which it was not sold that long
	NotificationsFailed                     // notifications of other processes' restocks fail, each time they are tried, or work
)
