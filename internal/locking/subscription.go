package locking

import (
	"time"

	"inventory/internal/locking/internal/policy"
)

// subscribe begins to listen for wake-ups if nobody has yet, and waits until that works. It returns true if the caller
// should look at its lock once more: it last looked before wake-ups could be received.
func (l *Locks) subscribe(acq *acquisition) bool {
	select {
	case <-l.subscription.Ready():
		return false
	default:
	}
	l.subscribed.Do(func() { l.loops.Go(func() { l.subscription.Listen(l.stop) }) })
	limit := policy.Subscribe
	if !acq.until.IsZero() {
		limit = min(limit, time.Until(acq.until))
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-l.subscription.Ready():
		return true
	case <-timer.C:
	case <-acq.ctx.Done():
	case <-l.closing:
	}
	return false
}
