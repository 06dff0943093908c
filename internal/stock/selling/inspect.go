package selling

import (
	"cmp"
	"context"

	"inventory/internal/locking"
	"inventory/internal/stock"
)

// LockUse says whether locks are in use.
type LockUse string

// The uses of locks.
const (
	LocksWork LockUse = "working"
	LocksFail LockUse = "failing" // the lock server does not answer: selling goes on under the guard
	LocksOff  LockUse = "off"     // the service has none
)

// LockUse reports whether workers ask for locks now.
func (s *Service) LockUse() LockUse {
	switch {
	case s.lock == nil:
		return LocksOff
	case !s.breaker.closed():
		return LocksFail
	default:
		return LocksWork
	}
}

// SegmentLock is the state of a segment's lock, as read from the lock server.
type SegmentLock struct {
	Segment int
	locking.State
}

// MaxLockPage bounds how many locks one call reads: each is a round trip to the lock server.
const MaxLockPage = 128

// SegmentLocks returns who holds the locks of a SKU's segments, for at most limit segments from one on. It leaves out locks
// that are free and have no waiters. It returns none while locks fail or are off, as use says. It is for display only: the
// locks may have changed since.
func (s *Service) SegmentLocks(ctx context.Context, sku string, from, limit int) (locks []SegmentLock, use LockUse, err error) {
	use = s.LockUse()
	asked := cmp.Or(stock.CheckSKU(sku), checkLimit(limit, MaxLockPage))
	if asked == nil && (from < 0 || from >= stock.MaxSegments) {
		asked = stock.Invalid("from", "must be 0 to %d", stock.MaxSegments-1)
	}
	view, err := read(ctx, s, asked, "read SKU", func() (stock.View, error) { return s.view(ctx, sku) })
	if err != nil || use != LocksWork || from >= len(view.Segments) {
		return nil, use, err
	}
	for segment := from; segment < min(len(view.Segments), from+limit); segment++ {
		lock, ok := s.lock(sku, segment).(interface {
			Inspect(ctx context.Context) (locking.State, error)
		})
		if !ok {
			continue
		}
		state, err := lock.Inspect(ctx)
		if err != nil {
			return nil, LocksFail, nil //nolint:nilerr // which is the answer
		}
		if state.Held() || state.Waiting > 0 {
			locks = append(locks, SegmentLock{segment, state})
		}
	}
	return locks, use, nil
}
