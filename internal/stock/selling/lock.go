package selling

import (
	"context"
	"errors"
	"slices"
	"time"

	"inventory/internal/locking"
	"inventory/internal/stock"
)

// queuedBatches is how many batches in a row must have had several orders, or have left some waiting, with gaps of at most
// lockLinger, for orders to queue. One is not enough: of a thousand SKUs, many meet two orders at a time now and then.
const queuedBatches = 3

// lockRule decides whether a worker takes the lock of its segment. A lock costs two round trips to Redis, and saves the wait for
// another process's commit. It pays while orders queue: since then the row is written all the time, and the worker keeps the lock
// from batch to batch. A SKU that is sold to one buyer at a time needs none.
type lockRule struct {
	always bool      // locks are fair, which they are only if all take them
	queued int       // batches in a row for which orders queued
	wrote  time.Time // when the last of them ended
}

// locks reports whether to take a lock for a batch.
func (r *lockRule) locks() bool {
	return r.always || r.queued >= queuedBatches && time.Since(r.wrote) <= lockLinger
}

// note learns from the write of a batch, which was ready for its lock at an instant: a wait for that is no gap between batches.
// Some orders wait at the end of the write, before the first answer.
func (r *lockRule) note(ready time.Time, orders, waiting int) {
	if orders < 2 && waiting == 0 || ready.Sub(r.wrote) > lockLinger {
		r.queued = 0
	}
	if orders > 1 || waiting > 0 {
		r.queued++
	}
	r.wrote = time.Now()
}

// How long a worker waits for a lock and holds it.
const (
	lockWait   = 100 * time.Millisecond // for the lock of a batch, and again for those of a merge; then it writes under the guard alone
	lockTurn   = 25 * time.Millisecond  // a busy worker offers its lock to other processes this often
	lockLinger = 2 * time.Millisecond   // an idle worker gives its lock back after this
)

// triedLocks is how many locks a worker tries before it waits for one. So processes that sell one SKU spread over its
// segments: each stays at one that no other process holds.
const triedLocks = 3

// In place of the number of a segment, beside [stock.AllSegments].
const (
	probeSegment = -2 // whose lock no worker takes
	noSegment    = -3 // of a worker that has not sold yet
)

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
	l.hold = l.service.acquire(l.sku, func() (*locking.Hold, error) {
		hold, err := l.try(segments, by)
		if errors.Is(err, locking.ErrBusy) {
			return l.service.lock(l.sku, l.segment).Lock(l.service.base, waitUntil(by))
		}
		return hold, err
	})
	l.heldAt = time.Now()
}

// doWithout chooses a segment and takes no lock. It keeps the lock of that segment if it has it.
func (l *segmentLock) doWithout(segment int) {
	if l.segment != segment || !l.held() {
		l.release()
	}
	l.segment = segment
}

// try takes the first free lock of a few segments. It returns the last error. The hold outlives the batch, so it gets the
// service's context.
func (l *segmentLock) try(segments []int, by time.Time) (hold *locking.Hold, err error) {
	for _, segment := range segments[:min(len(segments), triedLocks)] {
		hold, err = l.service.lock(l.sku, segment).TryLock(l.service.base, waitUntil(by))
		if err == nil {
			l.segment = segment
		}
		if !errors.Is(err, locking.ErrBusy) {
			return hold, err
		}
	}
	return hold, err
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

// lockAll takes the locks of segments as a MultiLock, within lockWait. It returns nil if it does not get them; then the
// guard alone decides.
func (s *Service) lockAll(ctx context.Context, sku string, segments []int) *locking.Hold {
	return s.acquire(sku, func() (*locking.Hold, error) {
		lockers := stock.Column(segments, func(segment int) locking.Locker { return s.lock(sku, segment) })
		return locking.MultiLock(lockers...).Lock(ctx, locking.Wait(lockWait))
	})
}

// acquire takes a lock of a SKU, unless the service has none or the breaker is open. It returns nil without the lock.
func (s *Service) acquire(sku string, take func() (*locking.Hold, error)) *locking.Hold {
	if s.lock == nil || !s.breaker.closed() {
		return nil
	}
	start := time.Now()
	hold, err := take()
	s.observe(Activity{Kind: LockWaited, Took: time.Since(start), Locked: err == nil})
	s.noteLock(sku, err)
	if err != nil {
		return nil
	}
	return hold
}

// How long a write waits for a row that another transaction holds, if other segments may fill it: the longer one if nothing else is left
// to try. For how long such a segment is tried last: twice as long each time.
const (
	rowWait      = 10 * time.Millisecond
	longRowWait  = 500 * time.Millisecond
	shortestHeld = 500 * time.Millisecond
	longestHeld  = 8 * time.Second
)

// heldRows are the segments of whose rows a write found that another transaction holds them for long: a statement of somebody else, a
// transaction that is stuck.
type heldRows map[int]heldRow

// heldRow is such a row.
type heldRow struct {
	until time.Time // then it is tried again
	rest  time.Duration
}

// note notes a segment whose row is held, and returns how long it rests. If it has not been tried for long, its rests begin anew.
func (h heldRows) note(segment int) (rest time.Duration) {
	if time.Since(h[segment].until) > longestHeld {
		delete(h, segment)
	}
	rest = max(shortestHeld, min(2*h[segment].rest, longestHeld))
	h[segment] = heldRow{time.Now().Add(rest), rest}
	return rest
}

// any reports whether a row is held, as far as is known.
func (h heldRows) any() bool {
	now := time.Now()
	for _, row := range h {
		if now.Before(row.until) {
			return true
		}
	}
	return false
}

// last returns those of some segments whose rows are free as far as is known, or all of them if none is.
func (h heldRows) last(segments []int) []int {
	if len(h) == 0 {
		return segments
	}
	now := time.Now()
	free := slices.DeleteFunc(slices.Clone(segments), func(segment int) bool { return now.Before(h[segment].until) })
	if len(free) == 0 {
		return segments
	}
	return free
}
