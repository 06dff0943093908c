package locking

import "time"

// subscribe begins to listen for wake-ups when that has not been done, and waits for it. It returns true when the caller
// should look at its lock once more: it has looked before the wake-ups could be received.
func (l *Locks) subscribe(acq *acquisition) bool {
	select {
	case <-l.subscription.Ready():
		return false
	default:
	}
	l.subscribed.Do(func() { l.loops.Go(func() { l.subscription.Listen(l.stop) }) })
	limit := subscribeBound
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
