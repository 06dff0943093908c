package locking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"inventory/internal/locking/internal/keys"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

const (
	// localFor is for how long after a script the lock may pass inside the process without another: the
	// reserved tokens are as good as new, and the lease has hardly begun.
	localFor = time.Millisecond

	// turnScripts and turnFor bound how long a process keeps the lock to itself while others wait: so many script
	// calls, or so long, whichever comes first.
	turnScripts = 16
	turnFor     = 2 * time.Millisecond
)

// A handoffCall is an unlock that gives the lock to the next waiter of this process by a script.
type handoffCall struct {
	lock    *lock
	lease   *lease
	start   time.Time
	attempt *scripts.Attempt
	to      string // as whom the server will know the holder
	next    *waiter
	named   bool   // next is the only waiter; else tokens are reserved for those after it
	yield   string // whether other processes come first: scripts.YieldNever, YieldAndLook, YieldAndQueue or YieldAndPoll
}

// handOff unlocks a hold by handing its lock off. It returns false if that cannot be done: the owner still holds the
// lock, or nobody waits for it here, or the waiter wants another lease or more than one hold.
func (l *Locks) handOff(ctx context.Context, until time.Time, h *singleHold) (done bool, err error) {
	l.mu.Lock()
	next := l.successorLocked(h)
	if next == nil {
		l.mu.Unlock()
		return false, nil
	}
	l.dropLocked(h)
	h.grant.handedOff = true
	l.forgetLocked(h.grant)
	now := time.Now()
	ls := h.grant.lease
	if ls.next <= ls.last && !ls.shortened && ls.longest == ls.duration && now.Sub(ls.begun) < localFor {
		l.handOffLocked(h.grant.lock, next, ls, ls.next, ls.begun.Add(trust(ls.duration)))
		ls.next++
		l.mu.Unlock()
		l.reportEnds([]*singleHold{h}, now, nil)
		return true, nil
	}
	st := l.states[h.grant.lock.stateKey]
	st.handingOff, st.wakePending = true, false
	ho := l.newHandoffLocked(h.grant.lock, ls, next, now)
	l.mu.Unlock()
	var gone []*grant
	if err = l.handOffByScript(ctx, until, ho); errors.Is(err, ErrLost) {
		gone = append(gone, h.grant)
	}
	l.reportEnds([]*singleHold{h}, now, gone)
	return true, err
}

// successorLocked returns who gets the lock of a hold next: the first in line, if the owner gives up its last hold and
// the lease is what that caller asked for.
func (l *Locks) successorLocked(h *singleHold) *waiter {
	g := h.grant
	if g.countLocked() != 1 || len(g.holds) != 1 || !time.Now().Before(h.deadline) { // a lost hold has left g, or is past its deadline
		return nil
	}
	st := l.states[h.grant.lock.stateKey]
	if st == nil || st.lease != g.lease {
		return nil
	}
	return st.readyLocked()
}

// readyLocked returns the first in line if it can be handed the lock.
func (st *lockState) readyLocked() *waiter {
	if len(st.waiters) == 0 {
		return nil
	}
	if next := st.waiters[0]; !next.asking && next.times == 1 && next.lease == st.lease.duration {
		return next
	}
	return nil
}

// handOffLocked hands the lock to a waiter, who is out of the line then.
func (l *Locks) handOffLocked(a *lock, to *waiter, ls *lease, token int64, trusted time.Time) {
	st := l.states[a.stateKey]
	st.waiters = slices.Delete(st.waiters, 0, 1)
	to.handoff = &handoff{lease: ls, token: token, trusted: trusted}
	signal(to.woken)
}

// newHandoffLocked prepares a round trip.
func (l *Locks) newHandoffLocked(a *lock, ls *lease, next *waiter, now time.Time) *handoffCall {
	ho := &handoffCall{lock: a, lease: ls, start: now, attempt: l.attempt(), next: next}
	if ho.named = len(l.states[a.stateKey].waiters) == 1; ho.named {
		ho.to = keys.Holder(l.process, next.owner.id, ho.attempt.Number)
	} else {
		ho.to = keys.SharedHolder(l.process, ho.attempt.Number)
	}
	ho.yield = scripts.YieldNever
	if ls.handoffs+1 >= turnScripts || now.Sub(ls.turnBegun) >= turnFor {
		switch {
		case l.subscription.Counted():
			ho.yield = scripts.YieldAndQueue
		case l.hearingDecided():
			ho.yield = scripts.YieldAndPoll
		default:
			ho.yield = scripts.YieldAndLook
		}
	}
	return ho
}

// handOffByScript hands the lock off by a round trip.
func (l *Locks) handOffByScript(ctx context.Context, until time.Time, ho *handoffCall) error {
	reserved := 0
	if !ho.named {
		reserved = scripts.Reserve - 1
	}
	call := scripts.Handoff.NewCall(3, 8).With(ho.lock.bucket.Clock(), ho.lock.stateKey, ho.lock.queueKey,
		l.process, ho.attempt, ho.lease.duration.Milliseconds(), ho.lease.id, ho.to, reserved, ho.yield, policy.ReservationMS)
	call.Patient = true
	answer, err := l.server.Run(ctx, until, nil, call, ho.attempt)
	if err == nil {
		if text, ok := answer.(string); ok {
			var token, more int64
			if token, more, err = scripts.ReadTokens(text); err == nil {
				return l.handedOff(ho, token, more)
			}
		} else if code, ok := answer.(int64); ok && code >= scripts.HandoffNotOurs && code <= scripts.HandoffOutdated {
			return l.notHandedOff(ho, code)
		} else {
			err = scripts.Strange(answer)
		}
	}
	// Whoever holds it at the server now, no owner of this process does.
	l.mu.Lock()
	defer l.mu.Unlock()
	l.giveUpLeaseLocked(ho.lock, ho.lease, ho.lease.id, ho.to)
	return failed("hand off", ho.lock.name, err)
}

// handedOff gives the lock, which the server knows as the next holder's, to the first in line.
func (l *Locks) handedOff(ho *handoffCall, token, reserved int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ls := ho.lease
	ls.id, ls.first = ho.to, token
	ls.next, ls.last = token+1, token+reserved
	ls.longest, ls.shortened = ls.duration, false
	ls.raising, ls.raised, ls.unsure = 0, 0, false
	ls.begun = ho.start
	ls.handoffs++
	if ho.yield != scripts.YieldNever { // other processes had a chance, and none waited
		ls.handoffs, ls.turnBegun = 0, ho.start
	}
	st := l.states[ho.lock.stateKey]
	st.handingOff = false
	if st.lease == ls {
		if next := st.readyLocked(); next != nil && (!ho.named || next == ho.next) {
			l.handOffLocked(ho.lock, next, ls, token, ho.start.Add(trust(ls.duration)))
			return nil
		}
	}
	l.giveUpLeaseLocked(ho.lock, ls, ls.id) // the waiter that it was meant for has gone
	return nil
}

// notHandedOff deals with a lock that went elsewhere.
func (l *Locks) notHandedOff(ho *handoffCall, code int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	resent := ho.attempt.Resent()
	queues := ho.yield == scripts.YieldAndQueue || ho.yield == scripts.YieldAndPoll
	if queues && (code == scripts.HandoffYielded || resent) { // the first copy may have queued
		l.keepPositionLocked(ho.lock)
	}
	if code == scripts.HandoffYielded && queues {
		st := l.states[ho.lock.stateKey]
		st.lease, st.handingOff = nil, false // no waiter needs to ask: the process is in the queue
		st.placed, st.called = st.queued, st.wakePending
		if st.wakePending || !l.subscription.Hears() { // or were: the lock was reserved for us before the answer came
			st.wakeHeadLocked()
		}
		l.tidyLocked(ho.lock)
		return nil
	}
	trusted := time.Now().Before(ho.lease.begun.Add(trust(ho.lease.duration)))
	l.endLeaseLocked(ho.lock, ho.lease)
	switch {
	case code == scripts.HandoffYielded:
		return nil
	case resent && trusted:
		return nil // the first copy has done it, and the lock has gone on since
	case code == scripts.HandoffOutdated:
		return fmt.Errorf("locking: hand off %q: outdated", ho.lock.name)
	default:
		return ErrLost
	}
}

// keepPositionLocked leaves the position in the server's queue to the line, or gives it up if the line is empty.
func (l *Locks) keepPositionLocked(a *lock) {
	if st := l.states[a.stateKey]; len(st.waiters) > 0 {
		st.queued = true
		return
	}
	l.releaseLater(&releaseCall{rows: []releaseRow{{lock: a, queue: scripts.QueueLeave}}})
}
