package locking

import "time"

// pollInterval is how often the head of a line looks at the server by itself: a wake-up may be lost.
const pollInterval = time.Second

// awaitSibling waits for another call of the same owner, within the bounds of a call.
func (l *Locks) awaitSibling(acq *acquisition, over <-chan struct{}) error {
	var bound <-chan time.Time
	if !acq.until.IsZero() {
		alarm := time.NewTimer(time.Until(acq.until.Add(grace)))
		defer alarm.Stop()
		bound = alarm.C
	}
	select {
	case <-over:
		return nil
	case <-bound:
		return ErrNoAnswer // it is the server that keeps the sibling
	case <-acq.ctx.Done():
		return ended(acq.ctx, nil)
	case <-l.closing:
		return ErrClosed
	}
}

// await waits until it makes sense to look at a lock again: after a wake-up, after pause (the lock expires
// then; 0: when it is time to poll), or when it is our turn in the line. It sees to it
// that what the call has taken already does not expire meanwhile.
func (l *Locks) await(acq *acquisition, p *part, pause time.Duration) error {
	acq.waitedForOthers = true
	now := time.Now()
	limit := pause
	if pause == 0 {
		limit = pollInterval
	}
	bound := func(d time.Duration) { limit = max(min(limit, d), time.Nanosecond) }
	if !acq.until.IsZero() {
		bound(acq.until.Sub(now))
	}
	keeps := acq.fixed && len(acq.taken) > 0
	if keeps {
		bound(acq.renewedAt.Add(acq.lease / 3).Sub(now))
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
	case <-acq.ctx.Done():
		return ended(acq.ctx, ErrBusy)
	case <-l.closing:
		return ErrClosed
	}
	if acq.waitIsOver(time.Now()) {
		return ErrBusy
	}
	if keeps && !time.Now().Before(acq.renewedAt.Add(acq.lease/3)) {
		return acq.keep()
	}
	return nil
}

// subscribeBound is how long a waiter waits for the subscription to stand before it polls without.
const subscribeBound = 250 * time.Millisecond
