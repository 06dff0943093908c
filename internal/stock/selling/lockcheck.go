package selling

import "fmt"

// nobodysSKU is none: its lock shows whether locks work, also before anything is sold.
const nobodysSKU = "?"

// CheckLocks takes a lock that no lane takes and gives it back, and returns why that does not work; nil where the service
// has no locks. The breaker hears of it, and is open when the answer is an error: so lanes need not find out. While it is
// open the answer may be one of a moment ago. It takes as long as a few locks.
func (s *Service) CheckLocks() (err error) {
	if s.lock == nil || !s.begin() {
		return nil
	}
	defer s.workers.running.Done()
	for range lockFailures {
		tell, refused := s.breaker.circuit.Allow()
		if refused != nil {
			err = *s.breaker.cause.Load()
			break
		}
		err = s.probe(nobodysSKU)
		s.breaker.report(tell, err)
		if lockAnswered(err) {
			return nil
		}
	}
	return fmt.Errorf("locks do not work: %w", err)
}

// beginBeside lets Close wait for what its caller does, until it says Done; but not once the service stops.
func (s *Service) begin() bool {
	s.workers.RLock()
	defer s.workers.RUnlock()
	if s.workers.stopped {
		return false
	}
	s.workers.running.Add(1)
	return true
}
