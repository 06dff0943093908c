package locking

import (
	"context"
	"slices"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// A grant is one time that an owner has a lock. It has one token, and a lease with an id of its own at the server, so that a script
// call about one lease cannot touch another, not even one of the same owner. The lease begins with a script call. An owner that
// unlocks may hand it on to the next one of this process, whose grant goes on with it.
//
// The server knows a lease, and not how many holds it has: those are counted here. A re-entry renews the lease, and the end of the
// last hold gives it back, unless a caller is under way that may still get a hold.
type grant struct {
	lock    *lock
	owner   *owner
	token   int64
	holds   []*singleHold
	joining int  // how many callers may still get a hold: they re-enter, or were handed the lock
	closing bool // it is being given back
	gone    bool // the server no longer has it

	// The lease.
	id         string // as whom the server knows the holder: no other lease has had this id, or will
	duration   time.Duration
	longest    time.Duration // the longest that the server has got
	resent     int64         // the attempt that took it, if a copy of that may still arrive; otherwise 0
	next, last int64         // tokens in reserve, for the next owners of this process
	begun      time.Time     // when the script was sent that took it
	came       time.Time     // when its answer came
}

// dropReserveLocked keeps the lease from other owners, because its token rises, or the server has got another duration.
func (g *grant) dropReserveLocked() { g.next, g.last = 0, -1 }

// trust is how long after the start of an attempt its lease can be relied on. It is less than the lease: the two clocks
// may run at slightly different speeds, and the end of a context takes a moment to be noticed.
func trust(lease time.Duration) time.Duration { return lease - lease/100 - 2*time.Millisecond }

// A singleHold is a hold of a single lock. What may change is guarded by Locks.mu.
type singleHold struct {
	Hold
	locks    *Locks
	grant    *grant
	since    time.Time
	lease    time.Duration
	fixed    bool        // the watchdog does not renew it
	deadline time.Time   // until when it can be relied on
	expiry   *time.Timer // loses it then
	lost     bool
	unlocked bool // Unlock has been called
}

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

// isOverLocked reports whether the time of a hold is over, also if nobody has noticed that yet.
func (h *singleHold) isOverLocked(now time.Time) bool { return !now.Before(h.deadline) }

// wantsRenewalLocked reports whether the watchdog renews a hold. After its context has ended, most of its lease is left for Unlock.
func (h *singleHold) wantsRenewalLocked() bool { return !h.fixed && h.ctx.Err() == nil }

// isLateLocked reports whether a hold that the watchdog renews has less left than the next turn needs.
func (h *singleHold) isLateLocked() bool {
	return h.wantsRenewalLocked() && time.Until(h.deadline) < h.lease-policy.AfterRenewal(h.lease, true)
}

// carries reports whether the server has this token or a higher one for the hold's lock.
func (h *singleHold) carries(token int64) bool { return h.token() >= token }

// singlesOf returns the holds of single locks that these holds consist of.
func singlesOf(holds []*Hold) []*singleHold {
	var singles []*singleHold
	for _, h := range holds {
		if s, ok := h.held.(*singleHold); ok {
			singles = append(singles, s)
		}
		singles = append(singles, singlesOf(h.parts)...)
	}
	return singles
}

// A releaseCall gives back some locks of one bucket and kind at the server.
type releaseCall struct {
	rows         []releaseRow // one for each lock
	attempt      scripts.Attempt
	tombstone    int64 // the attempt to cancel
	tombstoneFor time.Duration

	// If the cleaner makes the call:
	until    time.Time     // it is repeated until then; zero: it is tried once
	leaver   *waiter       // who is out of the line after the first try; may be nil
	done     chan struct{} // closed after the first try
	finished bool          // it needs no repetition
}

// A releaseRow is what a releaseCall says about one lock.
type releaseRow struct {
	lock  *lock
	grant *grant // what it gives back; may be nil
	id    string // as whom the server knows the holder; empty for none
	queue string // what to do about the queue; empty for nothing
}

// key is a key of the call, which determines the node.
func (s *releaseCall) key() string { return s.rows[0].lock.stateKey }

// call returns a new script call for each try.
func (s *releaseCall) call() scripts.Call { return s.rows[0].lock.kind.releasing(s) }

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
	if !acq.ordered { // a MultiLock hastens by itself
		l.hurryLocked(p.hold)
	}
	g.holds = append(g.holds, p.hold)
	acq.owner.addHold(p.lock.position())
	l.observer.Acquired(p.lock.kind.is(), p.hold.since.Sub(acq.start), acq.waitedForOthers)
}

func newHold(acq *acquisition, p *target, g *grant, deadline time.Time) *singleHold {
	h := &singleHold{
		Hold:  Hold{base: acq.ctx},
		locks: p.lock.locks,
		grant: g,
		lease: acq.leaseOr(p.lock.locks.lease),
		fixed: acq.fixed,
		since: time.Now(),
	}
	h.held = h
	h.setDeadlineLocked(deadline)
	if f, ok := p.lock.kind.(*fifo); ok && f.outlivesLocked(acq.owner) != nil {
		h.ctx, h.cancel = outlive(h.base, f.outlivesLocked(acq.owner))
	} else {
		h.ctx, h.cancel = context.WithCancelCause(h.base)
	}
	return h
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
	g.owner.removeHold(g.lock.position())
	return true
}

// closeGrantLocked forgets a grant of which nothing is left. If this process no longer has the lock, the first in line may try.
func (l *Locks) closeGrantLocked(g *grant) {
	if !g.gone && (len(g.holds)+g.joining > 0 || g.closing) {
		return
	}
	if at := (share{g.lock.stateKey, g.owner}); l.grants[at] == g {
		delete(l.grants, at)
	}
	if st := l.states[g.lock.stateKey]; st != nil && st.grant == g {
		st.grant = nil
		st.wakeHeadLocked()
		l.tidyLocked(g.lock.stateKey)
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
