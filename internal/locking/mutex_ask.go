package locking

import (
	"context"
	"slices"
	"strconv"
	"time"

	"inventory/internal/locking/internal/keys"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// A mutexAsker asks for mutexes of one slot, which are in order and each named once: for as many at once as it can get, and
// for one after the other if it must wait. Callers wait in the line of this process; only its head asks.
type mutexAsker struct {
	locks *Locks
	acq   *acquisition
	run   []*part
}

func (m *mutexAsker) turn(missing []*part) (turn, error) {
	may, sibling := m.locks.takeTurn(m.acq, missing[0])
	if sibling != nil {
		return turnAgain, m.locks.awaitSibling(m.acq, sibling)
	}
	return may, nil
}

// together returns the parts that can be asked for at once: the first, and those after it that no caller of this process
// holds or waits for. So no waiter is overtaken. Meanwhile the caller stands in the lines of all of them, so that a wake-up
// for the one that is busy finds it there.
func (m *mutexAsker) together(missing []*part) []*part {
	for i, p := range missing[1:] {
		if !m.locks.joinHead(m.acq, p) {
			return missing[:1+i]
		}
	}
	return missing
}

// ask makes the question. Counts of re-entries are those at the moment when it gets its number.
func (m *mutexAsker) ask(missing []*part) *question {
	l, acq, run := m.locks, m.acq, m.together(missing)
	l.mu.Lock()
	defer l.mu.Unlock()
	q := &question{start: time.Now(), run: run}
	q.attempt.Number = l.numbers.Add(1)
	q.call = scripts.Acquire.NewCall(2+2*len(run), 2+5*len(run))
	q.call = q.call.With(run[0].lock.bucket.Clock(), run[0].lock.tombstone(q.attempt.Number))
	for _, p := range run {
		q.call = q.call.With(p.lock.stateKey, p.lock.queueKey)
	}
	q.call = q.call.With(&q.attempt, acq.leaseOr(l.lease).Milliseconds())

	fresh := keys.Holder(l.process, acq.owner.id, q.attempt.Number)
	for _, p := range run {
		p.token, p.fresh = 0, p.reenters == nil
		spare, count, token := 0, p.times, ""
		switch {
		case p.reenters != nil:
			g := p.reenters
			g.told = g.countLocked()
			p.id, p.token = g.lease.id, g.lease.first
			count, token = g.told, strconv.FormatInt(p.token, 10)
		case p.waiter != nil && len(l.states[p.lock.stateKey].waiters) > 1 && p.times == 1:
			p.id, spare = keys.SharedHolder(l.process, q.attempt.Number), scripts.Reserve-1
		default:
			p.id = fresh
		}
		q.call = q.call.With(p.id, l.queueActionLocked(p, acq.try), spare, count, token)
	}
	return q
}

// queueActionLocked returns the queue action for the script, and notes that the process may be in the queue from now on.
func (l *Locks) queueActionLocked(p *part, try bool) string {
	if p.waiter == nil {
		return scripts.QueueIgnore
	}
	st := l.states[p.lock.stateKey]
	counted, decided := l.subscription.Counted(), l.hearingDecided()
	switch {
	case st.queued && counted:
		return scripts.QueueMayBeIn
	case st.queued:
		return scripts.PollMayBeIn
	case try || st.lease != nil || !decided:
		return scripts.QueueIgnore // it does not wait, the lock comes without a place in the queue, or it soon hears
	}
	st.queued = true
	if counted {
		return scripts.QueueEnter
	}
	return scripts.PollEnter
}

// end allows handoffs to the waiters again, and ends the re-entries that have failed. Siblings of the waiters that go on
// waiting look again.
func (m *mutexAsker) end(q *question) {
	m.locks.mu.Lock()
	defer m.locks.mu.Unlock()
	for _, p := range q.run {
		if p.waiter != nil {
			p.waiter.asking = false
			m.locks.states[p.lock.stateKey].wakeOwnerLocked(m.acq.owner, p.waiter)
		}
		m.locks.withdrawLocked(p)
	}
}

func (m *mutexAsker) granted(p *part, ls *lease, trusted time.Time) {
	l := m.locks
	l.mu.Lock()
	st := l.stateOfLocked(p.lock)
	if w := p.waiter; w != nil {
		if st.placed && !st.called {
			l.subscription.Unheard()
		}
		st.queued, st.placed = false, false // the script took us out of the queue
		p.waiter = nil
		l.removeLocked(p.lock, w)
	}
	over := l.admitLocked(m.acq, p, ls, trusted)
	st = l.stateOfLocked(p.lock)
	st.lease = p.holds[0].grant.lease
	st.wakeOwnerLocked(m.acq.owner, nil)
	l.mu.Unlock()
	l.lose(over)
}

// stopped leaves the lines of the parts that the script has not reached, and has not queued for.
func (m *mutexAsker) stopped(q *question, n int, answer scripts.Acquired) time.Duration {
	l := m.locks
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range q.run[n+1:] {
		if p.waiter != nil {
			l.states[p.lock.stateKey].queued = false
		}
		l.leaveLineLocked(p)
	}
	if p := q.run[n]; p.waiter != nil {
		l.placedLocked(l.states[p.lock.stateKey], answer)
	}
	if l.subscription.Hears() {
		return policy.AfterBusy(answer.Busy, false)
	}
	l.subscription.Polled()
	return min(answer.Busy, policy.Deaf)
}

// placedLocked notes that the process is in the queue. If it was before, and now has entered it anew, it was to be woken, and
// was not or was too late; or it was taken for dead.
func (l *Locks) placedLocked(st *lockState, answer scripts.Acquired) {
	if answer.Code == scripts.Entered && st.placed {
		l.subscription.Doubt(st.called)
	}
	st.placed, st.called = st.queued, false
}

func (m *mutexAsker) unanswered(q *question) { m.disclaim(q, 0) }

// disclaim also notes that a copy may take the process out of the queues.
func (m *mutexAsker) disclaim(q *question, n int) {
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
	waits := func(p *part) bool { return p.waiter != nil }
	if !slices.ContainsFunc(m.run, waits) {
		return
	}
	patience, cancel := context.WithTimeout(context.Background(), policy.Cleanup)
	defer cancel()
	for _, p := range m.run {
		if !waits(p) {
			continue
		}
		l.mu.Lock()
		left := l.leaveLineLocked(p)
		if p.waiter != nil {
			l.acceptLocked(m.acq, p)
		}
		l.mu.Unlock()
		if left == nil {
			continue
		}
		select {
		case <-left:
		case <-patience.Done():
		}
	}
}

func (mutexKind) newAsker(acq *acquisition, run []*part) asker {
	return &mutexAsker{locks: run[0].lock.locks, acq: acq, run: run}
}
