package locking

import (
	"time"

	"inventory/internal/locking/internal/scripts"
)

// A kind of lock is the set of its scripts. The registry, the watchdog and the cleaner know nothing else of it.
type kind interface {
	// is names the kind for an Observer.
	is() Kind

	// newAsker asks for locks that are in order, of one bucket and of equal kinds, each named once.
	newAsker(acq *acquisition, run []*part) asker

	// renewal extends a grant.
	renewal(g *grant, lease time.Duration) scripts.Call

	// settling tells the server what is in a settlement.
	settling(s *settlement) scripts.Call

	// raising asks for a token above n.
	raising(g *grant, n int64) scripts.Call

	// inspecting reads the state of a lock.
	inspecting(a *lock) scripts.Call

	// forcing takes a lock from the holders that were seen.
	forcing(a *lock, seen sighting) scripts.Call
}

// An asker knows how one kind of lock is asked for, and how its callers wait in line.
type asker interface {
	// turn returns what the caller may do next about the first missing lock.
	turn(missing []*part) (turn, error)

	// ask returns the question to the server about missing locks; end must be called after it.
	ask(missing []*part) *question
	end(q *question)

	// granted notes a lock that the server has granted.
	granted(p *part, ls *lease, trusted time.Time)

	// stopped notes that the server did not grant the n-th lock of a question, nor those after it. If that lock is
	// busy, it returns when to ask again at the latest.
	stopped(q *question, n int, answer scripts.Acquired) time.Duration

	// unanswered gives up after a question whose outcome is uncertain.
	unanswered(q *question)

	// disclaim makes sure that no late copy of a question takes its n-th lock or those after it. The caller may ask again.
	disclaim(q *question, n int)

	// leave takes the caller out of all lines. What it was handed meanwhile becomes a hold.
	leave()
}

// A turn is what a caller may do next about a lock.
type turn int

const (
	turnToWait   turn = iota // it waits in line for another owner
	turnToFollow             // it waits in line, but for the server's answer to its own owner or to one that has gone
	turnToAsk                // it is at the head, or its owner holds the lock already
	turnAgain                // something has changed: look once more
)

// A question is one attempt to get locks of one slot by one script.
type question struct {
	attempt scripts.Attempt
	start   time.Time
	call    scripts.Call
	run     []*part
}
