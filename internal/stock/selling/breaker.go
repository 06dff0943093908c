package selling

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"inventory/internal/locking"
)

const (
	lockFailures = 3                      // in a row; then no worker waits for a lock any more
	lockPause    = 500 * time.Millisecond // before a probe
	probeTries   = 3                      // of one probe; then locks still fail
	probeRest    = 150 * time.Millisecond
)

// breaker stands between the workers and the locks, one for all workers. When locks fail, the workers go on under the guard
// alone, and none of them waits for Redis:
//
//	closed ── lockFailures in a row ──> open ── lockPause ──> half-open ── the probe is answered ──> closed
//	                                     ^                        │
//	                                     └── the probe fails ─────┘
//
// A probe makes up to probeTries tries, probeRest apart. The first try of an idle client may go to a server that is no
// longer the master, or over a dead connection. Only that failure makes the client look for the locks' new place.
//
// It counts acquisitions only: a lost hold says nothing about Redis, and a Redis that is out of memory still releases locks
// but grants none. Probes go on in the background until one is answered. They take a lock that no worker takes, of the SKU that
// failed last. "Busy" is an answer of Redis too.
type breaker struct {
	circuit *gobreaker.TwoStepCircuitBreaker[any]
	failed  atomic.Pointer[lockFailure] // the last failure
}

type lockFailure struct {
	sku   string
	cause error
}

// newCircuit returns a closed circuit that reports to the service's log and observer when it opens and closes.
func (s *Service) newCircuit() *gobreaker.TwoStepCircuitBreaker[any] {
	return gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		MaxRequests:  1,
		Timeout:      lockPause / 2, // over when a probe is due
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= lockFailures },
		IsSuccessful: lockAnswered,
		OnStateChange: func(_ string, from, to gobreaker.State) {
			switch {
			case from == gobreaker.StateClosed:
				s.observe(Activity{Kind: LocksFailed, Err: s.breaker.failed.Load().cause})
				s.log.Warn("locks fail; selling goes on under the guard of the database", "error", s.breaker.failed.Load().cause)
				s.workers.running.Go(s.probeUntilClosed)
			case to == gobreaker.StateClosed:
				s.observe(Activity{Kind: LocksFailed})
				s.log.Info("locks work again")
			}
		},
	})
}

// lockAnswered reports whether Redis answered an acquisition. Busy is an answer. So is a lost lock: if the loss matters, the
// guard refuses the write. The refusal of a slot that moves is none: nobody gets its locks until it has moved.
func lockAnswered(err error) bool {
	return err == nil || errors.Is(err, locking.ErrBusy) || errors.Is(err, locking.ErrLost)
}

// report gives the circuit the result of an acquisition that it allowed.
func (b *breaker) report(sku string, done func(error), err error) {
	if !lockAnswered(err) {
		b.failed.Store(&lockFailure{sku, err})
	}
	done(err)
}

func (b *breaker) closed() bool { return b.circuit.State() == gobreaker.StateClosed }

// probeUntilClosed probes until locks work, or the service stops.
func (s *Service) probeUntilClosed() {
	for s.pause(lockPause) && !s.breaker.closed() {
		if done, err := s.breaker.circuit.Allow(); err == nil {
			sku := s.breaker.failed.Load().sku
			s.breaker.report(sku, done, s.probe(sku))
		}
	}
}

// probe finds out whether locks work.
func (s *Service) probe(sku string) error {
	err := s.tryLock(sku)
	for range probeTries - 1 {
		if lockAnswered(err) {
			break
		}
		s.pause(probeRest)
		err = s.tryLock(sku)
	}
	return err
}

// tryLock takes a lock that no worker takes, and gives it back.
func (s *Service) tryLock(sku string) error {
	hold, err := s.lock(sku, noSegment).TryLock(s.base, locking.Wait(lockWait))
	if err != nil {
		return err
	}
	return hold.Unlock(s.base)
}

// giveBack unlocks a hold, in the background while locks fail. Its error may be dropped: the lock library repeats a release
// while the lock can exist.
func (s *Service) giveBack(hold *locking.Hold) {
	unlock := func() { _ = hold.Unlock(s.base) }
	if s.breaker.closed() {
		unlock()
	} else {
		s.workers.running.Go(unlock)
	}
}

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
		return lockCheckError(s.breaker.failed.Load().cause)
	}
	err := s.probe(probeSKU)
	s.breaker.report(probeSKU, done, err)
	if lockAnswered(err) {
		return nil
	}
	for range lockFailures - 1 { // open a closed breaker
		if done, refused := s.breaker.circuit.Allow(); refused == nil {
			s.breaker.report(probeSKU, done, err)
		}
	}
	return lockCheckError(err)
}

func lockCheckError(err error) error { return fmt.Errorf("locks do not work: %w", err) }
