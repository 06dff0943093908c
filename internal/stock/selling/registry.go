package selling

import (
	"sync"
	"time"

	"inventory/internal/stock"
)

// registry holds what runs in a service: a seller and a settler for each SKU in use, and the background goroutines.
type registry struct {
	sync.RWMutex
	sellers  map[string]*seller
	settlers map[string]*settler
	stopped  bool
	running  sync.WaitGroup // also of the background goroutines
}

// shuttingDown is the error of a request that comes after Close.
func shuttingDown() error {
	return &stock.Error{Code: stock.CodeUnavailable, Message: "the service is shutting down: nothing was written", Err: stock.ErrUnwritten}
}

// retire removes a seller or settler from the service unless a request has come in. Afterwards push refuses.
func retire[T any](s *Service, serving map[string]T, sku string, q *queue) bool {
	s.workers.Lock()
	defer s.workers.Unlock()
	if !q.retire() {
		return false
	}
	delete(serving, sku)
	return true
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
