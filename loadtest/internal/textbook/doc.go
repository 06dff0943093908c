// Package textbook has locks as textbooks and tutorials teach them. Each has a flaw, which its comment names and
// `go run ./loadtest locks --break` shows. They are written as well as their recipes allow, to be measured and broken beside
// the locks of internal/locking; nobody should use them for anything else. Some need Redis or PostgreSQL, and those of
// ZooKeeper and MongoDB a server that is not everywhere.
//
// A lock has many callers, in one process or in several: Lock and TryLock may be called at the same time, and a Hold
// belongs to whoever got it.
package textbook

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// Lock is one lock, by its name.
type Lock interface {
	// Lock waits until the caller has the lock, or ctx ends.
	Lock(ctx context.Context) (Hold, error)
	// TryLock tries once. ErrBusy says that somebody else has the lock.
	TryLock(ctx context.Context) (Hold, error)
}

// Hold is a lock that was taken.
type Hold interface {
	// Unlock gives it back. ErrNotHeld says that it was somebody else's by then, or nobody's, where the lock can tell.
	Unlock(ctx context.Context) error
}

var (
	// ErrBusy says that somebody else has the lock.
	ErrBusy = errors.New("textbook: the lock is busy")
	// ErrNotHeld says that the caller had lost the lock when it gave it back.
	ErrNotHeld = errors.New("textbook: the lock is not held")
)

// Known is a lock of this package by its name, and what is known to be wrong with it.
type Known struct{ Name, Flaw string }

// All are the locks of this package.
func All() []Known {
	return []Known{
		{SetNXExpireName, "two steps: a holder that dies in between locks for ever; and DEL gives back whoever's lock it is"},
		{SetPXName, SetPXFlaw},
		{SignalName, "that of SET NX PX; and a waiter occupies a connection"},
		{RowName, "the row of a holder that has died stays for ever"},
		{RowExpiryName, "a holder that outlives the expiry is not told and goes on, as with SET NX PX"},
		{AdvisoryName, "the lock is the connection's: when that breaks the lock goes, and the holder is not told and goes on"},
		{PooledName, "who shares a connection shares its locks; and what was locked over one is not given back over another"},
		{SequentialName, "the session of a holder that stands still ends, and the holder goes on; its numbers are seldom used as tokens"},
		{DocumentName, "the callers' clocks judge when a hold ends; a holder that outlives it is not told and goes on, as with SET NX PX"},
	}
}

// Timing is how long a lock is kept that nobody gives back, and how often a waiter tries that cannot be woken.
type Timing struct{ Lease, Poll time.Duration }

// lock is one whose waiters try again and again.
type lock struct {
	try   func(ctx context.Context) (Hold, error)
	pause func(ctx context.Context) error // between two tries
}

// recipe is how a lock is taken for an owner, whom nobody else is named like, and given back. Both tell whether it was.
type recipe struct {
	take, give func(ctx context.Context, owner string) (bool, error)
}

// try takes the lock of a name once.
func (r recipe) try(name string) func(ctx context.Context) (Hold, error) {
	return func(ctx context.Context) (Hold, error) {
		owner := rand.Text()[:16]
		taken, err := r.take(ctx, owner)
		switch {
		case err != nil:
			return nil, fmt.Errorf("take the lock %s: %w", name, err)
		case !taken:
			return nil, ErrBusy
		}
		return unlock(func(ctx context.Context) error {
			given, err := r.give(ctx, owner)
			switch {
			case err != nil:
				return fmt.Errorf("give the lock %s back: %w", name, err)
			case !given:
				return ErrNotHeld
			}
			return nil
		}), nil
	}
}

// polled is a lock whose waiters try every so often.
func (r recipe) polled(name string, every time.Duration) Lock {
	return lock{r.try(name), func(ctx context.Context) error {
		timer := time.NewTimer(every)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

// TryLock implements [Lock].
func (l lock) TryLock(ctx context.Context) (Hold, error) { return l.try(ctx) }

// grace is how long an attempt may go on when its caller has gone: one that is cut off may still take the lock, and
// nobody would give that back.
const grace = time.Second

// Lock implements [Lock].
func (l lock) Lock(ctx context.Context) (Hold, error) {
	attempts, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-attempts.Done():
		}
	})()
	for {
		hold, err := l.try(attempts)
		if !errors.Is(err, ErrBusy) {
			return hold, err
		}
		if waited := l.pause(ctx); waited != nil {
			return nil, errors.Join(err, waited)
		}
	}
}

// unlock is a hold that a function gives back.
type unlock func(ctx context.Context) error

// Unlock implements [Hold].
func (u unlock) Unlock(ctx context.Context) error { return u(ctx) }
