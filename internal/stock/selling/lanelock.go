package selling

import (
	"errors"
	"time"

	"inventory/internal/locking"
)

// triedLocks is how many candidates a lane tries before it queues for one: processes that sell one SKU spread
// over its segments by themselves, each keeping to one that nobody else holds.
const triedLocks = 3

// holds tells whether the lane has the lock of its segment.
func (l *lane) holds() bool { return l.hold != nil && l.hold.Context().Err() == nil }

// moveTo makes one of the candidates the lane's segment and takes its lock if it can be had until lockBy. Without it
// the lane goes on under the guard: a lock saves waiting on rows, it decides nothing.
func (l *lane) moveTo(candidates []int, lockBy time.Time) {
	if l.holds() && candidates[0] == l.segment {
		return
	}
	l.unlock()
	l.segment = candidates[0]
	if !time.Now().Before(lockBy) {
		return
	}
	tell, ok := l.service.mayLock(l.sku)
	if !ok {
		return
	}
	start := time.Now()
	err := l.tryLocks(candidates[:min(len(candidates), triedLocks)], lockBy)
	if errors.Is(err, locking.ErrBusy) {
		l.hold, err = l.service.lock(l.sku, l.segment).Lock(l.service.base, waitUntil(lockBy))
	}
	l.heldAt = time.Now()
	l.service.observer.LockWaited(l.heldAt.Sub(start), err == nil)
	tell(err)
}

// tryLocks takes the first lock that is free. Its error is the last one seen. The hold outlives the batch, so it
// gets the service's context, not the batch's.
func (l *lane) tryLocks(candidates []int, lockBy time.Time) (err error) {
	for _, segment := range candidates {
		if l.hold, err = l.service.lock(l.sku, segment).TryLock(l.service.base, waitUntil(lockBy)); err == nil {
			l.segment = segment
			return nil
		}
		if !errors.Is(err, locking.ErrBusy) {
			return err
		}
	}
	return err
}

func waitUntil(t time.Time) locking.LockOption { return locking.Wait(max(0, time.Until(t))) }

// takeTurns gives the lock back after a turn. If another process waits for it, it is promised to that one now, and
// the lane finds it busy and goes to another segment, or waits in its turn.
func (l *lane) takeTurns() {
	if l.hold != nil && time.Since(l.heldAt) > lockTurn {
		l.unlock()
	}
}

func (l *lane) unlock() {
	if l.hold == nil {
		return
	}
	l.service.giveBack(l.hold)
	l.hold = nil
}
