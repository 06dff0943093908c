package selling

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"inventory/internal/locking"
)

const (
	lockFailures = 3           // in a row; then nobody waits for a lock any more
	lockPause    = time.Second // until it is found out whether locks work again
)

// breaker stands between the lanes and the locks, one for all lanes. When locks fail, the lanes go on under the guard
// alone, and none of them waits for Redis:
//
//	closed ── lockFailures in a row ──> open ── lockPause ──> half-open ── the probe is answered ──> closed
//	                                     ^                        │
//	                                     └── the probe fails ─────┘
//
// It hears of acquisitions only: a hold that was lost says nothing of Redis, and with a full memory Redis still
// releases what it does not grant. Whichever lane comes first probes, in the background, with a lock that no lane
// takes: so a busy one as well is an answer of Redis.
type breaker struct {
	circuit *gobreaker.TwoStepCircuitBreaker[any]
	cause   atomic.Pointer[error] // the last failure, for the log
}

// newCircuit returns a closed circuit that tells the service's log and observer when it opens and closes.
func (s *Service) newCircuit() *gobreaker.TwoStepCircuitBreaker[any] {
	return gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		MaxRequests:  1,
		Timeout:      lockPause,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= lockFailures },
		IsSuccessful: lockAnswered,
		OnStateChange: func(_ string, from, to gobreaker.State) {
			switch {
			case from == gobreaker.StateClosed:
				s.observer.LocksFail(true)
				s.log.Warn("locks fail; selling goes on under the guard of the database", "error", *s.breaker.cause.Load())
			case to == gobreaker.StateClosed:
				s.observer.LocksFail(false)
				s.log.Info("locks work again")
			}
		},
	})
}

// lockAnswered tells whether an acquisition was answered. Busy is an answer, and a loss is told by the guard, if it
// matters.
func lockAnswered(err error) bool {
	return err == nil || errors.Is(err, locking.ErrBusy) || errors.Is(err, locking.ErrLost)
}

// report tells the circuit what came of an acquisition that it has allowed.
func (b *breaker) report(done func(error), err error) {
	if !lockAnswered(err) {
		b.cause.Store(&err)
	}
	done(err)
}

func (b *breaker) closed() bool { return b.circuit.State() == gobreaker.StateClosed }

// mayLock tells whether locks of a SKU may be asked for now. If so, tell must be called with what came of it.
func (s *Service) mayLock(sku string) (tell func(error), ok bool) {
	if s.lock == nil {
		return nil, false
	}
	done, err := s.breaker.circuit.Allow()
	if err != nil {
		return nil, false
	}
	if !s.breaker.closed() {
		s.workers.running.Go(func() { s.breaker.report(done, s.probe(sku)) })
		return nil, false
	}
	return func(err error) { s.breaker.report(done, err) }, true
}

// probe finds out whether locks work.
func (s *Service) probe(sku string) error {
	hold, err := s.lock(sku, noSegment).TryLock(s.base, locking.Wait(lockWait))
	if err != nil {
		return err
	}
	return hold.Unlock(s.base)
}

// giveBack unlocks a hold: in the background while locks fail. What goes wrong is no error of anybody's: the lock
// library repeats a release for as long as the lock can exist.
func (s *Service) giveBack(hold *locking.Hold) {
	unlock := func() { _ = hold.Unlock(s.base) }
	if s.breaker.closed() {
		unlock()
	} else {
		s.workers.running.Go(unlock)
	}
}
