package locking

import (
	"slices"
	"time"

	"inventory/internal/locking/internal/scripts"
)

// The registry is what this process knows of its locks: what it holds, and who waits for what. It is kept under
// Locks.mu.

// A lockState is what this process knows of one lock, while anything goes on there.
type lockState struct {
	grants      grantSet
	lease       *lease       // this process holds the lock; it may pass between owners
	handingOff  bool         // the holder is handing it off by a round trip
	wakePending bool         // a wake-up came while that went on
	waiters     []*waiter    // first come, first served
	queued      bool         // the process may be in the server's queue, or may have its reservation
	asking      []*fifoAsker // just now

	firstWaiter [1]*waiter // where waiters begins: most lock states are small
}

// A grant is one time that an owner has a lock, from free to held to free. It has one token, and an id of its own at
// the server, that of its lease. So a script call about one grant cannot touch another, not even one of the same owner.
//
// The server is told how many holds a grant has, re-entries under way included, and for how long it must live. Both are
// read and numbered under Locks.mu, so a later number is a later truth. Nothing is said with an older number, and
// nothing frees the lock while a re-entry may become a hold.
type grant struct {
	lock      *lock
	owner     *owner
	token     int64
	holds     []*Hold
	reentries []*reentry
	told      int  // how many holds and re-entries the server was last told of
	gone      bool // the server no longer has it
	handedOff bool // its lease has gone on to the next owner
	lease     *lease

	firstHold [1]*Hold // where the slice begins
}

// A reentry is a further hold of a grant, while the server is asked for it.
type reentry struct {
	grant *grant
	times int
	lease time.Duration
}

// A lease is one time that this process has a lock at the server. It begins with a script call, and can pass from owner
// to owner, each of which gets a grant.
type lease struct {
	id        any   // of the holder, a string, as the server knows it: no other lease has had it, or will
	first     int64 // its token, as the server has it: the first of those that the last script call brought; 0 if in doubt
	duration  time.Duration
	longest   time.Duration // the longest lease that the server was told of
	shortened bool          // the server was told of a shorter one since the last script call that began a lease
	resent    int64         // the attempt that took it, if a copy of that may still arrive; else 0

	raising int   // how many calls are about to give it a higher token
	raised  int64 // the highest that they gave it
	unsure  bool  // one of them had no answer

	next, last int64     // tokens in reserve
	begun      time.Time // when the last script was sent
	handoffs   int       // since other processes last had the chance to get the lock
	turnBegun  time.Time // when they had that chance
}

// stateOfLocked returns the lock state of a lock.
func (l *Locks) stateOfLocked(a *lock) *lockState {
	st := l.states[a.stateKey]
	if st == nil {
		st = &lockState{}
		st.waiters = st.firstWaiter[:0]
		l.states[a.stateKey] = st
	}
	return st
}

// tidyLocked forgets a lock state with nothing in it.
func (l *Locks) tidyLocked(a *lock) {
	if st := l.states[a.stateKey]; st != nil && st.grants.len() == 0 && len(st.waiters) == 0 && len(st.asking) == 0 && st.lease == nil {
		delete(l.states, a.stateKey)
	}
}

// grantOfLocked returns what an owner has of the lock with a state key, or nil.
func (l *Locks) grantOfLocked(state string, who *owner) *grant {
	if st := l.states[state]; st != nil {
		return st.grants.of(who)
	}
	return nil
}

// countLocked is how many holds the server must know of, re-entries under way included.
func (g *grant) countLocked() int {
	n := len(g.holds)
	for _, c := range g.reentries {
		n += c.times
	}
	return n
}

// longestLocked is for how long the lock must live from now on. A hold that is renewed, or kept by a MultiLock, needs its
// whole lease: a renewal may overtake the release that says so. Any other hold needs what is left of its lease.
func (g *grant) longestLocked() time.Duration {
	longest := time.Millisecond
	for _, h := range g.holds {
		longest = max(longest, h.lifeLocked())
	}
	for _, c := range g.reentries {
		longest = max(longest, c.lease)
	}
	return longest
}

// lifeLocked is how long the server must keep the lock for a hold from now on.
func (h *Hold) lifeLocked() time.Duration {
	if h.wantsRenewalLocked() || h.kept {
		return h.lease
	}
	return min(h.lease, leaseFor(time.Until(h.deadline)))
}

// rowLocked is what a release tells the server of the grant from now on.
func (g *grant) rowLocked() row {
	r := row{id: g.lease.id, count: g.countLocked(), longest: g.longestLocked(), queue: scripts.QueueStay}
	g.told = r.count
	g.lease.shortened = g.lease.shortened || r.longest < g.lease.duration
	return r
}

// reenterLocked lets an acquisition re-enter the grant of its owner, if that has a hold: a grant that only re-entries
// keep may come to nothing.
func (l *Locks) reenterLocked(acq *acquisition, p *part) bool {
	g := l.grantOfLocked(p.lock.stateKey, acq.owner)
	if g == nil || len(g.holds) == 0 {
		return false
	}
	p.reentry = &reentry{grant: g, times: p.times, lease: acq.leaseOr(l.lease)}
	g.reentries = append(g.reentries, p.reentry)
	g.lease.longest = max(g.lease.longest, p.reentry.lease)
	return true
}

// endReentryLocked ends the re-entry of a part, if it has one, and returns its grant.
func (p *part) endReentryLocked() *grant {
	if p.reentry == nil {
		return nil
	}
	g := p.reentry.grant
	g.reentries = slices.DeleteFunc(g.reentries, func(c *reentry) bool { return c == p.reentry })
	p.reentry = nil
	return g
}

// withdrawLocked ends a re-entry that has come to nothing. If the server may count it, the server is told.
func (l *Locks) withdrawLocked(p *part) {
	g := p.endReentryLocked()
	if g == nil || g.gone {
		return
	}
	if g.countLocked() != g.told {
		l.settleLater(&settlement{
			locks: []*lock{g.lock}, attempt: l.attempt(), rows: []row{g.rowLocked()}, until: time.Now().Add(g.lease.longest),
		})
	}
	l.closeGrantLocked(g)
}

// closeGrantLocked ends a grant of which nothing is left, and with it the lease.
func (l *Locks) closeGrantLocked(g *grant) {
	if l.forgetLocked(g) && !g.handedOff {
		l.endLeaseLocked(g.lock, g.lease)
	}
}

// forgetLocked takes a grant out of the registry if nothing is left of it, and tells whether it did.
func (l *Locks) forgetLocked(g *grant) bool {
	if !g.gone && g.countLocked() > 0 {
		return false
	}
	if st := l.states[g.lock.stateKey]; st != nil {
		st.grants.remove(g)
		l.tidyLocked(g.lock)
	}
	return true
}

// admitLocked makes as many holds as the part wants: of the grant that it re-enters, or of a new one. A grant that its
// owner had until now is gone then. It returns the holds that the caller must lose after it has unlocked l.mu.
func (l *Locks) admitLocked(acq *acquisition, p *part, ls *lease, trusted time.Time) (over []*Hold) {
	st := l.stateOfLocked(p.lock)
	g := p.endReentryLocked()
	if g == nil {
		if old := st.grants.of(acq.owner); old != nil {
			old.gone = true
			over = slices.Clone(old.holds)
			st.grants.remove(old)
		}
		g = &grant{lock: p.lock, owner: acq.owner, token: ls.first, lease: ls, told: p.times}
		st.grants.add(g)
	}
	g.token = max(g.token, ls.first)
	l.holdAllLocked(acq, p, g, trusted)
	if g.gone { // the server has lost it since
		return append(over, p.holds...)
	}
	return over
}

// holdAllLocked makes the holds.
func (l *Locks) holdAllLocked(acq *acquisition, p *part, g *grant, trusted time.Time) {
	for range p.times {
		h := l.newHoldLocked(acq, p, g, trusted)
		p.holds = append(p.holds, h)
		acq.taken = append(acq.taken, h)
	}
}

// dropLocked takes a hold out of the registry. It tells whether it was there.
func (l *Locks) dropLocked(h *Hold) bool {
	g := h.grant
	i := slices.Index(g.holds, h)
	if i < 0 {
		return false
	}
	g.holds = slices.Delete(g.holds, i, i+1)
	l.forgetLocked(g)
	l.removeDeadlineLocked(h)
	h.owner.removeHold(h.lock.order)
	return true
}

// lose ends holds that are no longer ours, and says so in their contexts.
func (l *Locks) lose(holds []*Hold) {
	l.mu.Lock()
	var lost []*Hold
	for _, h := range slices.Clone(holds) { // dropLocked shortens the slice of a grant
		if l.dropLocked(h) {
			h.lost = true
			lost = append(lost, h)
			l.observer.Lost(h.lock.kind.name(), time.Since(h.since))
			l.closeGrantLocked(h.grant)
		}
	}
	l.mu.Unlock()
	for _, h := range lost {
		h.end(ErrLost)
	}
}

// denied is called when the server says that it knows no grant with this token. It tells whether the grant is lost: it
// is not if the token has risen since, or is rising.
func (l *Locks) denied(g *grant, token int64) bool {
	l.mu.Lock()
	outrun := g.lease.outrunLocked(token)
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

// endLeaseLocked notes that this process no longer has a lock, and lets the first in line try.
func (l *Locks) endLeaseLocked(a *lock, ls *lease) {
	st := l.states[a.stateKey]
	if st == nil || st.lease != ls {
		return
	}
	st.lease, st.handingOff = nil, false
	st.wakeHeadLocked()
	l.tidyLocked(a)
}
