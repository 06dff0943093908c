package selling

import (
	"context"
	"slices"
)

// runExtra serves batches in addition to the seller's first worker. It ends after workerIdle without a backlog, or if there
// is no segment to sell from.
func (w *worker) runExtra() {
	defer w.seller.extra.Add(-1)
	defer w.lock.release()
	for {
		if w.queue.length() >= w.queue.backlog {
			if !w.claimSegment() {
				w.lock.release()
				w.service.waitFor(workerIdle, nil) // so that no other extra worker tries again at once
				return
			}
			if batch := w.queue.pop(w.queue.backlog, w.queue.backlog); len(batch) > 0 {
				w.serve(batch)
				w.lock.offer()
				continue
			}
		}
		if w.lock.hold != nil && w.service.waitFor(lockLinger, w.queue.backlogged) {
			continue
		}
		w.lock.release()
		if !w.service.waitFor(workerIdle, w.queue.backlogged) {
			return
		}
	}
}

// claimSegment gets a segment that holds enough for whole batches, and its lock. It does not wait for the lock.
func (w *worker) claimSegment() bool {
	ctx, cancel := context.WithTimeout(w.service.base, writeLimit)
	defer cancel()
	if w.onNotification(); w.levels == nil && w.read(ctx) != nil {
		return false // the first worker meets the same error, and reports it
	}
	plenty := w.segmentsWith(int64(w.queue.backlog))
	if slices.Contains(plenty, w.lock.segment) && (w.lock.held() || w.service.lock == nil) {
		return true
	}
	w.lock.release()
	return w.lock.claim(w.shuffle(plenty))
}
