package locking

import (
	"cmp"
	"strings"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
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
func (l *Locks) await(acq *acquisition, p *target, pause time.Duration, waiting error) error {
	limit := acq.within(cmp.Or(pause, policy.Poll))
	var woken <-chan struct{}
	if p.waiter != nil {
		woken = p.waiter.woken
	}
	if _, err := l.pause(acq, woken, limit, waiting); err != nil {
		return err
	}
	if acq.waitIsOver(time.Now()) {
		return waiting
	}
	return nil
}

// listen starts the subscription for wake-ups with the first wait. Until it works this process polls; then its callers look again.
func (l *Locks) listen() {
	if l.server.CanListen() {
		l.subscribed.Do(func() { l.loops.Go(func() { l.subscription.Listen(l.stop) }) })
	}
}

// woken passes a wake-up on: to the ticket that it names before a space and the state key, or to the head of the line
// of a lock. If no caller waits any more, the lock is reserved for nothing, and the reservation is given back.
func (l *Locks) woken(payload string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !strings.HasPrefix(payload, keyPrefix) {
		ticket, _, _ := strings.Cut(payload, " ")
		l.tickets.wakeLocked(ticket)
		return
	}
	if st := l.states[payload]; st != nil && len(st.waiters) > 0 {
		st.called = true
		st.wakeHeadLocked()
		return
	}
	if queue, ok := mutexQueue(payload); ok {
		m := lock{locks: l, kind: mutexKind{}, stateKey: payload, queueKey: queue}
		l.releaseLater(&releaseCall{rows: []releaseRow{{lock: &m, queue: scripts.QueueDecline}}})
	}
}

// polls reports to the observer why wake-ups do not reach this process, and nil when they do again.
func (l *Locks) polls(why error) {
	if o, ok := l.observer.(PollingObserver); ok {
		o.Polling(why)
	}
}

// wakeHeads makes the head of every line and every ticket look again: wake-ups may have been missed, and processes that
// did not listen for a moment taken for dead.
func (l *Locks) wakeHeads() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, st := range l.states {
		st.placed = false
		st.wakeHeadLocked()
	}
	for _, t := range l.tickets.all {
		signal(t.waiter.woken)
	}
}
