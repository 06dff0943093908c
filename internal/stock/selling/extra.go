package selling

import (
	"context"
	"time"
)

// runBeside serves batches beside the seller's first lane as long as there is a crowd now and then, and a segment to sell
// from.
func (w *worker) runExtra() {
	defer w.seller.extra.Add(-1)
	defer w.unlock()
	for {
		if w.queue.length() >= backlog {
			if !w.claimSegment() {
				w.unlock()
				w.within(workerIdle, nil) // so that nobody tries again at once
				return
			}
			if batch := w.queue.pop(backlog, batchLimit, turnWait); len(batch) > 0 {
				w.serve(batch)
				w.takeTurns()
				continue
			}
		}
		if w.hold != nil && w.within(lockLinger, w.queue.backlogged) {
			continue
		}
		w.unlock()
		if !w.within(workerIdle, w.queue.backlogged) {
			return
		}
	}
}

// stake makes sure of a segment that holds enough for whole batches, and of its lock, without waiting for it.
func (w *worker) claimSegment() bool {
	ctx, cancel := context.WithTimeout(w.service.base, writeLimit)
	defer cancel()
	if w.onNotification(); w.levels == nil && w.readSKU(ctx) != nil {
		return false // the first lane tells its callers
	}
	plenty := func(segment int) bool { return w.levels[segment] >= batchLimit }
	if w.segment != noSegment && plenty(w.segment) && (w.holds() || w.service.lock == nil) {
		return true
	}
	w.unlock()
	var found []int
	for segment := range w.levels {
		if plenty(segment) {
			found = append(found, segment)
		}
	}
	return w.claimOneOf(w.spread(found))
}

func (w *worker) claimOneOf(segments []int) bool {
	if len(segments) == 0 {
		return false
	}
	if w.service.lock == nil {
		w.segment = segments[0]
		return true
	}
	tell, ok := w.service.mayLock(w.sku)
	if !ok {
		return false
	}
	err := w.tryLocks(segments[:min(len(segments), triedLocks)], time.Now().Add(lockWait))
	w.heldAt = time.Now()
	tell(err)
	return err == nil
}
