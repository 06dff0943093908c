package locking

import (
	"slices"
	"time"
)

// handoffFor is for how long after the answer that brought it a lease may pass inside the process. Then other processes that wait
// get their turn. No more than a part of the lease may be over, one in handoffShare: it is as good as a new one.
const (
	handoffFor   = time.Millisecond
	handoffShare = 10
)

// handOff unlocks a hold by giving its lock to the next in line, without a round trip: the server knows the process as the
// holder, and has reserved tokens for it. It returns false if that cannot be done.
func (l *Locks) handOff(h *singleHold) bool {
	l.mu.Lock()
	now := time.Now()
	next := l.successorLocked(h, now)
	if next != nil {
		l.dropLocked(h)
		h.grant.handedOff = true
		l.forgetLocked(h.grant)
		st := l.states[h.grant.lock.stateKey]
		st.waiters = slices.Delete(st.waiters, 0, 1)
		next.handed = h.grant.lease
		signal(next.woken)
	}
	l.mu.Unlock()
	if next == nil {
		return false
	}
	l.reportEnds([]*singleHold{h}, now, nil)
	return true
}

// successorLocked returns who gets the lock of a hold next: the first in line, if the owner gives up its last hold, a token is in
// reserve, and the lease has hardly begun and is what that caller asked for. One that is asking the server may get the lock there.
func (l *Locks) successorLocked(h *singleHold, now time.Time) *waiter {
	g, ls := h.grant, h.grant.lease
	if g.countLocked() != 1 || len(g.holds) != 1 || !now.Before(h.deadline) { // a lost hold has left g, or is past its deadline
		return nil
	}
	st := l.states[g.lock.stateKey]
	if st == nil || st.lease != ls || len(st.waiters) == 0 || ls.next > ls.last {
		return nil
	}
	if now.Sub(ls.came) >= handoffFor || now.Sub(ls.begun) >= ls.duration/handoffShare {
		return nil
	}
	if next := st.waiters[0]; !next.asking && next.times == 1 && next.lease == ls.duration {
		return next
	}
	return nil
}

// acceptLocked turns a handoff to the caller into a hold, with the next token. It reports false if the lock was lost on the way.
func (l *Locks) acceptLocked(acq *acquisition, p *target) bool {
	ls := p.waiter.handed
	p.waiter = nil
	st := l.states[p.lock.stateKey]
	if st == nil || st.lease != ls {
		return false
	}
	trusted := ls.begun.Add(trust(ls.duration))
	if !time.Now().Before(trusted) {
		l.giveUpLeaseLocked(p.lock, ls)
		return false
	}
	g := &grant{lock: p.lock, owner: acq.owner, token: ls.next, lease: ls, sent: 1}
	ls.next++
	l.addGrantLocked(g)
	acq.noteStart(ls.begun)
	l.holdAllLocked(acq, p, g, trusted)
	st.wakeOwnerLocked(acq.owner, nil)
	return true
}
