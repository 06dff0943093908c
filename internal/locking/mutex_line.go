package locking

import (
	"slices"
	"strings"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// Callers of this process wait for a lock in a line, first come, first served. Only the head of the line talks to the server, so
// the process is in the server's queue once, however many wait here. The position there belongs to the line: the next head inherits
// it, and a reservation with it. While the process itself holds the lock, nobody needs to ask: the holder hands it off.

// A mutexAsker asks for mutexes of one slot, which are in order and each named once: for as many at once as it can get, and
// for one after the other if it must wait. Callers wait in the line of this process; only its head asks.
type mutexAsker struct {
	locks *Locks
	acq   *acquisition
	run   []*target
	first question // the room of the first one
}

func (mutexKind) newAsker(acq *acquisition, run []*target) asker {
	m := &acq.mutexAsker
	if m.run != nil { // that of another part of a MultiLock
		m = &mutexAsker{}
	}
	m.locks, m.acq, m.run = run[0].lock.locks, acq, run
	return m
}

func (m *mutexAsker) next(missing []*target) (action, error) {
	next, sibling := m.locks.joinLine(m.acq, missing[0])
	if sibling != nil {
		return actionRetry, m.locks.awaitSibling(m.acq, sibling)
	}
	return next, nil
}

// togetherLocked returns the targets that can be asked for at once: the first, in whose line the caller stands, and those after
// it that no caller of this process holds or waits for. So no waiter is overtaken.
func (m *mutexAsker) togetherLocked(missing []*target) []*target {
	for i, p := range missing[1:] {
		if m.locks.states[p.lock.stateKey] != nil {
			return missing[:1+i]
		}
	}
	return missing
}

func (m *mutexAsker) ask(missing []*target) *question {
	l, acq := m.locks, m.acq
	l.mu.Lock()
	defer l.mu.Unlock()
	run := m.togetherLocked(missing)
	q := &m.first
	if q.run != nil { // a copy of it may be under way
		q = &question{}
	}
	q.start, q.run = time.Now(), run
	q.attempt.Number = l.numbers.Add(1)
	q.call = scripts.Acquire.CallIn(q.room[:0], 2+2*len(run))
	q.call = q.call.With(run[0].lock.clockWord, run[0].lock.tombstone(q.attempt.Number))
	for _, p := range run {
		q.call = q.call.With(p.lock.stateWord, p.lock.queueWord)
	}
	lease := l.leaseWord
	if acq.fixed {
		lease = acq.lease.Milliseconds()
	}
	q.call = q.call.With(&q.attempt, lease)

	own := any(holderID(l.process, acq.owner.id, q.attempt.Number))
	for _, p := range run {
		reserved := 0
		p.id = own
		if p.waiter != nil && len(l.states[p.lock.stateKey].waiters) > 1 {
			p.id, reserved = sharedID(l.process, q.attempt.Number), scripts.Reserve-1
		}
		q.call = q.call.With(p.id, scripts.QueueWord(l.queueActionLocked(p, acq.try)))
		if reserved > 0 || len(run) > 1 {
			q.call = q.call.With(reserved)
		}
	}
	return q
}

// queueActionLocked returns the queue action for the script, and notes that the process may be in the queue from now on.
func (l *Locks) queueActionLocked(p *target, try bool) string {
	if p.waiter == nil {
		return scripts.QueueIgnore
	}
	st := l.states[p.lock.stateKey]
	counted := l.subscription.Counted()
	switch {
	case st.queued && counted:
		return scripts.QueueMayBeIn
	case st.queued:
		return scripts.PollMayBeIn
	case try || st.grant != nil:
		return scripts.QueueIgnore // it does not wait, or the lock comes without a place in the queue
	}
	st.queued = true
	if counted {
		return scripts.QueueEnter
	}
	return scripts.PollEnter
}

// end allows handoffs to the waiters again. Siblings of the waiters that go on waiting look again.
func (m *mutexAsker) end(q *question) {
	m.locks.mu.Lock()
	defer m.locks.mu.Unlock()
	for _, p := range q.run {
		if p.waiter != nil {
			p.waiter.asking = false
			m.locks.states[p.lock.stateKey].wakeOwnerLocked(m.acq.owner, p.waiter)
		}
	}
}

func (m *mutexAsker) grantedLocked(p *target, g *grant) {
	l := m.locks
	st := l.stateOfLocked(p.lock.stateKey)
	st.grant = g
	if w := p.waiter; w != nil {
		if st.placed && !st.called {
			l.subscription.Unheard()
		}
		st.queued = false // the script took us out of the queue
		p.waiter = nil
		l.removeLocked(p.lock.stateKey, w)
	}
	st.placed = false // a reservation for another caller of the process may have become this grant
	st.wakeOwnerLocked(m.acq.owner, nil)
}

// stopped notes that the process is in the queue. If it was before, and now has entered it anew, it was to be woken, and was
// not or was too late; or it was taken for dead. For a lock behind the first the caller has not queued: it asks again at once, as
// one in the line of that.
func (m *mutexAsker) stopped(q *question, n int, answer scripts.Acquired) time.Duration {
	if n > 0 && !m.acq.try && !m.acq.waitIsOver(time.Now()) {
		return -1
	}
	l := m.locks
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := q.run[n]; p.waiter != nil {
		st := l.states[p.lock.stateKey]
		if answer.Code == scripts.Entered && st.placed {
			l.subscription.Doubt(st.called)
		}
		st.placed, st.called = st.queued, false
	}
	if l.subscription.Hears() {
		return policy.AfterBusy(answer.Busy, false)
	}
	l.subscription.Polled()
	return min(policy.AfterBusy(answer.Busy, false), policy.Deaf)
}

func (m *mutexAsker) unanswered(q *question) { m.cancelCopies(q, 0) }

// cancelCopies also notes that a copy may take the process out of the queues.
func (m *mutexAsker) cancelCopies(q *question, n int) {
	l := m.locks
	l.mu.Lock()
	for _, p := range q.run[n:] {
		if p.waiter != nil {
			l.states[p.lock.stateKey].placed = false
		}
	}
	l.mu.Unlock()
	l.cancel(m.acq, q, n)
}

// leave waits a moment for the traces of the caller to be gone.
func (m *mutexAsker) leave() {
	l := m.locks
	i := slices.IndexFunc(m.run, func(p *target) bool { return p.waiter != nil })
	if i < 0 {
		return
	}
	l.mu.Lock()
	left := l.leaveLineLocked(m.run[i])
	if m.run[i].waiter != nil {
		l.acceptLocked(m.acq, m.run[i])
	}
	l.mu.Unlock()
	if left == nil {
		return
	}
	select {
	case <-left:
	case <-time.After(policy.Cleanup):
	}
}

// joinLine puts the caller into the line of a target if needed, and returns what it may do. If another caller of its owner is
// asking, it also returns what to wait for.
func (l *Locks) joinLine(acq *acquisition, p *target) (next action, sibling <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.waiter != nil && p.waiter.handed != nil && l.acceptLocked(acq, p) {
		return actionRetry, nil
	} // the handoff came too late: wait in line again
	if l.reenterLocked(acq, p) {
		l.leaveLineLocked(p)
		return actionReenter, nil
	}
	now, st := time.Now(), l.stateOfLocked(p.lock.stateKey)
	if p.waiter == nil {
		if p.waiter = &p.firstWaiter; p.waiter.woken != nil { // it may still be in use
			p.waiter = &waiter{}
		}
		p.waiter.owner, p.waiter.lease, p.waiter.woken = acq.owner, acq.leaseOr(l.lease), make(chan struct{}, 1)
		st.waiters = append(st.waiters, p.waiter)
		if st.grant != nil {
			p.nextAsk = now.Add(policy.Poll) // the holder hands it off; to poll is for when it cannot
		}
	}
	p.waiter.looks()
	if head := st.waiters[0]; head != p.waiter {
		// Neither a sibling that asks nor one that has gone is another owner in the way.
		if head.asking && head.owner == acq.owner || head.leaving && st.waiters[1] == p.waiter {
			return actionRetry, p.waiter.woken
		}
		return actionWait, nil
	}
	if st.grant != nil && !acq.try && now.Before(p.nextAsk) {
		return actionWait, nil
	}
	p.nextAsk = now.Add(policy.Poll)
	p.waiter.asking = true
	return actionAsk, nil
}

// acceptLocked turns a handoff to the caller into a hold. It reports false if the lock was lost on the way.
func (l *Locks) acceptLocked(acq *acquisition, p *target) bool {
	g, st, trusted := p.waiter.handed, l.states[p.lock.stateKey], time.Time{}
	p.waiter = nil
	if st != nil && st.grant == g { // else the process has got the lock anew since: the server had lost it
		trusted = g.begun.Add(trust(g.duration))
	}
	if !l.joinLocked(acq, p, g, trusted) {
		return false
	}
	st.wakeOwnerLocked(acq.owner, nil)
	return true
}

// leaveLineLocked takes the caller out of the line of a target. The last one in the line gives up the position in the
// server's queue, and stays at the head until that is done: otherwise it could take away the position of the next caller.
// It returns what to wait for, or nil.
func (l *Locks) leaveLineLocked(p *target) <-chan struct{} {
	w := p.waiter
	if w == nil || w.handed != nil {
		return nil
	}
	p.waiter = nil
	st := l.states[p.lock.stateKey]
	if !st.queued || len(st.waiters) > 1 {
		l.removeLocked(p.lock.stateKey, w)
		return nil
	}
	st.queued, st.placed = false, false
	w.asking, w.leaving = true, true
	return l.releaseLater(&releaseCall{rows: []releaseRow{{lock: p.lock, queue: scripts.QueueLeave}}, leaver: w})
}

// woken passes a wake-up on: to the ticket that it names before a space and the state key, or to the head of the line
// of a lock. If no caller waits any more, the reservation ends by itself: whoever left the line last has told the server, as a rule.
func (l *Locks) woken(payload string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ticket, key, found := strings.Cut(payload, " ")
	if st := l.states[key]; found && !strings.HasPrefix(payload, keyPrefix) {
		if st != nil { // one that has gone leaves the queue as well, and so wakes the next
			st.wakeLocked(func(w *waiter) bool { return w.ticket == ticket })
		}
		return
	}
	if st := l.states[payload]; st != nil && len(st.waiters) > 0 {
		st.called = true
		st.wakeHeadLocked()
	}
}

// wakeAll makes all who wait look again: wake-ups may have been missed, and processes that did not listen for a moment taken for
// dead.
func (l *Locks) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, st := range l.states {
		st.placed = false
		st.wakeLocked(func(*waiter) bool { return true })
	}
}
