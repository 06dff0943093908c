package selling

// Sellers is how many SKUs are being sold.
func (s *Service) Sellers() int {
	s.workers.RLock()
	defer s.workers.RUnlock()
	return len(s.workers.selling)
}
