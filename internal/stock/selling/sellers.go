package selling

// seller returns the seller of a SKU. It starts one if there is none.
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

func (s *seller) newWorker() *worker {
	return &worker{
		service: s.service, seller: s, sku: s.sku, queue: s.queue,
		lock: segmentLock{service: s.service, sku: s.sku, segment: noSegment}, lockRule: lockRule{always: s.service.lockAlways},
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
