package selling

import (
	"context"
	"time"
)

// runBeside serves batches beside the seller's first lane as long as there is a crowd now and then, and a segment to sell
// from.
func (l *lane) runBeside() {
	defer l.seller.beside.Add(-1)
	defer l.unlock()
	for {
		if l.queue.length() >= crowd {
			if !l.stake() {
				l.unlock()
				l.within(laneIdle, nil) // so that nobody tries again at once
				return
			}
			if batch := l.queue.take(crowd, batchLimit, queueWait); len(batch) > 0 {
				l.serve(batch)
				l.takeTurns()
				continue
			}
		}
		if l.hold != nil && l.within(lockLinger, l.queue.crowded) {
			continue
		}
		l.unlock()
		if !l.within(laneIdle, l.queue.crowded) {
			return
		}
	}
}

// stake makes sure of a segment that holds enough for whole batches, and of its lock, without waiting for it.
func (l *lane) stake() bool {
	ctx, cancel := context.WithTimeout(l.service.base, writeLimit)
	defer cancel()
	if l.hear(); l.levels == nil && l.look(ctx) != nil {
		return false // the first lane tells its callers
	}
	plenty := func(segment int) bool { return l.levels[segment] >= batchLimit }
	if l.segment != nowhere && plenty(l.segment) && (l.holds() || l.service.lock == nil) {
		return true
	}
	l.unlock()
	var found []int
	for segment := range l.levels {
		if plenty(segment) {
			found = append(found, segment)
		}
	}
	return l.stakeOneOf(l.spread(found))
}

func (l *lane) stakeOneOf(segments []int) bool {
	if len(segments) == 0 {
		return false
	}
	if l.service.lock == nil {
		l.segment = segments[0]
		return true
	}
	tell, ok := l.service.mayLock(l.sku)
	if !ok {
		return false
	}
	err := l.tryLocks(segments[:min(len(segments), triedLocks)], time.Now().Add(lockWait))
	l.heldAt = time.Now()
	tell(err)
	return err == nil
}
