package selling

import "fmt"

// probeSKU is not a SKU. Its lock shows whether locks work, also before the first sale.
const probeSKU = "?"

// CheckLocks finds out whether locks work, and returns why they do not; nil if the service has no locks. An error also opens
// the breaker, so that workers do not have to find out themselves. While the breaker is open the answer may be a moment old.
// A check takes as long as a probe.
func (s *Service) CheckLocks() error {
	if s.lock == nil || !s.begin() {
		return nil
	}
	defer s.workers.running.Done()
	done, refused := s.breaker.circuit.Allow()
	if refused != nil {
		return lockCheckError(*s.breaker.cause.Load())
	}
	err := s.probe(probeSKU)
	s.breaker.report(done, err)
	if lockAnswered(err) {
		return nil
	}
	for range lockFailures - 1 { // open a closed breaker
		if done, refused := s.breaker.circuit.Allow(); refused == nil {
			s.breaker.report(done, err)
		}
	}
	return lockCheckError(err)
}

func lockCheckError(err error) error { return fmt.Errorf("locks do not work: %w", err) }
