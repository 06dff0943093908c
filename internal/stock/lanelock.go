package stock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"inventory/internal/locking"
)

// triedLocks is how many candidates a lane tries before it queues for one: processes that sell one SKU spread
// over its segments by themselves, each keeping to one that nobody else holds.
const triedLocks = 3

// moveTo makes one of the candidates the lane's segment and takes its lock if it can be had in time. Without it
// the lane goes on under the guard: a lock saves waiting on rows, it decides nothing.
func (l *lane) moveTo(ctx context.Context, candidates []int) {
	if l.hold != nil && l.hold.Context().Err() == nil && candidates[0] == l.segment {
		return
	}
	l.unlock()
	l.segment = candidates[0]
	if l.service.lock == nil {
		return
	}
	start := time.Now()
	err := l.tryLocks(ctx, candidates[:min(len(candidates), triedLocks)])
	if errors.Is(err, locking.ErrBusy) {
		l.hold, err = l.service.lock(l.sku, l.segment).Lock(l.service.base, locking.Wait(lockWait))
	}
	l.heldAt = time.Now()
	l.service.observer.LockWaited(l.heldAt.Sub(start), err == nil)
	l.noteLock(err)
}

// tryLocks takes the first lock that is free. Its error is the last one seen.
func (l *lane) tryLocks(ctx context.Context, candidates []int) (err error) {
	for _, segment := range candidates {
		// The hold outlives this batch, so it gets the service's context, not the batch's.
		if l.hold, err = l.service.lock(l.sku, segment).TryLock(l.service.base, locking.Wait(lockWait)); err == nil {
			l.segment = segment
			return nil
		}
		if !errors.Is(err, locking.ErrBusy) || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// takeTurns gives the lock back after a turn. If another process waits, the lock is its now, and the lane goes
// to another segment or waits in its turn.
func (l *lane) takeTurns() {
	if l.hold != nil && time.Since(l.heldAt) > lockTurn {
		l.unlock()
	}
}

func (l *lane) unlock() {
	if l.hold == nil {
		return
	}
	hold := l.hold
	l.hold = nil
	l.noteLock(hold.Unlock(l.service.base))
}

// noteLock logs when locks begin to fail and when they work again, once for all lanes. A busy lock is no failure; a
// lost one is told by the guard, if it matters.
func (l *lane) noteLock(err error) {
	s := l.service
	switch failed := err != nil && !errors.Is(err, locking.ErrBusy) && !errors.Is(err, locking.ErrLost); {
	case failed && s.locksFail.CompareAndSwap(false, true):
		s.log.Warn("locks fail; selling goes on under the guard of the database", "sku", l.sku, "error", err)
	case err == nil && s.locksFail.CompareAndSwap(true, false):
		s.log.Info("locks work again")
	}
}

// fence is the proof of the lane's lock, the zero Fence without one.
func (l *lane) fence() Fence { return fenceOf(l.hold) }

func fenceOf(hold *locking.Hold) Fence {
	if hold == nil || hold.Context().Err() != nil {
		return Fence{}
	}
	return Fence{Token: hold.Token(), Owner: hold.Owner()}
}

func shuffled(segments []int) []int {
	rand.Shuffle(len(segments), func(i, j int) { segments[i], segments[j] = segments[j], segments[i] })
	return segments
}
