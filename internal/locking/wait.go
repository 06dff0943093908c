package locking

import "time"

// pollInterval is how often the head of a line looks at the server by itself: a wake-up may be lost.
const pollInterval = time.Second

// awaitSibling waits for another call of the same owner, within the bounds of a call.
func (l *Locks) awaitSibling(c *call, over <-chan struct{}) error {
	var bound <-chan time.Time
	if !c.until.IsZero() {
		alarm := time.NewTimer(time.Until(c.until.Add(grace)))
		defer alarm.Stop()
		bound = alarm.C
	}
	select {
	case <-over:
		return nil
	case <-bound:
		return ErrNoAnswer // it is the server that keeps the sibling
	case <-c.ctx.Done():
		return ended(c.ctx, nil)
	case <-l.closing:
		return ErrClosed
	}
}

// await waits until it makes sense to look at a lock again: after a wake-up, after pause (the lock expires
// then; 0: when it is time to poll), or when it is our turn in the line. It sees to it
// that what the call has taken already does not expire meanwhile.
func (l *Locks) await(c *call, p *part, pause time.Duration) error {
	c.paused = true
	now := time.Now()
	limit := pause
	if pause == 0 {
		limit = pollInterval
	}
	bound := func(d time.Duration) { limit = max(min(limit, d), time.Nanosecond) }
	if !c.until.IsZero() {
		bound(c.until.Sub(now))
	}
	keeps := c.fixed && len(c.taken) > 0
	if keeps {
		bound(c.kept.Add(c.lease / 3).Sub(now))
	}
	alarm := time.NewTimer(limit)
	defer alarm.Stop()

	var ready <-chan struct{}
	if p.waiter != nil {
		ready = l.wakeUp(p.waiter)
	}
	select {
	case <-ready:
	case <-alarm.C:
	case <-c.ctx.Done():
		return ended(c.ctx, ErrBusy)
	case <-l.closing:
		return ErrClosed
	}
	if c.waited(time.Now()) {
		return ErrBusy
	}
	if keeps && !time.Now().Before(c.kept.Add(c.lease/3)) {
		return c.keep()
	}
	return nil
}
