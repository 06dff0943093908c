package locking

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// reenterLocked lets an acquisition re-enter its owner's grant, if the grant has a hold. A grant that only has re-entries
// under way may still end without a hold.
func (l *Locks) reenterLocked(acq *acquisition, p *target) bool {
	g := l.grantOfLocked(p.lock.stateKey, acq.owner)
	if g == nil || len(g.holds) == 0 {
		return false
	}
	p.reenters, p.lease = g, acq.leaseOr(l.lease)
	g.reentries = append(g.reentries, p)
	if ls := g.lease; p.lease > ls.longest {
		ls.longest = p.lease
		ls.dropReserveLocked()
	}
	return true
}

// askedForLocked begins a question about a target. It returns the count that the server is to have, and the token of the grant
// that is re-entered, whose id it takes; a target that is fresh still needs one.
func (p *target) askedForLocked() (count int, token string) {
	p.token, p.fresh = 0, p.reenters == nil
	if p.fresh {
		return p.times, ""
	}
	g := p.reenters
	g.sent = g.countLocked()
	p.id, p.token = g.lease.id, g.lease.first
	return g.sent, strconv.FormatInt(p.token, 10)
}

// endReentryLocked ends the re-entry of a target, if it has one, and returns its grant.
func (p *target) endReentryLocked() *grant {
	g := p.reenters
	if g != nil {
		p.reenters = nil
		g.reentries = slices.DeleteFunc(g.reentries, func(other *target) bool { return other == p })
	}
	return g
}

// admitLocked makes as many holds as the target wants: of the grant that it re-enters, or of a new one. If it makes a new one,
// an older grant of the owner is gone. It returns the holds that the caller must lose after it has unlocked l.mu.
func (l *Locks) admitLocked(acq *acquisition, p *target, ls *lease, trusted time.Time) (over []*singleHold) {
	g := p.endReentryLocked()
	if g == nil {
		g = &grant{lock: p.lock, owner: acq.owner, token: ls.first, lease: ls, sent: p.times}
		if old := l.addGrantLocked(g); old != nil {
			over = slices.Clone(old.holds)
		}
	}
	g.token = max(g.token, ls.first)
	l.holdAllLocked(acq, p, g, trusted)
	if g.gone { // the server has lost it since
		return append(over, p.holds...)
	}
	return over
}

// addGrantLocked notes a grant, and returns the one that its owner had until now, if that is not over. It is gone then.
func (l *Locks) addGrantLocked(g *grant) (old *grant) {
	at := share{g.lock.stateKey, g.owner}
	if old = l.grants[at]; old != nil {
		old.gone = true
		old.decideLocked()
	}
	l.grants[at] = g
	return old
}

// holdAllLocked makes the holds, and notes them in the registry.
func (l *Locks) holdAllLocked(acq *acquisition, p *target, g *grant, trusted time.Time) {
	g.decideLocked()
	for range p.times {
		h := newHold(acq, p, g, trusted)
		if acq.ordered {
			acq.took(&h.Hold)
		} else { // a MultiLock hastens by itself: there may be one connection for both
			l.hurryLocked(h)
		}
		g.holds, p.holds = append(g.holds, h), append(p.holds, h)
		acq.owner.addHold(p.lock.position())
	}
}

func newHold(acq *acquisition, p *target, g *grant, deadline time.Time) *singleHold {
	h := &singleHold{
		Hold:      Hold{base: acq.ctx},
		locks:     p.lock.locks,
		grant:     g,
		lease:     acq.leaseOr(p.lock.locks.lease),
		fixed:     acq.fixed,
		keptAlive: acq.keptAlive,
		since:     time.Now(),
	}
	h.held = h
	h.setDeadlineLocked(deadline)
	if p.outlives != nil {
		h.ctx, h.cancel = outlive(h.base, p.outlives)
	} else {
		h.ctx, h.cancel = context.WithCancelCause(h.base)
	}
	return h
}

// reportGrants reports new holds to the observer. One that has been lost already is reported as that too.
func (l *Locks) reportGrants(acq *acquisition, run []*target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range run {
		for _, h := range p.holds {
			h.reported = true
			l.observer.Acquired(p.lock.kind.is(), h.since.Sub(acq.start), acq.waitedForOthers)
			if h.lost {
				l.observer.Lost(p.lock.kind.is(), time.Since(h.since))
			}
		}
	}
}

// setDeadlineLocked sets until when a hold can be relied on, now that the server has answered. Then it is lost.
func (h *singleHold) setDeadlineLocked(deadline time.Time) {
	h.deadline, h.promised = deadline, time.Now().Add(h.lease)
	if h.expiry != nil {
		h.expiry.Reset(time.Until(deadline))
		return
	}
	h.expiry = time.AfterFunc(time.Until(deadline), func() {
		h.locks.mu.Lock()
		over := h.isOverLocked(time.Now()) // it may have been renewed meanwhile
		h.locks.mu.Unlock()
		if over {
			h.locks.lose([]*singleHold{h})
		}
	})
}

// denied is called when the server answers that it has no grant with this token, or with any if that is 0. It reports whether
// the grant is lost: it is not if the token has risen since, or is rising.
func (l *Locks) denied(g *grant, token int64) bool {
	l.mu.Lock()
	outrun := token != 0 && token != g.lease.first
	l.mu.Unlock()
	if !outrun {
		l.loseGrant(g)
	}
	return !outrun
}

// loseGrant loses all holds of a grant that the server no longer has.
func (l *Locks) loseGrant(g *grant) {
	l.mu.Lock()
	g.gone = true
	holds := slices.Clone(g.holds)
	l.closeGrantLocked(g)
	l.mu.Unlock()
	l.lose(holds)
}

// lose ends holds that are no longer ours, with ErrLost as the cause of their contexts.
func (l *Locks) lose(holds []*singleHold) {
	l.mu.Lock()
	var lost []*singleHold
	for _, h := range slices.Clone(holds) { // dropLocked shortens the slice of a grant
		if l.dropLocked(h) {
			h.lost = true
			lost = append(lost, h)
			if h.reported {
				l.observer.Lost(h.grant.lock.kind.is(), time.Since(h.since))
			}
			l.closeGrantLocked(h.grant)
		}
	}
	l.mu.Unlock()
	for _, h := range lost {
		h.end(ErrLost)
	}
}

// dropLocked removes a hold from the registry, and leaves the grant there. It reports whether the hold was there.
func (l *Locks) dropLocked(h *singleHold) bool {
	g := h.grant
	i := slices.Index(g.holds, h)
	if i < 0 {
		return false
	}
	g.holds = slices.Delete(g.holds, i, i+1)
	h.expiry.Stop()
	g.owner.removeHold(g.lock.position())
	return true
}

// closeGrantLocked ends a grant of which nothing is left, and with it the lease.
func (l *Locks) closeGrantLocked(g *grant) {
	if l.forgetLocked(g) && !g.handedOff {
		l.endLeaseLocked(g.lock, g.lease)
	}
}

// forgetLocked removes a grant from the registry if nothing is left of it, and reports whether it did.
func (l *Locks) forgetLocked(g *grant) bool {
	if !g.gone && g.countLocked()+g.closing > 0 {
		return false
	}
	g.decideLocked()
	if at := (share{g.lock.stateKey, g.owner}); l.grants[at] == g {
		delete(l.grants, at)
	}
	return true
}

// endLeaseLocked notes that this process no longer has a lock, and lets the first in line try.
func (l *Locks) endLeaseLocked(a *lock, ls *lease) {
	st := l.states[a.stateKey]
	if st == nil || st.lease != ls {
		return
	}
	st.lease = nil
	st.wakeHeadLocked()
	l.tidyLocked(a)
}

// reportEnds reports unlocked holds to the observer: as lost if the server no longer had their grant, otherwise as released.
// Holds that were lost before have been reported already.
func (l *Locks) reportEnds(holds []*singleHold, unlocked time.Time, gone []*grant) {
	for _, h := range holds {
		switch held := unlocked.Sub(h.since); {
		case h.lost || !h.reported:
		case slices.Contains(gone, h.grant):
			l.observer.Lost(h.grant.lock.kind.is(), held)
		default:
			l.observer.Released(h.grant.lock.kind.is(), held)
		}
	}
}
