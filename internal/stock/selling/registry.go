package selling

import (
	"sync"
	"time"

	"inventory/internal/stock"
)

// registry has what runs in a service: a seller and a settler of each SKU that is in use, and what runs besides.
type registry struct {
	sync.RWMutex
	sellers  map[string]*seller
	settlers map[string]*settler
	stopped  bool
	running  sync.WaitGroup // also of what runs besides the workers
}

// shuttingDown is the error of a request that comes after Close.
func shuttingDown() error {
	return &stock.Error{Code: stock.CodeUnavailable, Message: "the service is shutting down"}
}

// seller returns the seller of a SKU, and starts one where there is none.
func (s *Service) seller(sku string) (*seller, error) {
	s.workers.RLock()
	known, stopped := s.workers.sellers[sku], s.workers.stopped
	s.workers.RUnlock()
	if known != nil && !stopped {
		return known, nil
	}
	s.workers.Lock()
	defer s.workers.Unlock()
	if s.workers.stopped {
		return nil, shuttingDown()
	}
	if known := s.workers.sellers[sku]; known != nil {
		return known, nil
	}
	known = newSeller(s, sku)
	s.workers.sellers[sku] = known
	s.workers.running.Go(known.newWorker().run)
	return known, nil
}

// startExtra starts an extra worker, but not once the service stops: the order that asks for it may have been answered
// meanwhile, the first worker may have ended, and Close no longer waits for anybody.
func (s *Service) startExtra(seller *seller) {
	s.workers.RLock()
	defer s.workers.RUnlock()
	if s.workers.stopped {
		seller.extra.Add(-1)
		return
	}
	s.workers.running.Go(seller.newWorker().runExtra)
}

// retireSeller takes a seller out of the service unless a request has come in. Afterwards push refuses.
func (s *Service) retireSeller(seller *seller) bool {
	s.workers.Lock()
	defer s.workers.Unlock()
	if !seller.queue.retire() {
		return false
	}
	delete(s.workers.sellers, seller.sku)
	return true
}

// settler returns the settler of a SKU, and starts one where there is none.
func (s *Service) settler(sku string) (*settler, error) {
	s.workers.Lock()
	defer s.workers.Unlock()
	if s.workers.stopped {
		return nil, shuttingDown()
	}
	known := s.workers.settlers[sku]
	if known == nil {
		known = &settler{service: s, sku: sku, queue: newQueue()}
		s.workers.settlers[sku] = known
		s.workers.running.Go(known.run)
	}
	return known, nil
}

// retireSettler takes a settler out of the service unless a request has come in.
func (s *Service) retireSettler(t *settler) bool {
	s.workers.Lock()
	defer s.workers.Unlock()
	if !t.queue.retire() {
		return false
	}
	delete(s.workers.settlers, t.sku)
	return true
}

// begin lets Close wait for what its caller does, until it says Done; but not once the service stops.
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
