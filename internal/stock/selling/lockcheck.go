package selling

import "fmt"

// nobodysSKU is none: its lock shows whether locks work, also before anything is sold.
const nobodysSKU = "?"

// CheckLocks takes a lock that no worker takes and gives it back, and returns why that does not work; nil if the service has
// no locks. The breaker counts it, and is open when the answer is an error, so workers need not find out. While it is open
// the answer may be a moment old. It takes as long as a few locks.
func (s *Service) CheckLocks() (err error) {
	if s.lock == nil || !s.begin() {
		return nil
	}
	defer s.workers.running.Done()
	for range lockFailures {
		done, refused := s.breaker.circuit.Allow()
		if refused != nil {
			err = *s.breaker.cause.Load()
			break
		}
		err = s.probe(nobodysSKU)
		s.breaker.report(done, err)
		if lockAnswered(err) {
			return nil
		}
	}
	return fmt.Errorf("locks do not work: %w", err)
}
