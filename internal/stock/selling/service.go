package selling

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"inventory/internal/locking"
	"inventory/internal/stock"
	"inventory/internal/turns"
)

// Config holds what a [Service] is made of.
type Config struct {
	Store stock.Store
	// Lock returns the lock of one segment. The locks of a SKU's segments should share a group, so that a merge
	// takes them in one round trip. Segment -1 is nobody's: its lock shows whether locks work. Nil runs without locks:
	// slower under contention, never wrong.
	Lock    func(sku string, segment int) locking.Locker
	Workers int // at most, of one SKU at a time; 0 is 4. A store that writes one batch at a time wants 1.
	// BatchLimit is how many orders one write carries out at most; 0 is as many as pay. With 1 the lab measures what batches buy.
	BatchLimit int
	// MaxReserveFor is how long a reservation lasts at most of a SKU whose terms do not say; 0 is MaxReserve.
	MaxReserveFor time.Duration
	Observer      Observer     // nil: none
	Events        stock.Events // nil: none
	// AnswerWithin is how long after it was read something may be written for a request, unless its context ends before; 0
	// is DefaultAnswerWithin.
	AnswerWithin time.Duration
	// Clock, for tests, is what sale windows and reservations are timed by; nil is the store's.
	Clock  func() time.Time
	Logger *slog.Logger // nil: none
}

// Service sells stock. It is safe for concurrent use.
type Service struct {
	store       stock.Store
	lock        func(sku string, segment int) locking.Locker
	observer    Observer
	events      stock.Events
	clock       func() time.Time // nil: the store's
	log         *slog.Logger
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

// NewService returns a service that runs until Close.
func NewService(c Config) *Service {
	s := &Service{
		store: c.Store, lock: c.Lock, observer: c.Observer, events: c.Events, clock: c.Clock, log: c.Logger, stop: make(chan struct{}),
	}
	if s.mostWorkers = c.Workers; s.mostWorkers == 0 {
		s.mostWorkers = defaultWorkers
	}
	if s.mostOrders = c.BatchLimit; s.mostOrders == 0 {
		s.mostOrders = queueLimit
	}
	if s.maxReserve = c.MaxReserveFor; s.maxReserve == 0 {
		s.maxReserve = stock.MaxReserve
	}
	if s.observer == nil {
		s.observer = NoObserver{}
	}
	if s.events == nil {
		s.events = stock.NoEvents{}
	}
	if s.answerWithin = c.AnswerWithin; s.answerWithin == 0 {
		s.answerWithin = DefaultAnswerWithin
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.placing, s.many = s.newPlacing(), newMany()
	s.base, s.cancel = context.WithCancel(context.Background())
	s.background, s.endBackground = context.WithCancel(s.base)
	s.breaker.circuit = s.newCircuit()
	s.workers.sellers = make(map[string]*seller)
	s.workers.settlers = make(map[string]*settler)
	s.overloaded = overloaded()
	s.reads = make(chan struct{}, mostReads)
	s.requests.New = func() any { return &request{answer: make(chan answer, 1)} }
	s.soldOut = newSoldOutCache()
	s.workers.running.Go(s.watch)
	s.workers.running.Go(s.sweepExpired)
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

// CreateSKU adds a SKU. Created is false when the same SKU was there already.
func (s *Service) CreateSKU(ctx context.Context, sku stock.NewSKU) (status stock.Status, created bool, err error) {
	if err := sku.Check(); err != nil {
		return stock.Status{}, false, err
	}
	writing, done, err := s.uninterrupted(ctx)
	if err != nil {
		return stock.Status{}, false, err
	}
	defer done()
	if created, err = s.store.CreateSKU(writing, sku, s.at()); err != nil {
		return stock.Status{}, false, stock.Unavailable(err, "create SKU")
	}
	status, err = s.SKU(ctx, sku.SKU)
	return status, created, err
}

// Deduct deducts stock for an order. Created is false when the same order was accepted before.
//
// Refusals are CodeSoldOut, CodeInsufficientStock, CodeBuyerLimit and CodeSaleClosed; they are not stored, so the order may
// be tried again. CodeInvalidRequest is also for what the SKU's terms do not allow. CodeOrderIDReused means that the order
// id belongs to an order of other content. After CodeUnavailable the same call tells what happened. ctx bounds the wait; an
// order whose write has begun when ctx ends may be accepted.
func (s *Service) Deduct(ctx context.Context, sku string, order stock.Order) (d stock.Deduction, created bool, err error) {
	r, err := s.ask(ctx, sku, order)
	if err != nil {
		return stock.Deduction{}, false, err
	}
	return s.tell(ctx, order.OrderID, s.await(ctx, r))
}

// ask checks an order and puts it into the queue of its SKU, unless the sold-out cache refuses it.
func (s *Service) ask(ctx context.Context, sku string, order stock.Order) (*request, error) {
	if err := (SKUOrder{sku, order}).Check(); err != nil {
		return nil, err
	}
	orderID := order.OrderID
	order.OrderID = order.Key()
	known := s.soldOut.entry(sku)
	if err := known.refuse(order.OrderID); err != nil && !(order.Own && known.has(orderID)) {
		s.observer.SoldOutFromCache(1)
		return nil, err
	}
	return s.enqueue(ctx, sku, order)
}

// await waits for the answer to an order that is in a queue.
func (s *Service) await(ctx context.Context, r *request) answer {
	select {
	case a := <-r.answer:
		s.used(r)
		return a
	case <-ctx.Done():
		return answer{err: stock.Unavailable(context.Cause(ctx), "wait for the worker")}
	}
}

// tell makes of an answer what its caller is told, under the order id that the caller has sent.
func (s *Service) tell(ctx context.Context, orderID string, a answer) (d stock.Deduction, created bool, err error) {
	if a.err != nil {
		return stock.Deduction{}, false, a.err
	}
	d, err = s.tellable(ctx, a.deduction)
	d.OrderID = orderID
	return d, a.created && d.Status != stock.StatusExpired, err
}

// enqueue puts an order into the queue of its SKU's seller, and starts one where there is none.
func (s *Service) enqueue(ctx context.Context, sku string, order stock.Order) (*request, error) {
	for {
		seller, err := s.seller(sku)
		if err != nil {
			return nil, err
		}
		if seller.queue.length() >= queueLimit { // refused before anything is done for it: under overload nearly all are
			return nil, s.overloaded
		}
		r := s.newRequest(ctx, order)
		switch err := seller.push(r); {
		case errors.Is(err, errRetired):
			continue // it ended between our finding it and our pushing: start another
		case err != nil:
			s.used(r)
			return nil, err
		default:
			return r, nil
		}
	}
}

// Waiting is how many orders wait in the queues of all SKUs.
func (s *Service) Waiting() int {
	s.workers.RLock()
	defer s.workers.RUnlock()
	waiting := 0
	for _, seller := range s.workers.sellers {
		waiting += seller.queue.length()
	}
	return waiting
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
