package selling

// Lanes is how many SKUs are being sold.
func (s *Service) Lanes() int {
	s.workers.RLock()
	defer s.workers.RUnlock()
	return len(s.workers.sellers)
}

// RunningLanes is how many lanes run, of SKUs that are being sold.
func (s *Service) RunningLanes() int {
	s.workers.RLock()
	defer s.workers.RUnlock()
	running := 0
	for _, seller := range s.workers.sellers {
		running += 1 + int(seller.extra.Load())
	}
	return running
}
