package selling

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"inventory/internal/locking"
)

const (
	lockFailures = 3                      // in a row; then no worker waits for a lock any more
	lockPause    = 250 * time.Millisecond // before a probe
)

// breaker stands between the workers and the locks, one for all workers. When locks fail, the workers go on under the guard
// alone, and none of them waits for Redis:
//
//	closed ── lockFailures in a row ──> open ── after lockPause: a probe ──> it is answered ──> closed
//	                                     ^                                        │
//	                                     └──────────── it is not ─────────────────┘
//
// It counts acquisitions only: a lost hold says nothing about Redis, and a Redis that is out of memory still releases locks
// but grants none. Probes go on in the background until one is answered. They take a lock that no worker takes, of the SKU that
// failed. "Busy" is an answer of Redis too.
type breaker struct {
	failures atomic.Int64                // in a row
	open     atomic.Pointer[lockFailure] // why it is open; nil: it is closed
}

type lockFailure struct {
	sku   string
	cause error
}

func (b *breaker) closed() bool { return b.open.Load() == nil }

// lockAnswered reports whether Redis answered an acquisition. Busy is an answer. So is a lost lock: if the loss matters, the
// guard refuses the write. The refusal of a slot that moves is none: nobody gets its locks until it has moved.
func lockAnswered(err error) bool {
	return err == nil || errors.Is(err, locking.ErrBusy) || errors.Is(err, locking.ErrLost)
}

// noteLock learns from an acquisition of a lock of a SKU.
func (s *Service) noteLock(sku string, err error) {
	if lockAnswered(err) {
		s.breaker.failures.Store(0)
		return
	}
	if s.breaker.failures.Add(1) >= lockFailures && s.breaker.open.CompareAndSwap(nil, &lockFailure{sku, err}) {
		s.observe(Activity{Kind: LocksFailed, Err: err})
		s.log.Warn("locks fail; selling goes on under the guard of the database", "error", err)
		s.workers.running.Go(func() { s.probeUntilClosed(sku) })
	}
}

// probeUntilClosed probes until locks work, or the service stops. The first probe of an idle client may go to a server that is no
// longer the master, or over a dead connection: only that failure makes the client look for the locks' new place.
func (s *Service) probeUntilClosed(sku string) {
	for s.pause(lockPause) {
		if lockAnswered(s.probe(sku)) {
			s.breaker.failures.Store(0)
			s.breaker.open.Store(nil)
			s.observe(Activity{Kind: LocksFailed})
			s.log.Info("locks work again")
			return
		}
	}
}

// probe takes a lock that no worker takes, and gives it back.
func (s *Service) probe(sku string) error {
	hold, err := s.lock(sku, probeSegment).TryLock(s.base, locking.Wait(lockWait))
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
func (s *Service) CheckLocks() error {
	if s.lock == nil || !s.begin() {
		return nil
	}
	defer s.workers.running.Done()
	for range lockFailures {
		if s.breaker.closed() {
			err := s.probe(probeSKU)
			if s.noteLock(probeSKU, err); lockAnswered(err) {
				return nil
			}
		}
	}
	if failed := s.breaker.open.Load(); failed != nil {
		return fmt.Errorf("locks do not work: %w", failed.cause)
	}
	return nil // workers were answered meanwhile
}
