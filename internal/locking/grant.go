package locking

import (
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
	keptAlive    bool        // a MultiLock takes other parts: its fixed lease may be restarted until then
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
	if h.wantsRenewalLocked() || h.keptAlive {
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
	tried    func()            // called after the first try; may be nil
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
