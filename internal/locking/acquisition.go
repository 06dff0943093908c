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
	lease time.Duration // of each hold, if it is fixed or waits
	fixed bool          // nothing renews the holds
	waits bool          // of a MultiLock: the fixed lease begins when it has its last part; until then the watchdog renews
	until time.Time     // when the wait runs out; zero for never

	silent time.Time // when the server stopped answering; zero if it answers
	moving time.Time // when the server began to refuse because a slot moves; zero if it does not

	woken bool // a wake-up has ended its last pause

	// Of a caller that stands in line for a candidate for a RedLock, which hears how it waits; nil of any other:
	looks func(woken bool) // it has waited, and is about to ask the server
	stays func()           // the lock is still busy

	ordered         bool // it is of a MultiLock: never wait backwards
	waitedForOthers bool // another owner was in the way

	mutexAsker mutexAsker // the room of the first one
}

// begins sets what the caller wants, now.
func (acq *acquisition) begins(ctx context.Context, try bool, opts []LockOption) error {
	acq.try, acq.start = try, time.Now()
	for _, opt := range opts {
		if err := opt(acq); err != nil {
			return err
		}
	}
	acq.ctx, acq.owner = withOwner(ctx)
	return nil
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

func (acq *acquisition) waitIsOver(now time.Time) bool {
	return !acq.until.IsZero() && !now.Before(acq.until)
}

// leaseOr returns the lease of a hold when it is taken.
func (acq *acquisition) leaseOr(watchdog time.Duration) time.Duration {
	if acq.fixed {
		return acq.lease
	}
	return watchdog
}

// sameLease is the option that gives a part the lease of the whole.
func (acq *acquisition) sameLease(part *acquisition) error {
	part.lease, part.fixed, part.waits = acq.lease, acq.fixed, acq.waits
	return nil
}

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
	id       any         // as whom the server is to know the holder, by the last script call; a string

	firstWaiter waiter // the room of the first one
}

// bounded returns the context of a question that begins now: the wait bounds it, but not too tightly.
func (acq *acquisition) bounded(start time.Time) (context.Context, context.CancelFunc) {
	if acq.until.IsZero() {
		return acq.ctx, func() {}
	}
	return context.WithDeadline(acq.ctx, start.Add(max(acq.until.Sub(start), policy.Grace)))
}

// pause waits for a signal, at most for limit, and reports whether it came. Its error is joined with doing, if that is not nil.
func (l *Locks) pause(acq *acquisition, signal <-chan struct{}, limit time.Duration, doing error) (came bool, err error) {
	alarm := time.NewTimer(limit)
	defer alarm.Stop()
	select {
	case <-signal:
		return true, nil
	case <-alarm.C:
		return false, nil
	case <-acq.ctx.Done():
		return false, ended(acq.ctx, doing)
	case <-l.closing:
		return false, ErrClosed
	}
}

// awaitSibling waits for another acquisition by the same owner, within the bounds of this one.
func (l *Locks) awaitSibling(acq *acquisition, over <-chan struct{}) error {
	came, err := l.pause(acq, over, acq.patience(), nil)
	if !came && err == nil {
		return ErrNoAnswer // the server keeps the sibling waiting
	}
	return err
}

// check returns why a caller may not continue, joined with the error of what it was doing.
func (l *Locks) check(acq *acquisition, doing error) error {
	if endOf(acq.ctx) != nil {
		return ended(acq.ctx, doing)
	}
	if isClosed(l.closing) {
		return ErrClosed
	}
	return nil
}

// An asker knows how one kind of lock is asked for, and how its callers wait in line.
type asker interface {
	// next returns what the caller may do next about the first missing lock.
	next(missing []*target) (action, error)

	// ask returns the question to the server about missing locks; end must be called after it.
	ask(missing []*target) *question
	end(q *question)

	// grantedLocked notes a lock that the server has granted.
	grantedLocked(p *target, g *grant)

	// stopped notes that the server did not grant the n-th lock of a question, nor those after it. If that lock is
	// busy, it returns when to ask again at the latest; negative is at once.
	stopped(q *question, n int, answer scripts.Acquired) time.Duration

	// unanswered gives up after a question whose outcome is uncertain.
	unanswered(q *question)

	// cancelCopies makes sure that no late copy of a question takes its n-th lock or those after it. The caller may ask again.
	cancelCopies(q *question, n int)

	// leave takes the caller out of all lines. A lock that it was handed meanwhile becomes a hold.
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
	room    [12]any // of the call's words
}

// granted returns the grant of the i-th lock.
func (q *question) granted(i int, minted scripts.Tokens, who *owner, term time.Duration) *grant {
	g := &grant{
		lock: q.run[i].lock, owner: who, token: minted.First, id: q.run[i].id, duration: term, longest: term,
		next: minted.First + 1, last: minted.First + minted.Reserved, begun: q.start, came: time.Now(),
	}
	g.holds = g.room[:0]
	if q.attempt.Resent() {
		g.resent = q.attempt.Number
	}
	return g
}
