package locking

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

var (
	// ErrBusy means that another owner holds the lock, or that it is reserved for a waiter: TryLock found it so, or Wait ran
	// out, or a MultiLock would have had to wait backwards. If a context ended the wait, its error is joined.
	ErrBusy = errors.New("locking: the lock is busy")

	// ErrLost means that a hold is no longer ours: its lease ran out on this process's clock, or the server answered that the
	// lock is gone or another owner's. It is then the cause of the hold's context.
	ErrLost = errors.New("locking: the lock was lost")

	// ErrEmptyName refuses a lock without a name.
	ErrEmptyName = errors.New("locking: the name of a lock is empty")

	// ErrClosed refuses work on Locks that have been closed.
	ErrClosed = errors.New("locking: closed")

	// ErrNoAnswer means that the server did not answer in time. Nothing is granted: an
	// acquisition that may still arrive is cancelled, a release is repeated for as long as it matters.
	ErrNoAnswer = scripts.ErrNoAnswer

	// ErrNotReplicated means that too few replicas have confirmed an acquisition in time. It is cancelled.
	ErrNotReplicated = server.ErrNotReplicated

	// ErrEviction means that the server may evict locks when its memory is full.
	ErrEviction = server.ErrEviction

	// ErrRights means that the server refuses commands that locks need: the user has no right to them, or they are renamed.
	ErrRights = server.ErrRights

	// ErrSettings means that settings of the client do not suit locks: it waits for an answer for longer than a third of the
	// watchdog's lease, or for ever.
	ErrSettings = server.ErrSettings

	// ErrUpgrade refuses the writing side of a lock to an owner that reads: it would wait for itself, and two that
	// tried would wait for each other. Unlock the reading side first.
	ErrUpgrade = errors.New("locking: who reads cannot write")

	// ErrInvalid refuses an option or an argument that makes no sense.
	ErrInvalid = errors.New("locking: invalid argument")
)

// ended joins the error of what the caller was doing when ctx ended (nil for none) with the context's error, and with its
// cause if that is another one, such as ErrLost.
func ended(ctx context.Context, doing error) error {
	why, cause := endOf(ctx), context.Cause(ctx)
	if errors.Is(cause, why) {
		return errors.Join(doing, cause)
	}
	return errors.Join(doing, why, cause)
}

// endOf returns why the caller of ctx no longer waits, or nil. A deadline counts from its instant: a connection
// that has the same one may fail a moment before the timer of ctx.
func endOf(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// failed wraps what went wrong at the server.
func failed(verb, name string, err error) error {
	return fmt.Errorf("locking: %s %q: %w", verb, name, err)
}

// An Observer receives what happens to the locks of a process: how long callers wait, how often they fail, how long they hold, what
// gets lost. Its methods are called while locks are taken and released, by many goroutines: they must be quick, must not panic, and
// must not call back. A MultiLock and a RedLock show as the locks they are made of. The package lockmetrics has one for Prometheus.
type Observer interface {
	// Acquired is called for each hold, also for one that is given back because the caller has gone or a MultiLock cannot get all
	// parts: how long it took, and whether the caller had to wait for another owner.
	Acquired(kind Kind, waited time.Duration, contended bool)

	// Failed is called for each Lock and TryLock that got no hold, except those that are refused before they ask: Locks that are
	// closed already, no name, or an option that makes no sense.
	Failed(kind Kind, waited time.Duration, reason Reason)

	// Released is called for each hold that was unlocked before it was lost.
	Released(kind Kind, held time.Duration)

	// Lost is called for each hold that ended before it was unlocked.
	Lost(kind Kind, held time.Duration)

	// Renewed is called for each round trip of the watchdog: how many locks it renewed, and whether the server
	// answered for all of them.
	Renewed(locks int, took time.Duration, answered bool)
}

// A PollingObserver is an Observer that also learns when its process cannot be woken.
type PollingObserver interface {
	Observer

	// Polling is called when no wake-ups reach this process, with the reason: it may not subscribe, its client cannot, or messages
	// do not arrive. Its waiters poll then, so locks change hands more slowly. It is called with nil when wake-ups reach it again.
	Polling(why error)
}

// A WarnedObserver is an Observer that also learns of a client whose settings do not suit locks.
type WarnedObserver interface {
	Observer

	// Warned is called by New, with ErrSettings and what is wrong.
	Warned(why error)
}

// A Kind of lock.
type Kind string

// The kinds that an Observer receives.
const (
	KindMutex Kind = "mutex"
	KindFair  Kind = "fair"
	KindRead  Kind = "read"
	KindWrite Kind = "write"
)

// A Reason is why an acquisition failed.
type Reason string

// The reasons that an Observer receives.
const (
	ReasonBusy   Reason = "busy"   // another owner has the lock
	ReasonEnded  Reason = "ended"  // the caller's context ended
	ReasonClosed Reason = "closed" // the Locks were closed
	ReasonError  Reason = "error"  // the server did not answer, or refused
)

// nobody is the Observer if none is set.
type nobody struct{}

// Acquired implements Observer.
func (nobody) Acquired(Kind, time.Duration, bool) {}

// Failed implements Observer.
func (nobody) Failed(Kind, time.Duration, Reason) {}

// Released implements Observer.
func (nobody) Released(Kind, time.Duration) {}

// Lost implements Observer.
func (nobody) Lost(Kind, time.Duration) {}

// Renewed implements Observer.
func (nobody) Renewed(int, time.Duration, bool) {}
