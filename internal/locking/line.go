package locking

import (
	"slices"
	"time"

	"inventory/internal/locking/internal/cleaner"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// Callers of this process wait for a lock in a line, first come, first served. Only the head of the line talks to the
// server, so the process is in the server's queue once, however many wait here. The position there belongs to the line:
// the next head inherits it, and a reservation with it. While the process itself holds the lock, nobody needs to ask:
// the holder hands it off.

// takeTurn puts the caller into the line of a part if needed, and returns what it may do. If another caller of its owner is
// asking, and it cannot wait in line for the result, it also returns what to wait for.
func (l *Locks) takeTurn(acq *acquisition, p *part) (may turn, sibling <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.waiter != nil && p.waiter.handoff != nil && l.acceptLocked(acq, p) {
		return turnAgain, nil
	} // the handoff came too late: wait in line again
	if l.reenterLocked(acq, p) {
		l.leaveLineLocked(p)
		return turnToAsk, nil
	}
	now := time.Now()
	if acq.try || acq.waitIsOver(now) {
		if decided := l.undecidedLocked(p.lock.stateKey, acq.owner); decided != nil {
			return turnAgain, decided
		}
	}
	st := l.stateOfLocked(p.lock)
	l.joinLocked(acq, p, st)
	p.waiter.woken = false // it looks now; what comes from now on is new
	if head := st.waiters[0]; head != p.waiter || st.handingOff {
		// Neither a sibling that asks nor one that has gone is another owner in the way.
		follows := head.asking && head.owner == acq.owner || head.leaving && st.waiters[1] == p.waiter
		switch {
		case !follows:
			return turnToWait, nil
		case acq.try || acq.waitIsOver(now):
			return turnAgain, p.waiter.readyLocked()
		default:
			return turnToFollow, nil
		}
	}
	if st.lease != nil && !acq.try && now.Before(p.nextAsk) {
		return turnToWait, nil
	}
	p.nextAsk = now.Add(policy.Poll)
	p.waiter.asking = true
	return turnToAsk, nil
}

// joinLocked puts the caller at the end of the line if it is not in it.
func (l *Locks) joinLocked(acq *acquisition, p *part, st *lockState) {
	if p.waiter != nil {
		return
	}
	p.waiter = &waiter{times: p.times, owner: acq.owner, lease: acq.leaseOr(l.lease)}
	if st.lease != nil {
		p.nextAsk = time.Now().Add(policy.Poll) // the holder hands it off; to poll is for when it cannot
	}
	st.waiters = append(st.waiters, p.waiter)
}

// joinHead puts the caller at the head of the line of a later part of a run, and reports false if others are there.
func (l *Locks) joinHead(acq *acquisition, p *part) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reenterLocked(acq, p) {
		return true
	}
	st := l.stateOfLocked(p.lock)
	if p.waiter == nil && (len(st.waiters) > 0 || st.lease != nil) {
		return false
	}
	l.joinLocked(acq, p, st)
	if st.waiters[0] != p.waiter || p.waiter.handoff != nil || st.lease != nil {
		l.leaveLineLocked(p)
		return false
	}
	p.waiter.asking = true
	return true
}

// acceptLocked turns a handoff to the caller into a hold.
func (l *Locks) acceptLocked(acq *acquisition, p *part) bool {
	handed := p.waiter.handoff
	p.waiter = nil
	st := l.states[p.lock.stateKey]
	if st == nil || st.lease != handed.lease {
		return false // lost on the way
	}
	if !time.Now().Before(handed.trusted) {
		l.disownLocked(p.lock, handed.lease, handed.lease.id)
		return false
	}
	g := &grant{lock: p.lock, owner: acq.owner, token: handed.token, lease: handed.lease, told: 1}
	l.addGrantLocked(g)
	acq.noteStart(handed.lease.begun)
	l.holdAllLocked(acq, p, g, handed.trusted)
	st.wakeOwnerLocked(acq.owner, nil)
	return true
}

// wakeUp returns the channel of a waiter's wake-ups. A wake-up that came before is not lost.
func (l *Locks) wakeUp(w *waiter) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return w.readyLocked()
}

// leaveLineLocked takes the caller out of the line of a part. The last one in the line gives up the position in the
// server's queue, and stays at the head until that is done: otherwise it could take away the position of the next caller.
// It returns what to wait for, or nil.
func (l *Locks) leaveLineLocked(p *part) <-chan struct{} {
	w := p.waiter
	if w == nil || w.handoff != nil {
		return nil
	}
	p.waiter = nil
	st := l.states[p.lock.stateKey]
	if !st.queued || len(st.waiters) > 1 {
		l.removeLocked(p.lock, w)
		return nil
	}
	st.queued, st.placed = false, false
	w.asking, w.leaving = true, true
	return l.settleLater(&settlement{
		rows: []row{{lock: p.lock, queue: scripts.QueueLeave}},
		Task: cleaner.Task{Tried: func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.removeLocked(p.lock, w)
		}},
	})
}

// removeLocked takes a waiter out of a line and calls the next head.
func (l *Locks) removeLocked(a *lock, w *waiter) {
	st := l.states[a.stateKey]
	i := slices.Index(st.waiters, w)
	st.waiters = slices.Delete(st.waiters, i, i+1)
	if i == 0 {
		st.wakeHeadLocked()
	}
	l.tidyLocked(a)
}

// wakeOwnerLocked lets all callers of an owner except one look again: they need not wait for the server's answer.
func (st *lockState) wakeOwnerLocked(who *owner, but *waiter) {
	for _, w := range st.waiters {
		if w.owner == who && w != but {
			w.wakeLocked()
		}
	}
}
