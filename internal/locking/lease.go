package locking

import (
	"time"
)

// A lease is one time that this process has a lock at the server. It begins with a script call, and can pass from owner
// to owner, each of which gets a grant.
type lease struct {
	id        string // of the holder, as the server knows it: no other lease has had it, or will
	first     int64  // its token, as the server has it: the first of those that the last script call brought; 0 if in doubt
	duration  time.Duration
	longest   time.Duration // the longest lease that the server was told of
	shortened bool          // the server was told of a shorter one since the last script call that began a lease
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
