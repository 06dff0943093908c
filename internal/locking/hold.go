package locking

import (
	"context"
	"time"

	"inventory/internal/locking/internal/quorum"
)

// A Hold is one successful Lock. It is safe for concurrent use. The holds of a reentrant lock are independent: each is
// unlocked separately and has its own deadline.
type Hold struct {
	base   context.Context // of the call; ctx is made from it
	ctx    context.Context
	cancel context.CancelCauseFunc
	owner  *owner

	// Of a single lock.
	locks    *Locks
	lock     *lock
	grant    *grant
	since    time.Time
	lease    time.Duration
	fixed    bool
	deadline time.Time     // until when the hold can be relied on; under Locks.mu
	late     time.Duration // at most so long after the start of the call its lease began at the server; under Locks.mu
	kept     bool          // a MultiLock takes other parts: its fixed lease may be restarted until then; under Locks.mu
	outlived bool          // renewed once more after its context had ended; under Locks.mu
	lost     bool          // under Locks.mu
	unlocked bool          // Unlock has been called; under Locks.mu
	reported bool          // the Observer knows of it; under Locks.mu
	of       *redHold      // the RedLock's hold that this is a part of; under Locks.mu

	// For a MultiLock or a RedLock.
	parts  []*Hold
	need   int           // how many parts must live
	stops  []func() bool // of what watches the parts
	leaves []*Hold       // of a MultiLock: its single locks and other Lockers; inner MultiLocks are taken apart
	red    *redHold      // of a RedLock
}

// Context returns the context of the work under the lock. It carries the owner, so that Lock under it
// re-enters. It ends with the context that Lock got, with Unlock, and when the lock is lost; then context.Cause is
// ErrLost.
func (h *Hold) Context() context.Context {
	if h.ctx == nil {
		return context.Background() // the zero Hold
	}
	return h.ctx
}

// Token returns the fencing token. It grows every time the lock goes from free to held, and is the same on re-entry. A
// guard that refuses lower ones is safe from a holder that does not know that it is late. A MultiLock's hold has none
// and returns 0; its Parts have one each.
func (h *Hold) Token() int64 {
	if h.red != nil {
		return h.red.token()
	}
	if h.grant == nil {
		return 0
	}
	h.locks.mu.Lock()
	defer h.locks.mu.Unlock()
	return h.grant.token
}

// Remaining is how much longer the hold can be relied on if nothing renews it; 0 when it has ended. For a MultiLock it is
// the shortest of its parts. For a RedLock it is the time until fewer than a quorum of its parts live.
func (h *Hold) Remaining() time.Duration {
	if h.locks == nil {
		return reached(h, (*Hold).Remaining)
	}
	h.locks.mu.Lock()
	defer h.locks.mu.Unlock()
	if h.lost || h.unlocked {
		return 0
	}
	return max(0, time.Until(h.deadline))
}

// Count is how many holds the owner has now of the same grant: 0 when the grant is over, also if the owner has got the lock
// again since. For a MultiLock it is the smallest count of its parts.
func (h *Hold) Count() int {
	if h.red != nil {
		return h.red.count()
	}
	if h.locks == nil {
		return reached(h, (*Hold).Count)
	}
	h.locks.mu.Lock()
	defer h.locks.mu.Unlock()
	return len(h.grant.holds)
}

// reached returns the largest value that enough parts of a hold reach; 0 for the zero Hold.
func reached[T int | time.Duration](h *Hold, of func(*Hold) T) T {
	values := make([]T, len(h.parts))
	for i, part := range h.parts {
		values[i] = of(part)
	}
	return quorum.Nth(values, h.need)
}

// Owner returns the owner: the process, a colon, and the owner's own id. The server's state of the lock adds another
// colon and the number of the grant. For a MultiLock or a RedLock it is the owner of the first part.
func (h *Hold) Owner() string {
	switch {
	case h.lock != nil:
		return h.locks.process + ":" + h.owner.id
	case len(h.parts) > 0:
		return h.parts[0].Owner()
	default:
		return ""
	}
}

// Parts returns the holds of a MultiLock, or those that a RedLock has got on its nodes, in the order of the
// arguments; nil for a Mutex. They are unlocked with the whole.
func (h *Hold) Parts() []*Hold { return h.parts }

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
	holds     []*Hold
	reentries []*part // further holds, while the server is asked for them
	told      int     // how many holds and re-entries the server was last told of
	closing   int     // how many calls are under way that tell the server of none
	gone      bool    // the server no longer has it
	handedOff bool    // its lease has gone on to the next owner
	lease     *lease
	decided   chan struct{} // closed when a grant without holds gets one, or is over; nil if nobody waits for that
}

// A part is one lock that a call takes, as often as it was named.
type part struct {
	lock     *lock
	times    int
	lease    time.Duration
	reenters *grant    // the grant that the owner already has, while the server is asked; nil if it has none
	waiter   *waiter   // in the line of this process; nil if the owner already holds the lock
	nextAsk  time.Time // when to ask the server although this process holds the lock
	holds    []*Hold

	spared func(*Hold) bool // holds whose end does not end these, though their contexts are made from those

	// What the script was told of it that was asked last.
	id    string // of the holder
	token int64  // of the grant that is re-entered, 0 for any
	fresh bool   // not a re-entry
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

// lifeLocked is how long the server must keep the lock for a hold from now on: not a millisecond less than it has promised.
func (h *Hold) lifeLocked() time.Duration {
	if h.wantsRenewalLocked() || h.kept {
		return h.lease
	}
	const rounding = 2 * time.Millisecond // the server counts in whole ones, and so does the call
	return min(h.lease, time.Until(h.deadline)+h.lease-trust(h.lease)+h.late+rounding)
}

// countsLocked notes what a lease is counted by, when the answer of the server has come.
func (h *Hold) countsLocked(deadline time.Time) {
	h.late = time.Since(deadline.Add(-trust(h.lease)))
}
