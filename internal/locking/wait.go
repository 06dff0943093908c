package locking

import (
	"cmp"
	"time"

	"inventory/internal/locking/internal/policy"
)

// pause waits for a signal, at most for limit, and reports whether it came. Its error is joined with doing, if that is not
// nil.
func (l *Locks) pause(acq *acquisition, signal <-chan struct{}, limit time.Duration, doing error) (came bool, err error) {
	alarm := time.NewTimer(limit)
	defer alarm.Stop()
	select {
	case <-signal:
		return true, nil
	case <-alarm.C:
		return false, nil
	case <-acq.ctx.Done():
		return false, ended(acq.ctx, doing)
	case <-l.closing:
		return false, ErrClosed
	}
}

// awaitSibling waits for another acquisition by the same owner, within the bounds of this one.
func (l *Locks) awaitSibling(acq *acquisition, over <-chan struct{}) error {
	came, err := l.pause(acq, over, acq.patience(), nil)
	if !came && err == nil {
		return ErrNoAnswer // the server keeps the sibling waiting
	}
	return err
}

// await waits until it makes sense to look at a lock again: after a wake-up, when it is our turn in the line, or after
// pause, when the lock expires (0: when it is time to poll). Its error is waiting if the wait has run out.
func (l *Locks) await(acq *acquisition, p *part, pause time.Duration, waiting error) error {
	limit := acq.within(cmp.Or(pause, policy.Poll))
	var ready <-chan struct{}
	if p.waiter != nil {
		ready = l.wakeUp(p.waiter)
	}
	if _, err := l.pause(acq, ready, limit, waiting); err != nil {
		return err
	}
	if acq.waitIsOver(time.Now()) {
		return waiting
	}
	return nil
}

// subscribe starts the subscription for wake-ups if it has not started yet, and waits until it works, or fails, or takes too
// long. It returns true if the caller should look at its lock once more: before that it could not queue.
func (l *Locks) subscribe(acq *acquisition) bool {
	if l.hearingDecided() {
		return false
	}
	l.subscribed.Do(func() { l.loops.Go(func() { l.subscription.Listen(l.stop) }) })
	ready, err := l.pause(acq, l.subscription.Ready(), acq.within(policy.Subscribe), nil)
	if late := !ready && err == nil && !acq.waitIsOver(time.Now()); late {
		l.subscription.Decide()
		return true
	}
	return ready
}

// hearingDecided reports whether it is known if this process is woken, or must poll.
func (l *Locks) hearingDecided() bool {
	select {
	case <-l.subscription.Ready():
		return true
	default:
		return !l.server.CanListen()
	}
}
