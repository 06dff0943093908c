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

// push queues a request, and starts an extra worker if there is a backlog.
func (s *seller) push(r *request) error {
	waiting, err := s.queue.push(r, queueLimit)
	if err != nil || waiting < s.queue.backlog {
		return err
	}
	for {
		running := s.extra.Load()
		if running+1 >= min(int32(s.service.mostWorkers), s.segments.Load()) { //nolint:gosec // a small number
			return nil
		}
		if s.extra.CompareAndSwap(running, running+1) {
			s.service.startExtra(s)
			return nil
		}
	}
}

func (s *seller) newWorker() *worker {
	return &worker{
		service: s.service, seller: s, sku: s.sku, queue: s.queue,
		lock: segmentLock{service: s.service, sku: s.sku, segment: noSegment}, contention: contention{always: s.service.lockAlways},
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
