package selling

import (
	"maps"
	"sync"
	"time"

	"inventory/internal/stock"
)

// registry holds what sells in a service: a worker and a settler for each SKU in use.
type registry struct {
	sync.RWMutex
	selling  map[string]*worker
	settling map[string]*settler
	stopped  bool
	running  sync.WaitGroup // who serves a queue, and the background goroutines
}

// worker returns the worker of a SKU, new if there is none.
func (s *Service) worker(sku string) *worker {
	s.workers.RLock()
	known := s.workers.selling[sku]
	s.workers.RUnlock()
	if known != nil {
		return known
	}
	s.workers.Lock()
	defer s.workers.Unlock()
	if known = s.workers.selling[sku]; known == nil {
		known = s.newWorker(sku)
		s.workers.selling[sku] = known
	}
	return known
}

// settler returns the settler of a SKU, new if there is none.
func (s *Service) settler(sku string) *settler {
	s.workers.Lock()
	defer s.workers.Unlock()
	known := s.workers.settling[sku]
	if known == nil {
		known = &settler{service: s, sku: sku, queue: newQueue()}
		s.workers.settling[sku] = known
	}
	return known
}

// push puts a request into a queue. If the caller is to serve the queue, Close waits until it calls running.Done.
func (s *Service) push(q *queue, r *request) (serve bool, err error) {
	s.workers.RLock()
	defer s.workers.RUnlock()
	if s.workers.stopped {
		return false, shuttingDown()
	}
	if serve, err = q.push(r, queueLimit); serve {
		s.workers.running.Add(1)
	}
	return serve, err
}

// forgetIdle forgets workers and settlers whose queues nobody has served for a while, until the service closes.
func (s *Service) forgetIdle() {
	for {
		select {
		case <-time.After(idleFor / 4):
		case <-s.stop:
			return
		}
		s.workers.Lock()
		maps.DeleteFunc(s.workers.selling, func(_ string, w *worker) bool { return w.queue.retire(idleFor) })
		maps.DeleteFunc(s.workers.settling, func(_ string, t *settler) bool { return t.queue.retire(idleFor) })
		s.workers.Unlock()
	}
}

// Waiting is how many orders wait in the queues of all SKUs.
func (s *Service) Waiting() int {
	s.workers.RLock()
	defer s.workers.RUnlock()
	waiting := 0
	for _, w := range s.workers.selling {
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
	if s.workers.stopped {
		return false
	}
	s.workers.running.Add(1)
	return true
}

// waitFor waits for a signal, at most d, and not at all once the service stops.
func (s *Service) waitFor(d time.Duration, signal <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-signal:
		return true
	case <-timer.C:
		return false
	case <-s.stop:
		return false
	}
}
