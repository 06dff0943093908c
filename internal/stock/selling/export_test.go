package selling

// Sellers is how many SKUs are being sold.
func (s *Service) Sellers() int {
	s.workers.RLock()
	defer s.workers.RUnlock()
	return len(s.workers.sellers)
}

// RunningWorkers is how many workers run, of the SKUs that are being sold.
func (s *Service) RunningWorkers() int {
	s.workers.RLock()
	defer s.workers.RUnlock()
	running := 0
	for _, seller := range s.workers.sellers {
		running += 1 + int(seller.extra.Load())
	}
	return running
}
