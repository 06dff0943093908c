package locking

import (
	"context"
	"fmt"
	"time"

	"inventory/internal/locking/internal/quorum"
)

// A Hold is one successful Lock. It is safe for concurrent use. The holds of a reentrant lock are independent: each is
// unlocked separately and has its own deadline.
type Hold struct {
	base   context.Context // of the call; ctx is made from it
	ctx    context.Context
	cancel context.CancelCauseFunc
	parts  []*Hold // the holds that it consists of; nil for that of a single lock
	held   held
}

// held is what a Hold is: a *singleHold, a *multiHold or a *redHold.
type held interface {
	token() int64
	tokenAbove(ctx context.Context, n int64) (int64, error)
	remaining() time.Duration
	count() int

	// isLost reports whether a hold that has not been unlocked is no longer ours, as far as this process knows.
	isLost() bool

	// unlock is Unlock, perhaps of a part of a hold that is lost.
	unlock(ctx context.Context, lost bool) error
}

// is returns what the hold is. The zero Hold is that of a MultiLock of nothing.
func (h *Hold) is() held {
	if h.held == nil {
		return &multiHold{}
	}
	return h.held
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
func (h *Hold) Token() int64 { return h.is().token() }

// maxToken bounds what a token is raised to: scripts count in doubles, which are exact up to here. Tokens that are minted
// above it grow by two.
const maxToken = 1<<53 - 1

// TokenAbove returns a token of this hold that is greater than n: the one that it has, or a new one. It heals a guard
// that has seen a token from a time when the server's clock ran ahead, or before a failover. Such a guard would refuse
// every holder until the clock has caught up. Only an owner that still holds the lock gets one; any other gets ErrLost.
// The hold's Token and those of its owner's other holds of the lock change with it. n may be up to 2^53 - 2. The hold of a
// MultiLock has no token: ask its Parts.
func (h *Hold) TokenAbove(ctx context.Context, n int64) (int64, error) {
	if n < 0 || n >= maxToken {
		return 0, fmt.Errorf("%w: no token above %d", ErrInvalid, n)
	}
	return h.is().tokenAbove(ctx, n)
}

// Remaining is how much longer the hold can be relied on if nothing renews it; 0 when it has ended. For a MultiLock it is
// the shortest of its parts. For a RedLock it is the time until fewer than a quorum of its parts live.
func (h *Hold) Remaining() time.Duration { return h.is().remaining() }

// Count is how many holds the owner has now of the same grant: 0 when the grant is over, also if the owner has got the lock
// again since. For a MultiLock it is the smallest count of its parts.
func (h *Hold) Count() int { return h.is().count() }

// Owner returns the owner: the process, a colon, and the owner's own id. The server's state of the lock adds another
// colon and the number of the grant. For a MultiLock or a RedLock it is the owner of the first part.
func (h *Hold) Owner() string {
	if s, ok := h.held.(*singleHold); ok {
		return s.locks.process + ":" + s.owner.id
	}
	if len(h.parts) > 0 {
		return h.parts[0].Owner()
	}
	return ""
}

// Parts returns the holds of a MultiLock, or those that a RedLock has got on its nodes, in the order of the
// arguments; nil for a Mutex. Unlock gives them back as well.
func (h *Hold) Parts() []*Hold { return h.parts }

// Unlock gives the hold back. It works also when ctx has ended, and takes 3 s at most, whatever other goroutines of the
// owner do. ErrLost means that the hold was no longer ours. If that is known already, Unlock does not wait for the server,
// which is told in the background. ErrNoAnswer, or any other error, means that the release is not confirmed: it is repeated
// in the background while the lock can exist, and nothing renews the lock any more. A second Unlock does nothing and returns
// nil.
func (h *Hold) Unlock(ctx context.Context) error {
	is := h.is()
	return is.unlock(ctx, is.isLost())
}

// remainingOf returns how long enough parts of a hold can be relied on.
func remainingOf(parts []*Hold, enough int) time.Duration {
	left := make([]time.Duration, len(parts))
	for i, part := range parts {
		left[i] = part.Remaining()
	}
	return quorum.Nth(left, enough)
}

// A singleHold is a hold of a single lock. What has no comment of its own and may change is under Locks.mu.
type singleHold struct {
	Hold
	owner    *owner
	locks    *Locks
	lock     *lock
	grant    *grant
	since    time.Time
	lease    time.Duration
	fixed    bool          // the watchdog does not renew it
	deadline time.Time     // until when it can be relied on
	late     time.Duration // at most so long after the start of the call its lease began at the server
	kept     bool          // a MultiLock takes other parts: its fixed lease may be restarted until then
	outlived bool          // it was renewed once more after its context had ended
	lost     bool
	unlocked bool     // Unlock has been called
	reported bool     // the Observer knows of it
	red      *redHold // the RedLock's hold that this is a part of
}

func (s *singleHold) token() int64 {
	s.locks.mu.Lock()
	defer s.locks.mu.Unlock()
	return s.grant.token
}

func (s *singleHold) remaining() time.Duration {
	s.locks.mu.Lock()
	defer s.locks.mu.Unlock()
	if s.lost || s.unlocked {
		return 0
	}
	return max(0, time.Until(s.deadline))
}

func (s *singleHold) count() int {
	s.locks.mu.Lock()
	defer s.locks.mu.Unlock()
	return len(s.grant.holds)
}

func (s *singleHold) isLost() bool {
	s.locks.mu.Lock()
	defer s.locks.mu.Unlock()
	return !s.unlocked && (s.lost || s.isOverLocked(time.Now()))
}

// isOverLocked reports whether the time of a hold is over, also if nobody has noticed that yet.
func (s *singleHold) isOverLocked(now time.Time) bool { return !now.Before(s.deadline) }

func (s *singleHold) unlock(ctx context.Context, lost bool) error {
	return s.locks.unlock(ctx, []*singleHold{s}, lost)
}

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
	holds    []*singleHold

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
func (h *singleHold) lifeLocked() time.Duration {
	if h.wantsRenewalLocked() || h.kept {
		return h.lease
	}
	const rounding = 2 * time.Millisecond // the server counts in whole ones, and so does the call
	return min(h.lease, time.Until(h.deadline)+h.lease-trust(h.lease)+h.late+rounding)
}

// countsLocked notes what a lease is counted by, when the answer of the server has come.
func (h *singleHold) countsLocked(deadline time.Time) {
	h.late = time.Since(deadline.Add(-trust(h.lease)))
}
