package locking

import (
	"context"
	"slices"
	"time"

	"inventory/internal/locking/internal/cleaner"
)

// reenterLocked lets an acquisition re-enter its owner's grant, if the grant has a hold. A grant that only has re-entries
// under way may still end without a hold.
func (l *Locks) reenterLocked(acq *acquisition, p *part) bool {
	g := l.grantOfLocked(p.lock.stateKey, acq.owner)
	if g == nil || len(g.holds) == 0 {
		return false
	}
	p.reenters, p.lease = g, acq.leaseOr(l.lease)
	g.reentries = append(g.reentries, p)
	g.lease.longest = max(g.lease.longest, p.lease)
	return true
}

// endReentryLocked ends the re-entry of a part, if it has one, and returns its grant.
func (p *part) endReentryLocked() *grant {
	g := p.reenters
	if g != nil {
		g.reentries = slices.DeleteFunc(g.reentries, func(other *part) bool { return other == p })
		p.reenters = nil
	}
	return g
}

// withdrawLocked ends a re-entry that has failed. If the server may count it, the server gets the new count.
func (l *Locks) withdrawLocked(p *part) {
	g := p.endReentryLocked()
	if g == nil || g.gone {
		return
	}
	if g.countLocked() == g.told {
		l.closeGrantLocked(g)
		return
	}
	s := &settlement{
		attempt: l.attempt(), rows: []row{g.rowLocked()}, Task: cleaner.Task{Until: time.Now().Add(g.lease.longest)},
	}
	s.Tried = func() { l.closeGrants(s) }
	l.settleLater(s)
}

// admitLocked makes as many holds as the part wants: of the grant that it re-enters, or of a new one. If it makes a new one,
// an older grant of the owner is gone. It returns the holds that the caller must lose after it has unlocked l.mu.
func (l *Locks) admitLocked(acq *acquisition, p *part, ls *lease, trusted time.Time) (over []*singleHold) {
	g := p.endReentryLocked()
	if g == nil {
		g = &grant{lock: p.lock, owner: acq.owner, token: ls.first, lease: ls, told: p.times}
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

// holdAllLocked makes the holds, and notes them in the registry.
func (l *Locks) holdAllLocked(acq *acquisition, p *part, g *grant, trusted time.Time) {
	g.decideLocked()
	for range p.times {
		h := newHold(acq, p, g, trusted)
		l.deadlines.add(h)
		if !acq.ordered { // a MultiLock hastens by itself: there may be one connection for both
			l.hurryLocked(h)
		}
		g.holds, p.holds = append(g.holds, h), append(p.holds, h)
		acq.took(&h.Hold)
		acq.owner.addHold(p.lock.position())
	}
}

func newHold(acq *acquisition, p *part, g *grant, deadline time.Time) *singleHold {
	h := &singleHold{
		Hold:     Hold{base: acq.ctx},
		owner:    acq.owner,
		locks:    p.lock.locks,
		lock:     p.lock,
		grant:    g,
		lease:    acq.leaseOr(p.lock.locks.lease),
		fixed:    acq.fixed,
		kept:     acq.kept,
		deadline: deadline,
		since:    time.Now(),
	}
	h.held = h
	h.countsLocked(deadline)
	if p.spared != nil {
		h.ctx, h.cancel = outlive(h.base, p.spared)
	} else {
		h.ctx, h.cancel = context.WithCancelCause(h.base)
	}
	return h
}
