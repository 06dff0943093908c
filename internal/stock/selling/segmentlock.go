package selling

import (
	"errors"
	"time"

	"inventory/internal/locking"
)

// For how long a lock is waited for and held.
const (
	lockWait   = 100 * time.Millisecond // for the locks of a batch, and again for those of a merge, before it goes on under the guard
	lockTurn   = 25 * time.Millisecond  // a busy worker offers its lock to other processes this often
	lockLinger = 2 * time.Millisecond   // an idle worker gives its lock back after this
)

// triedLocks is how many locks a worker tries before it waits for one. So processes that sell one SKU spread over its
// segments: each keeps to one that nobody else holds.
const triedLocks = 3

// noSegment is the segment of a worker that has not sold yet.
const noSegment = -1

// segmentLock is the segment where a worker sells, and its lock if the worker has it. The lock saves waiting for rows and
// decides nothing: without it the worker goes on under the guard.
type segmentLock struct {
	service *Service
	sku     string
	segment int
	hold    *locking.Hold // nil: none
	heldAt  time.Time
}

func (l *segmentLock) held() bool { return l.hold != nil && l.hold.Context().Err() == nil }

// holds are what a write of the segment is fenced by. Nearly every write of many SKUs is without a lock, and makes no map.
func (l *segmentLock) holds() map[int]*locking.Hold {
	if l.hold == nil {
		return nil
	}
	return map[int]*locking.Hold{l.segment: l.hold}
}

// acquire chooses one of the segments, and takes its lock if it can be had until an instant.
func (l *segmentLock) acquire(segments []int, by time.Time) {
	if l.held() && segments[0] == l.segment {
		return
	}
	l.release()
	l.segment = segments[0]
	if !time.Now().Before(by) {
		return
	}
	report, ok := l.service.mayLock(l.sku)
	if !ok {
		return
	}
	start := time.Now()
	err := l.try(segments, by)
	if errors.Is(err, locking.ErrBusy) {
		l.hold, err = l.service.lock(l.sku, l.segment).Lock(l.service.base, waitUntil(by))
	}
	l.heldAt = time.Now()
	l.service.observer.LockWaited(l.heldAt.Sub(start), err == nil)
	report(err)
}

// doWithout chooses a segment and takes no lock. It keeps the one that it has of this segment.
func (l *segmentLock) doWithout(segment int) {
	if l.segment != segment || !l.held() {
		l.release()
	}
	l.segment = segment
	l.service.lookForLocks(l.sku)
}

// claim chooses one of the segments whose lock is free, without waiting, and reports false where there is none. Without
// locks any segment will do.
func (l *segmentLock) claim(segments []int) bool {
	if len(segments) == 0 {
		return false
	}
	if l.service.lock == nil {
		l.segment = segments[0]
		return true
	}
	report, ok := l.service.mayLock(l.sku)
	if !ok {
		return false
	}
	err := l.try(segments, time.Now().Add(lockWait))
	l.heldAt = time.Now()
	report(err)
	return err == nil
}

// try takes the first lock that is free, of a few segments. Its error is the last one seen. The hold outlives the batch, so
// it gets the service's context.
func (l *segmentLock) try(segments []int, by time.Time) (err error) {
	for _, segment := range segments[:min(len(segments), triedLocks)] {
		if l.hold, err = l.service.lock(l.sku, segment).TryLock(l.service.base, waitUntil(by)); err == nil {
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

// offer gives the lock back after a turn. If another process waits for it, the lock is reserved for that one now; the worker
// finds it busy, and goes to another segment or waits.
func (l *segmentLock) offer() {
	if l.hold != nil && time.Since(l.heldAt) > lockTurn {
		l.release()
	}
}

func (l *segmentLock) release() {
	if l.hold == nil {
		return
	}
	l.service.giveBack(l.hold)
	l.hold = nil
}
