package locking

import (
	"slices"
	"time"

	"inventory/internal/locking/internal/cleaner"
)

// A grant is one time that an owner has a lock, from free to held to free. It has one token, and an id of its own at
// the server, that of its lease. So a script call about one grant cannot touch another, not even one of the same owner.
//
// The server gets how many holds a grant has, with re-entries under way, and for how long it must live. Both are read and
// numbered under Locks.mu, so a larger number is newer. The server ignores older numbers, and nothing frees the lock while a
// re-entry may become a hold.
type grant struct {
	lock      *lock
	owner     *owner
	token     int64
	holds     []*singleHold
	reentries []*reentry
	sent      int  // how many holds and re-entries the last script call counted
	closing   int  // how many calls are under way that count none
	gone      bool // the server no longer has it
	handedOff bool // its lease has gone on to the next owner
	lease     *lease
	decided   chan struct{} // closed when a grant without holds gets one, or is over; nil if nobody waits for that
}

// A reentry is further holds of a grant, while the server is asked for them.
type reentry struct {
	grant *grant
	times int
	lease time.Duration
}

// countLocked is how many holds the server must know of, re-entries under way included.
func (g *grant) countLocked() int {
	n := len(g.holds)
	for _, r := range g.reentries {
		n += r.times
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
	for _, r := range g.reentries {
		longest = max(longest, r.lease)
	}
	return longest
}

// lifeLocked is how long the server must keep the lock for a hold from now on: not a millisecond less than it has promised.
func (h *singleHold) lifeLocked() time.Duration {
	if h.wantsRenewalLocked() || h.keptAlive {
		return h.lease
	}
	const rounding = 2 * time.Millisecond // the server counts in whole ones, and so does the call
	return min(h.lease, time.Until(h.deadline)+h.lease-trust(h.lease)+h.late+rounding)
}

// countsLocked notes what a lease is counted by, when the answer of the server has come.
func (h *singleHold) countsLocked(deadline time.Time) {
	h.late = time.Since(deadline.Add(-trust(h.lease)))
}

// A lease is one time that this process has a lock at the server. It begins with a script call, and can pass from owner
// to owner, each of which gets a grant.
type lease struct {
	id        string // of the holder, as the server knows it: no other lease has had it, or will
	first     int64  // its token, as the server has it: the first of those that the last script call brought; 0 if in doubt
	duration  time.Duration
	longest   time.Duration // the longest lease that the server has got
	shortened bool          // the server has got a shorter one since the last script call that began a lease
	resent    int64         // the attempt that took it, if a copy of that may still arrive; otherwise 0

	raising int   // how many calls are about to give it a higher token
	raised  int64 // the highest that they gave it
	unsure  bool  // one of them had no answer

	next, last int64     // tokens in reserve
	begun      time.Time // when the last script was sent
	handoffs   int       // since other processes last had a chance to get the lock
	turnBegun  time.Time // when they had that chance
}

// raiseBeginsLocked notes that the token is about to rise. From now on those in reserve may be below it, and until the
// answer comes nobody knows which one the server has.
func (ls *lease) raiseBeginsLocked() {
	ls.next, ls.last = 0, -1
	ls.first = 0
	ls.raising++
}

// raiseEndsLocked notes the new token; 0 if it is not known.
func (ls *lease) raiseEndsLocked(token int64) {
	ls.raising--
	ls.unsure = ls.unsure || token == 0
	ls.raised = max(ls.raised, token)
	if ls.raising == 0 && !ls.unsure {
		ls.first = ls.raised
	}
}

// trust is how long after the start of an attempt its lease can be relied on. It is less than the lease: the two clocks
// may run at slightly different speeds, and the end of a context takes a moment to be noticed.
func trust(lease time.Duration) time.Duration { return lease - lease/100 - 2*time.Millisecond }

// A registry is what this process knows of its locks: what it holds, and who waits for what. Guarded by Locks.mu.
type registry struct {
	states    map[string]*lockState // of mutexes, by state key
	grants    map[share]*grant
	asking    map[share]siblings // callers that are asking the server for a first-come lock
	tickets   tickets
	deadlines deadlines
}

// A share is what one owner has to do with one lock.
type share struct {
	state string
	owner *owner
}

// siblings are callers of one owner that ask for the same lock.
type siblings struct {
	count int
	over  chan struct{} // closed when the next of them no longer asks; nil if nobody waits for that
}

// A lockState is what this process knows of one mutex, while it holds it or waits for it.
type lockState struct {
	lease       *lease    // this process holds the lock; it may pass between owners
	handingOff  bool      // the holder is handing it off by a round trip
	wakePending bool      // a wake-up came while that went on
	waiters     []*waiter // first come, first served
	queued      bool      // the process may be in the server's queue, or may have its reservation
	placed      bool      // the server has said that it is in the queue
	called      bool      // a wake-up has come since
}

// stateOfLocked returns the lock state of a lock.
func (l *Locks) stateOfLocked(a *lock) *lockState {
	st := l.states[a.stateKey]
	if st == nil {
		st = &lockState{}
		l.states[a.stateKey] = st
	}
	return st
}

// tidyLocked forgets a lock state with nothing in it.
func (l *Locks) tidyLocked(a *lock) {
	if st := l.states[a.stateKey]; st != nil && len(st.waiters) == 0 && st.lease == nil {
		delete(l.states, a.stateKey)
	}
}

// grantOfLocked returns what an owner has of the lock with a state key, or nil.
func (l *Locks) grantOfLocked(state string, who *owner) *grant {
	if g := l.grants[share{state, who}]; g != nil && g.countLocked() > 0 {
		return g
	}
	return nil
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

// undecidedLocked returns what to wait for while an owner has a grant without a hold: the release is under way, or a
// re-entry. The server answers busy then, although no other owner is in the way.
func (l *Locks) undecidedLocked(state string, who *owner) <-chan struct{} {
	g := l.grants[share{state, who}]
	if g == nil || len(g.holds) > 0 {
		return nil
	}
	if g.decided == nil {
		g.decided = make(chan struct{})
	}
	return g.decided
}

// decideLocked wakes the callers that wait for the outcome of a grant.
func (g *grant) decideLocked() {
	if g.decided != nil {
		close(g.decided)
		g.decided = nil
	}
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

// dropLocked removes a hold from the registry, and leaves the grant there. It reports whether the hold was there.
func (l *Locks) dropLocked(h *singleHold) bool {
	g := h.grant
	i := slices.Index(g.holds, h)
	if i < 0 {
		return false
	}
	g.holds = slices.Delete(g.holds, i, i+1)
	l.deadlines.remove(h)
	g.owner.removeHold(g.lock.position())
	return true
}

// lose ends holds that are no longer ours, with ErrLost as the cause of their contexts.
func (l *Locks) lose(holds []*singleHold) {
	l.mu.Lock()
	var lost []*singleHold
	var actions []func()
	for _, h := range slices.Clone(holds) { // dropLocked shortens the slice of a grant
		if l.dropLocked(h) {
			h.lost = true
			lost = append(lost, h)
			if h.afterLoss != nil {
				actions = append(actions, h.afterLoss)
			}
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
	for _, act := range actions {
		act()
	}
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

// meetDeadlines loses the holds whose time is over.
func (l *Locks) meetDeadlines() {
	l.mu.Lock()
	over := l.deadlines.take(time.Now())
	l.mu.Unlock()
	l.lose(over)
}

// wakeHeadLocked lets the first in line look again. While the lock is handed off, that one must not ask: it is woken
// once more afterwards.
func (st *lockState) wakeHeadLocked() {
	st.wakePending = st.handingOff
	if len(st.waiters) > 0 {
		st.waiters[0].wakeLocked()
	}
}

// giveUpLeaseLocked releases these holder ids at the server in the background, and ends the lease.
func (l *Locks) giveUpLeaseLocked(a *lock, ls *lease, ids ...string) {
	s := &releaseCall{attempt: l.attempt(), Task: cleaner.Task{Until: time.Now().Add(ls.longest)}}
	for _, id := range ids {
		s.rows = append(s.rows, releaseRow{lock: a, id: id})
	}
	l.addTombstones(s, []int64{ls.resent}, 2*ls.duration)
	l.releaseLater(s)
	l.endLeaseLocked(a, ls)
}

// deadlines holds the deadlines of a process's holds, the next one first, with one timer for all. Most holds end long before
// their deadline, which then costs nothing. Guarded by Locks.mu.
type deadlines struct {
	holds []*singleHold // by deadline
	fire  func()
	timer *time.Timer
	next  time.Time // when the timer fires; zero when it does not
}

// place returns the index of the first deadline that is not before a moment.
func (d *deadlines) place(at time.Time) int {
	i, _ := slices.BinarySearchFunc(d.holds, at, func(h *singleHold, at time.Time) int { return h.deadline.Compare(at) })
	return i
}

// add notes a hold's deadline.
func (d *deadlines) add(h *singleHold) {
	d.holds = slices.Insert(d.holds, d.place(h.deadline), h)
	d.arm()
}

// remove removes a hold, and reports whether it was there.
func (d *deadlines) remove(h *singleHold) bool {
	for i := d.place(h.deadline); i < len(d.holds) && d.holds[i].deadline.Equal(h.deadline); i++ {
		if d.holds[i] == h {
			d.holds = slices.Delete(d.holds, i, i+1)
			return true
		}
	}
	return false
}

// move gives a hold another deadline.
func (d *deadlines) move(h *singleHold, deadline time.Time) {
	there := d.remove(h)
	if h.deadline = deadline; there {
		d.add(h)
	}
}

// arm makes sure that the timer fires for the next one. It may fire earlier, for nothing.
func (d *deadlines) arm() {
	if len(d.holds) == 0 || !d.next.IsZero() && !d.holds[0].deadline.Before(d.next) {
		return
	}
	d.next = d.holds[0].deadline
	if d.timer == nil {
		d.timer = time.AfterFunc(time.Until(d.next), d.fire)
		return
	}
	d.timer.Reset(time.Until(d.next))
}

// take removes the holds whose time is over, when the timer has fired.
func (d *deadlines) take(now time.Time) (over []*singleHold) {
	n := d.place(now.Add(1))
	over = slices.Clone(d.holds[:n])
	d.holds = slices.Delete(d.holds, 0, n)
	d.next = time.Time{}
	d.arm()
	return over
}
