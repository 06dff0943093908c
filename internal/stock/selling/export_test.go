package selling

// Sellers is how many SKUs are being sold.
func (s *Service) Sellers() int {
	s.workers.RLock()
	defer s.workers.RUnlock()
	return len(s.workers.bySKU)
}

// SetPlaces sets how many lines of orders of several SKUs are under way at the same time, before the first order.
func (s *Service) SetPlaces(lines int) { s.placing = newPlacing(lines) }
