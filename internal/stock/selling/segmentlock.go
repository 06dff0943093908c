package selling

import (
	"errors"
	"time"

	"inventory/internal/locking"
)

// How long a worker waits for a lock and holds it.
const (
	lockWait   = 100 * time.Millisecond // for the lock of a batch, and again for those of a merge; then it writes under the guard alone
	lockTurn   = 25 * time.Millisecond  // a busy worker offers its lock to other processes this often
	lockLinger = 2 * time.Millisecond   // an idle worker gives its lock back after this
)

// triedLocks is how many locks a worker tries before it waits for one. So processes that sell one SKU spread over its
// segments: each stays at one that no other process holds.
const triedLocks = 3

// noSegment is the segment of a worker that has not sold yet.
const noSegment = -1

// segmentLock is the segment from which a worker sells, and its lock if the worker holds it. The lock saves waiting for rows
// and decides nothing: without it the worker writes under the guard.
type segmentLock struct {
	service *Service
	sku     string
	segment int
	hold    *locking.Hold // nil: none
	heldAt  time.Time
}

func (l *segmentLock) held() bool { return l.hold != nil && l.hold.Context().Err() == nil }

// holds returns the holds by which a write of the segment is fenced. Without a lock, the usual case for most SKUs, it makes
// no map.
func (l *segmentLock) holds() map[int]*locking.Hold {
	if l.hold == nil {
		return nil
	}
	return map[int]*locking.Hold{l.segment: l.hold}
}

// acquire chooses one of the segments, and takes its lock if it gets it before an instant.
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

// doWithout chooses a segment and takes no lock. It keeps the lock of that segment if it has it.
func (l *segmentLock) doWithout(segment int) {
	if l.segment != segment || !l.held() {
		l.release()
	}
	l.segment = segment
	l.service.probeIfDue(l.sku)
}

// try takes the first free lock of a few segments. It returns the last error. The hold outlives the batch, so it gets the
// service's context.
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

// offer gives the lock back after a turn. If another process waits for it, the lock is now reserved for that process. Then
// the worker finds it busy, and goes to another segment or waits.
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
