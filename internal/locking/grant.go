package locking

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
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
	reentries []*target // what re-enters it, while the server is asked
	sent      int       // how many holds and re-entries the last script call counted
	closing   int       // how many calls are under way that count none
	gone      bool      // the server no longer has it
	handedOff bool      // its lease has gone on to the next owner
	lease     *lease
	decided   chan struct{} // closed when a grant without holds gets one, or is over; nil if nobody waits for that
}

// countLocked is how many holds the server must know of, re-entries under way included.
func (g *grant) countLocked() int {
	return len(g.holds) + len(g.reentries)
}

// longestLocked is for how long the lock must live from now on. A hold that is renewed needs its whole lease: a renewal may
// overtake the release that says so. Any other hold needs what is left of its lease.
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

// decideLocked wakes the callers that wait for the outcome of a grant.
func (g *grant) decideLocked() {
	if g.decided != nil {
		close(g.decided)
		g.decided = nil
	}
}

// A lease is one time that this process has a lock at the server. It begins with a script call, and can pass from owner
// to owner, each of which gets a grant.
type lease struct {
	id       string // as whom the server knows the holder: no other lease has had this id, or will
	first    int64  // its token, as the server has it: the first of those that the script call brought; 0 if in doubt
	duration time.Duration
	longest  time.Duration // the longest lease that the server has got
	resent   int64         // the attempt that took it, if a copy of that may still arrive; otherwise 0

	raising int   // how many calls are about to give it a higher token
	raised  int64 // the highest that they gave it
	unsure  bool  // one of them had no answer

	next, last int64     // tokens in reserve, for the next owners of this process
	begun      time.Time // when the script was sent that took it
	came       time.Time // when its answer came
}

// dropReserveLocked lets the lease pass to no other owner, because its token rises, or the server has got another duration.
func (ls *lease) dropReserveLocked() { ls.next, ls.last = 0, -1 }

// trust is how long after the start of an attempt its lease can be relied on. It is less than the lease: the two clocks
// may run at slightly different speeds, and the end of a context takes a moment to be noticed.
func trust(lease time.Duration) time.Duration { return lease - lease/100 - 2*time.Millisecond }

// A singleHold is a hold of a single lock. What may change is guarded by Locks.mu.
type singleHold struct {
	Hold
	locks        *Locks
	grant        *grant
	since        time.Time
	lease        time.Duration
	fixed        bool        // the watchdog does not renew it
	deadline     time.Time   // until when it can be relied on
	expiry       *time.Timer // loses it then
	promised     time.Time   // no later has the server promised to keep the lock for it
	leftToExpire bool        // it was renewed once more after its context had ended, and will not be again
	lost         bool
	unlocked     bool // Unlock has been called
	reported     bool // the Observer knows of it
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

// wantsRenewalLocked reports whether the watchdog renews a hold.
func (h *singleHold) wantsRenewalLocked() bool { return !h.fixed && !h.leftToExpire }

// isLateLocked reports whether a hold that the watchdog renews has less left than the next turn needs.
func (h *singleHold) isLateLocked() bool {
	return h.wantsRenewalLocked() && time.Until(h.deadline) < h.lease-policy.AfterRenewal(h.lease, true)
}

// lifeLocked is how long the server must keep the lock for a hold from now on: not a millisecond less than it has promised.
func (h *singleHold) lifeLocked() time.Duration {
	if h.wantsRenewalLocked() {
		return h.lease
	}
	const rounding = 2 * time.Millisecond // the server counts in whole ones, and so does the call
	return min(h.lease, time.Until(h.promised)+rounding)
}

// carries reports whether the server has this token or a higher one for the hold's lock.
func (h *singleHold) carries(token int64) bool {
	h.locks.mu.Lock()
	known := h.grant.lease.first
	h.locks.mu.Unlock()
	return known >= token
}

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

// A releaseCall sets at the server how often holders have some locks of one bucket and kind.
type releaseCall struct {
	rows         []releaseRow     // one for each lock
	attempt      *scripts.Attempt // nil if no count changes
	tombstone    int64            // the attempt to cancel
	tombstoneFor time.Duration

	// If the cleaner makes the call:
	until    time.Time         // it is repeated until then; zero: it is tried once
	leaver   *waiter           // who is out of the line after the first try; may be nil
	closed   bool              // its grants have been closed, or the line left
	answer   chan<- *redis.Cmd // with room for one; receives the server's answer; may be nil
	done     chan struct{}     // closed after the first try
	finished bool              // it needs no repetition
}

// A releaseRow is what a releaseCall says about one lock.
type releaseRow struct {
	lock    *lock
	grant   *grant // what the row is about; may be nil
	id      string // as whom the server knows the holder; empty for none
	count   int
	longest time.Duration
	queue   string // what to do about the queue; empty for nothing
}

// number is the attempt as scripts take it: 0 if no count changes.
func (s *releaseCall) number() any {
	if s.attempt == nil {
		return 0
	}
	return s.attempt
}

// key is a key of the call, which determines the node.
func (s *releaseCall) key() string { return s.rows[0].lock.stateKey }

// call returns a new script call for each try.
func (s *releaseCall) call() scripts.Call { return s.rows[0].lock.kind.releasing(s) }

// rowLocked returns the row of a release for a grant. After the server's answer closeGrants must follow. A grant that was handed
// off has no id any more: its lease is another owner's.
func (g *grant) rowLocked() releaseRow {
	r := releaseRow{lock: g.lock, grant: g, count: g.countLocked(), longest: g.longestLocked()}
	g.sent = r.count
	if r.count == 0 {
		g.closing++
	}
	if !g.handedOff {
		r.id = g.lease.id
		if r.longest < g.lease.duration {
			g.lease.dropReserveLocked()
		}
	}
	return r
}

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
		return 1, ""
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

// admitLocked makes the hold of a target: of the grant that it re-enters, or of a new one. If it makes a new one, an older grant
// of the owner is gone. It returns the holds that the caller must lose after it has unlocked l.mu.
func (l *Locks) admitLocked(acq *acquisition, p *target, ls *lease, trusted time.Time) (over []*singleHold) {
	g := p.endReentryLocked()
	if g == nil {
		g = &grant{lock: p.lock, owner: acq.owner, token: ls.first, lease: ls, sent: 1}
		if old := l.addGrantLocked(g); old != nil {
			over = slices.Clone(old.holds)
		}
	}
	g.token = max(g.token, ls.first)
	l.holdLocked(acq, p, g, trusted)
	if g.gone { // the server has lost it since
		return append(over, p.hold)
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

// holdLocked makes a hold, and notes it in the registry.
func (l *Locks) holdLocked(acq *acquisition, p *target, g *grant, trusted time.Time) {
	g.decideLocked()
	p.hold = newHold(acq, p, g, trusted)
	if !acq.ordered { // a MultiLock hastens by itself
		l.hurryLocked(p.hold)
	}
	g.holds = append(g.holds, p.hold)
	acq.owner.addHold(p.lock.position())
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
		h := p.hold
		h.reported = true
		l.observer.Acquired(p.lock.kind.is(), h.since.Sub(acq.start), acq.waitedForOthers)
		if h.lost {
			l.observer.Lost(p.lock.kind.is(), time.Since(h.since))
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
