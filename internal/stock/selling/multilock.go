package selling

import (
	"context"
	"time"

	"inventory/internal/locking"
)

// part names the lock of one segment.
type part struct {
	sku     string
	segment int
}

// lockParts takes the locks of segments as a MultiLock, within lockWait. It returns nil if it does not get them; then the
// guard alone decides.
func (s *Service) lockParts(ctx context.Context, parts []part) *locking.Hold {
	if len(parts) == 0 {
		return nil
	}
	report, ok := s.mayLock(parts[0].sku)
	if !ok {
		return nil
	}
	lockers := make([]locking.Locker, len(parts))
	for i, p := range parts {
		lockers[i] = s.lock(p.sku, p.segment)
	}
	start := time.Now()
	hold, err := locking.MultiLock(lockers...).Lock(ctx, locking.Wait(lockWait))
	s.observer.LockWaited(time.Since(start), err == nil)
	report(err)
	if err != nil {
		return nil
	}
	return hold
}
