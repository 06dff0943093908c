package locking

import (
	"fmt"
	"slices"
	"time"

	"inventory/internal/locking/internal/keys"
	"inventory/internal/locking/internal/scripts"
)

// acquireCall is what acquire.lua was told.
type acquireCall struct {
	attempt scripts.Attempt
	start   time.Time
	call    scripts.Call
	parts   []acquirePart
	one     [1]acquirePart // what parts points at where there is one
}

// acquirePart is what it was told of one lock.
type acquirePart struct {
	id       any   // of the holder, a string
	token    int64 // of the grant that is re-entered, 0 for any
	reserves bool  // tokens beyond the first
	fresh    bool  // not a re-entry
}

// newAcquireLocked prepares a round trip. What it says of re-entries is true under the number that it has.
func (l *Locks) newAcquireLocked(acq *acquisition, run []*part) *acquireCall {
	listening := l.subscription.Connected()
	l.mu.Lock()
	defer l.mu.Unlock()
	q := &acquireCall{start: time.Now()}
	q.attempt.Number = l.numbers.Add(1)
	q.parts = q.one[:]
	if len(run) > 1 {
		q.parts = make([]acquirePart, len(run))
	}
	q.call = scripts.Acquire.NewCall(2+2*len(run), 2+5*len(run))
	q.call = q.call.With(run[0].lock.args[0], run[0].lock.tombstone(q.attempt.Number))
	for _, p := range run {
		q.call = q.call.With(p.lock.args[1:]...)
	}
	q.call = q.call.With(&q.attempt, l.milliseconds(acq.leaseOr(l.lease)))

	fresh := any(nil)
	for i, p := range run {
		to := &q.parts[i]
		spare, count, token := 0, p.times, any("")
		switch {
		case p.reentry != nil:
			g := p.reentry.grant
			g.told = g.countLocked()
			to.id, to.token = g.lease.id, g.lease.first
			count, token = g.told, to.token
		case p.waiter != nil && len(l.states[p.lock.stateKey].waiters) > 1 && p.times == 1:
			to.id, to.fresh, spare = keys.SharedHolder(l.process, q.attempt.Number), true, scripts.Reserve-1
		default:
			if fresh == nil {
				fresh = keys.Holder(l.process, acq.owner.id, q.attempt.Number)
			}
			to.id, to.fresh = fresh, true
		}
		to.reserves = spare > 0
		q.call = q.call.With(to.id, l.queueActionLocked(p, listening && !acq.try), spare, count, token)
	}
	if to := &q.parts[0]; len(run) == 1 && to.fresh && run[0].times == 1 {
		q.call.Command = q.call.Command[:len(q.call.Command)-2] // what the script takes for granted
		if !to.reserves {
			q.call.Command = q.call.Command[:len(q.call.Command)-1]
		}
	}
	return q
}

// anyFresh tells whether a lock may be taken that its owner does not hold already.
func (q *acquireCall) anyFresh() bool {
	return slices.ContainsFunc(q.parts, func(p acquirePart) bool { return p.fresh })
}

// queueActionLocked tells the script how a part stands to the queue, and notes that it may stand there from now
// on.
func (l *Locks) queueActionLocked(p *part, queue bool) any {
	if p.waiter == nil {
		return scripts.QueueIgnore
	}
	st := l.states[p.lock.stateKey]
	if st.queued {
		return scripts.QueueMayBeIn
	}
	if !queue || st.lease != nil {
		return scripts.QueueIgnore // nobody would hear a wake-up, or nobody waits for it
	}
	st.queued = true
	return scripts.QueueEnter
}

// milliseconds is a lease as scripts take it.
func (l *Locks) milliseconds(lease time.Duration) any {
	if lease == l.lease {
		return l.leaseArg
	}
	return lease.Milliseconds()
}

// applyAnswer puts an answer into the registry.
func (l *Locks) applyAnswer(acq *acquisition, run []*part, ask *acquireCall, answer scripts.Acquired, trusted time.Time) (n int, busy time.Duration, err error) {
	var few [4]*lease
	leases := few[:0]
	resent := ask.attempt.Resent()
	for i, text := range answer.Tokens {
		token, spare, err := scripts.ReadTokens(text)
		if err != nil {
			l.cancel(acq, run, ask)
			return 0, 0, failed("acquire", run[0].lock.name, err)
		}
		term := acq.leaseOr(l.lease)
		ls := &lease{
			id: ask.parts[i].id, first: token, duration: term, longest: term,
			next: token + 1, last: token + spare, begun: ask.start, turnBegun: ask.start,
		}
		if resent && ask.parts[i].fresh { // a late copy of a re-entry finds nothing to re-enter
			ls.resent = ask.attempt.Number
		}
		leases = append(leases, ls)
	}
	for i, ls := range leases {
		l.grantedBy(acq, run[i], ls, trusted)
	}
	n = len(leases)
	if answer.Code == scripts.Taken {
		return n, -1, nil // what is left of the run was not asked for
	}
	bid := run[n].reentry
	if resent || answer.Code == scripts.Cancelled && bid == nil {
		l.cancel(acq, run[n:], ask) // a copy may still take what was busy
	}
	l.notReached(run, n+1)
	switch {
	case answer.Code == scripts.Busy:
		return n, answer.Busy, nil
	case answer.Code == scripts.Gone && bid != nil:
		l.denied(bid.grant, ask.parts[n].token)
		return n, -1, nil
	case answer.Code == scripts.Cancelled && bid != nil:
		return n, -1, nil // a later word about the grant came first
	default:
		return n, 0, fmt.Errorf("locking: acquire %q: the attempt was cancelled", run[0].lock.name)
	}
}

// grantedBy puts a lock into the registry that the server has granted.
func (l *Locks) grantedBy(acq *acquisition, p *part, ls *lease, trusted time.Time) {
	l.mu.Lock()
	st := l.stateOfLocked(p.lock)
	if w := p.waiter; w != nil {
		st.queued = false // the script took us out of the queue
		p.waiter = nil
		l.removeLocked(p.lock, w)
	}
	over := l.admitLocked(acq, p, ls, trusted)
	st = l.stateOfLocked(p.lock)
	st.lease = p.holds[0].grant.lease
	l.wakeOwnerLocked(st, acq.owner)
	l.mu.Unlock()
	l.lose(over)
}

// notReached notes that the script stopped before these parts, and has not queued for them.
func (l *Locks) notReached(run []*part, from int) {
	for _, p := range run[min(from, len(run)):] {
		l.mu.Lock()
		if p.waiter != nil {
			l.states[p.lock.stateKey].queued = false
		}
		l.leaveLineLocked(p)
		l.mu.Unlock()
	}
}
