package stock

// Lanes is how many lanes run.
func (s *Service) Lanes() int {
	s.lanes.RLock()
	defer s.lanes.RUnlock()
	return len(s.lanes.bySKU)
}
