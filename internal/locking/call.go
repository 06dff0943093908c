package locking

import (
	"context"
	"errors"
	"math"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// A LockOption configures one Lock.
type LockOption func(*acquisition) error

// An acquisition is one Lock or TryLock: of a single lock, or of a MultiLock with all its parts.
type acquisition struct {
	ctx   context.Context // carries the owner
	owner *owner
	try   bool
	start time.Time
	lease time.Duration // of each hold, if it is fixed; else what the hold gets beyond the watchdog's lease
	fixed bool          // nothing renews the holds
	until time.Time     // when the wait runs out; zero for never

	silent time.Time // when the server stopped answering; zero if it answers

	ordered         bool // it is of a MultiLock: never wait backwards
	waitedForOthers bool // another owner was in the way
}

func newAcquisition(ctx context.Context, try bool, opts []LockOption) (*acquisition, error) {
	acq := &acquisition{try: try, start: time.Now()}
	for _, opt := range opts {
		if err := opt(acq); err != nil {
			return nil, err
		}
	}
	acq.ctx, acq.owner = withOwner(ctx)
	return acq, nil
}

// within limits a pause to what is left of the wait.
func (acq *acquisition) within(pause time.Duration) time.Duration {
	if acq.until.IsZero() {
		return pause
	}
	return max(0, min(pause, time.Until(acq.until)))
}

// patience is how long to wait for another call of the same owner.
func (acq *acquisition) patience() time.Duration {
	if acq.until.IsZero() {
		return math.MaxInt64
	}
	return time.Until(acq.until.Add(policy.Grace))
}

// waitIsOver reports whether the wait has run out.
func (acq *acquisition) waitIsOver(now time.Time) bool {
	return !acq.until.IsZero() && !now.Before(acq.until)
}

// leaseOr returns the lease of a hold. The fixed lease of a MultiLock begins when it has its last part: until then the watchdog
// renews a longer one, of which that much is left at any time.
func (acq *acquisition) leaseOr(watchdog time.Duration) time.Duration {
	if acq.fixed {
		return acq.lease
	}
	return watchdog + acq.lease
}

// sameLease is the option that gives a part the lease of the whole.
func (acq *acquisition) sameLease(part *acquisition) error {
	part.lease, part.fixed = acq.lease, acq.fixed
	return nil
}

// reasonOf returns why a call has failed.
func (acq *acquisition) reasonOf(err error) Reason {
	switch {
	case errors.Is(err, ErrClosed):
		return ReasonClosed
	case endOf(acq.ctx) != nil:
		return ReasonEnded
	case errors.Is(err, ErrBusy):
		return ReasonBusy
	default:
		return ReasonError
	}
}

// A target is one lock that a call takes.
type target struct {
	lock     *lock
	reenters *grant      // what the owner already has, while the server is asked whether it still does; or nil
	waiter   *waiter     // the place in the line of this process; nil if the owner already holds the lock
	nextAsk  time.Time   // when to ask the server although this process holds the lock
	hold     *singleHold // what was taken

	id string // as whom the server is to know the holder, by the last script call
}

// unheld returns the targets that are not held yet.
func unheld(run []*target) []*target {
	for len(run) > 0 && run[0].hold != nil {
		run = run[1:]
	}
	return run
}

// A waiter is a caller in a line. Guarded by Locks.mu.
type waiter struct {
	owner   *owner
	lease   time.Duration
	asking  bool          // it is asking the server, and cannot be handed the lock meanwhile
	leaving bool          // its caller has gone; it stays until the server was asked to take the process out of the queue
	handed  *grant        // what it was handed; then it is no longer in the line
	woken   chan struct{} // with room for one: look again

	// Of a first-come lock only:
	ticket string // its number at the server
	fifo   *fifo
	placed bool // it may be in the queue
}

// looks forgets the wake-ups so far: the caller looks now, and what comes from now on is new.
func (w *waiter) looks() {
	select {
	case <-w.woken:
	default:
	}
}

// An asker knows how one kind of lock is asked for, and how its callers wait in line.
type asker interface {
	// next returns what the caller may do next about the first missing lock.
	next(missing []*target) (action, error)

	// ask returns the question to the server about missing locks; end must be called after it.
	ask(missing []*target) *question
	end(q *question)

	// granted notes a lock that the server has granted.
	granted(p *target, g *grant, trusted time.Time)

	// stopped notes that the server did not grant the n-th lock of a question, nor those after it. If that lock is
	// busy, it returns when to ask again at the latest; negative is at once.
	stopped(q *question, n int, answer scripts.Acquired) time.Duration

	// unanswered gives up after a question whose outcome is uncertain.
	unanswered(q *question)

	// cancelCopies makes sure that no late copy of a question takes its n-th lock or those after it. The caller may ask again.
	cancelCopies(q *question, n int)

	// leave takes the caller out of all lines. What it was handed meanwhile becomes a hold.
	leave()
}

// An action is what a caller may do next about a lock.
type action int

const (
	actionWait    action = iota // it waits in line
	actionAsk                   // it is at the head
	actionReenter               // its owner holds the lock already
	actionRetry                 // something has changed: look once more
)

// A question is one attempt to get locks of one slot by one script.
type question struct {
	attempt scripts.Attempt
	start   time.Time
	call    scripts.Call
	run     []*target
}

// replicated returns from how many granted locks on replicas must confirm the grant. To a caller that does not wait, a grant of
// some is no use.
func (acq *acquisition) replicated(run []*target) int {
	if acq.try {
		return len(run)
	}
	return 1
}

// bounded returns the context of a question that begins now: the wait bounds it, but not too tightly.
func (acq *acquisition) bounded(start time.Time) (context.Context, context.CancelFunc) {
	if acq.until.IsZero() {
		return acq.ctx, func() {}
	}
	return context.WithDeadline(acq.ctx, start.Add(max(acq.until.Sub(start), policy.Grace)))
}

// granted returns the grant of the i-th lock.
func (q *question) granted(i int, minted scripts.Tokens, who *owner, term time.Duration) *grant {
	g := &grant{
		lock: q.run[i].lock, owner: who, token: minted.First, id: q.run[i].id, duration: term, longest: term,
		next: minted.First + 1, last: minted.First + minted.Reserved, begun: q.start, came: time.Now(),
	}
	if q.attempt.Resent() {
		g.resent = q.attempt.Number
	}
	return g
}
