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
func (w *worker) holds() bool { return w.hold != nil && w.hold.Context().Err() == nil }

// moveTo makes one of the candidates the lane's segment and takes its lock if it can be had until lockBy. Without it
// the lane goes on under the guard: a lock saves waiting on rows, it decides nothing.
func (w *worker) moveTo(candidates []int, lockBy time.Time) {
	if w.holds() && candidates[0] == w.segment {
		return
	}
	w.unlock()
	w.segment = candidates[0]
	if !time.Now().Before(lockBy) {
		return
	}
	tell, ok := w.service.mayLock(w.sku)
	if !ok {
		return
	}
	start := time.Now()
	err := w.tryLocks(candidates[:min(len(candidates), triedLocks)], lockBy)
	if errors.Is(err, locking.ErrBusy) {
		w.hold, err = w.service.lock(w.sku, w.segment).Lock(w.service.base, waitUntil(lockBy))
	}
	w.heldAt = time.Now()
	w.service.observer.LockWaited(w.heldAt.Sub(start), err == nil)
	tell(err)
}

// tryLocks takes the first lock that is free. Its error is the last one seen. The hold outlives the batch, so it
// gets the service's context, not the batch's.
func (w *worker) tryLocks(candidates []int, lockBy time.Time) (err error) {
	for _, segment := range candidates {
		if w.hold, err = w.service.lock(w.sku, segment).TryLock(w.service.base, waitUntil(lockBy)); err == nil {
			w.segment = segment
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
func (w *worker) takeTurns() {
	if w.hold != nil && time.Since(w.heldAt) > lockTurn {
		w.unlock()
	}
}

func (w *worker) unlock() {
	if w.hold == nil {
		return
	}
	w.service.giveBack(w.hold)
	w.hold = nil
}
