package locking

import (
	"cmp"
	"time"

	"inventory/internal/locking/internal/policy"
)

// awaitSibling waits for another acquisition by the same owner, within the bounds of this one.
func (l *Locks) awaitSibling(acq *acquisition, over <-chan struct{}) error {
	var bound <-chan time.Time
	if !acq.until.IsZero() {
		alarm := time.NewTimer(time.Until(acq.until.Add(policy.Grace)))
		defer alarm.Stop()
		bound = alarm.C
	}
	select {
	case <-over:
		return nil
	case <-bound:
		return ErrNoAnswer // the server keeps the sibling waiting
	case <-acq.ctx.Done():
		return ended(acq.ctx, nil)
	case <-l.closing:
		return ErrClosed
	}
}

// await waits until it makes sense to look at a lock again: after a wake-up, when it is our turn in the line, or after
// pause, when the lock expires (0: when it is time to poll). Meanwhile it keeps alive what the acquisition has already
// taken.
func (l *Locks) await(acq *acquisition, p *part, pause time.Duration) error {
	acq.waitedForOthers = true
	now := time.Now()
	limit := cmp.Or(pause, policy.Poll)
	bound := func(d time.Duration) { limit = max(min(limit, d), time.Nanosecond) }
	if !acq.until.IsZero() {
		bound(acq.until.Sub(now))
	}
	keeps := acq.fixed && len(acq.taken) > 0
	if keeps {
		bound(acq.keepAt().Sub(now))
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
	if keeps && !time.Now().Before(acq.keepAt()) {
		return acq.keep()
	}
	return nil
}

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
