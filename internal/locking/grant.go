package locking

import (
	"context"
	"slices"
	"time"

	"inventory/internal/locking/internal/scripts"
)

func (h *singleHold) ownerName() string { return h.locks.process + ":" + h.grant.owner.id }

func (h *singleHold) token() int64 {
	h.locks.mu.Lock()
	defer h.locks.mu.Unlock()
	return h.grant.token
}

func (h *singleHold) remaining() time.Duration {
	h.locks.mu.Lock()
	defer h.locks.mu.Unlock()
	if h.lost || h.unlocked {
		return 0
	}
	return max(0, time.Until(h.deadline))
}

func (h *singleHold) count() int {
	h.locks.mu.Lock()
	defer h.locks.mu.Unlock()
	return len(h.grant.holds)
}

func (h *singleHold) isLost() bool {
	h.locks.mu.Lock()
	defer h.locks.mu.Unlock()
	return !h.unlocked && (h.lost || h.isOverLocked(time.Now()))
}

// endLocked returns the row that gives a grant back, if nothing is left of it. After the server's answer closeGrants must follow.
func (g *grant) endLocked() (row releaseRow, ok bool) {
	if len(g.holds)+g.joining > 0 || g.closing || g.gone {
		return releaseRow{}, false
	}
	g.closing = true
	return releaseRow{lock: g.lock, grant: g, id: g.id}, true
}

// giveBackLocked has a grant given back in the background, after a pause, if nothing is left of it.
func (l *Locks) giveBackLocked(g *grant, pause time.Duration) {
	row, ok := g.endLocked()
	if !ok {
		return
	}
	s := &releaseCall{rows: []releaseRow{row}, until: time.Now().Add(g.longest)}
	l.addTombstones(s, []int64{g.resent}, 2*g.longest)
	time.AfterFunc(pause, func() { l.releaseLater(s) })
}

// reenterLocked lets an acquisition re-enter its owner's grant, also one that has no hold just now, and that another call may join:
// the server still has it, or says so.
func (l *Locks) reenterLocked(acq *acquisition, p *target) bool {
	g := l.grantOfLocked(p.lock.stateKey, acq.owner)
	if g == nil {
		return false
	}
	p.reenters = g
	g.joining++
	if lease := acq.leaseOr(l.lease); lease > g.longest {
		g.longest = lease
		g.dropReserveLocked()
	}
	return true
}

// joinLocked ends a caller's way to a grant that this process has. It gets its hold, unless the grant is gone or it comes too late.
func (l *Locks) joinLocked(acq *acquisition, p *target, g *grant, trusted time.Time) bool {
	g.joining--
	if g.gone || !time.Now().Before(trusted) {
		l.giveBackLocked(g, 0)
		return false
	}
	l.holdLocked(acq, p, g, trusted)
	return true
}

// admitLocked makes the hold of a new grant. An older grant of the owner is gone: it returns the holds
// that the caller must lose after it has unlocked l.mu.
func (l *Locks) admitLocked(acq *acquisition, p *target, g *grant, trusted time.Time) (over []*singleHold) {
	if old := l.addGrantLocked(g); old != nil {
		over = slices.Clone(old.holds)
	}
	l.holdLocked(acq, p, g, trusted)
	return over
}

// addGrantLocked notes a grant, and returns the one that its owner had until now, if that is not over. It is gone then.
func (l *Locks) addGrantLocked(g *grant) (old *grant) {
	at := share{g.lock.stateKey, g.owner}
	if old = l.grants[at]; old != nil {
		old.gone = true
	}
	l.grants[at] = g
	return old
}

// holdLocked makes a hold, and notes it in the registry.
func (l *Locks) holdLocked(acq *acquisition, p *target, g *grant, trusted time.Time) {
	p.hold = newHold(acq, p, g, trusted)
	if !acq.ordered && p.hold.isLateLocked() { // the answer took long; a MultiLock hastens by itself
		signal(l.hurry)
	}
	g.holds = append(g.holds, p.hold)
	acq.owner.addHold(p.lock.position())
	l.observer.Acquired(p.lock.kind.is(), p.hold.since.Sub(acq.start), acq.waitedForOthers)
}

func newHold(acq *acquisition, p *target, g *grant, deadline time.Time) *singleHold {
	h := &g.first
	if h.locks != nil { // it is in use
		h = &singleHold{}
	}
	*h = singleHold{
		Hold:  Hold{base: acq.ctx},
		locks: p.lock.locks,
		grant: g,
		lease: acq.leaseOr(p.lock.locks.lease),
		fixed: acq.fixed,
		waits: acq.waits,
		late:  g.told,
		since: time.Now(),
	}
	h.held, h.alone[0], h.usual = h, h, end{&h.Hold, context.Canceled}
	h.setDeadlineLocked(deadline)
	if f, ok := p.lock.kind.(*fifo); ok && f.outlivesLocked(acq.owner) != nil {
		h.ctx, h.cancel = outlive(h.base, f.outlivesLocked(acq.owner))
	} else {
		h.ctx, h.cancel = context.WithCancelCause(h.base)
	}
	return h
}

// outlivesLocked returns which holds' end does not end a new hold of an owner. A reader goes on when its owner's writer is
// unlocked, though its context may be made from the writer's.
func (f *fifo) outlivesLocked(who *owner) func(*Hold) bool {
	l := f.locks
	if f.side != scripts.Read || l.grantOfLocked(f.otherKey, who) == nil {
		return nil
	}
	return func(h *Hold) bool {
		return slices.ContainsFunc(singlesOf([]*Hold{h}), func(s *singleHold) bool {
			return s.locks == l && s.grant.lock.stateKey == f.otherKey
		})
	}
}

// setDeadlineLocked sets until when a hold can be relied on, now that the server has answered. Then it is lost.
func (h *singleHold) setDeadlineLocked(deadline time.Time) {
	h.deadline = deadline
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
			l.giveBackLocked(h.grant, h.lease-trust(h.lease)) // when its lease is over at the server, which may have a longer one
			l.observer.Lost(h.grant.lock.kind.is(), time.Since(h.since))
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
	h.stepBackLocked()
	return true
}

func (h *singleHold) stepBack() {
	h.locks.mu.Lock()
	defer h.locks.mu.Unlock()
	h.stepBackLocked()
}

func (h *singleHold) stepBackLocked() {
	if !h.back {
		h.back = true
		h.grant.owner.removeHold(h.grant.lock.position())
	}
}

// reportEnds reports unlocked holds to the observer: as lost if the server no longer had their grant, otherwise as released.
// Holds that were lost before have been reported already.
func (l *Locks) reportEnds(holds []*singleHold, unlocked time.Time, gone []*grant) {
	for _, h := range holds {
		switch held := unlocked.Sub(h.since); {
		case h.lost:
		case slices.Contains(gone, h.grant):
			l.observer.Lost(h.grant.lock.kind.is(), held)
		default:
			l.observer.Released(h.grant.lock.kind.is(), held)
		}
	}
}
