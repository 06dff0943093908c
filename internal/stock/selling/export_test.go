package selling

// Lanes is how many SKUs are being sold.
func (s *Service) Lanes() int {
	s.lanes.RLock()
	defer s.lanes.RUnlock()
	return len(s.lanes.bySKU)
}

// RunningLanes is how many lanes run, of SKUs that are being sold.
func (s *Service) RunningLanes() int {
	s.lanes.RLock()
	defer s.lanes.RUnlock()
	running := 0
	for _, seller := range s.lanes.bySKU {
		running += 1 + int(seller.beside.Load())
	}
	return running
}
