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
