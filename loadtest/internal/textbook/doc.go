// Package textbook has locks as textbooks and tutorials teach them, one in each file. Each has a flaw, which its comment
// names and `go run ./loadtest locks --break` shows. They are written as well as their recipes allow, to be measured and
// broken beside the locks of internal/locking; nobody should use them for anything else. Some need Redis or PostgreSQL, and
// those of ZooKeeper and MongoDB a server that is not everywhere.
//
// A lock has many callers, in one process or in several: Lock and TryLock may be called at the same time, and a Hold
// belongs to whoever got it.
package textbook

import (
	"context"
	"crypto/rand"
	"errors"
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
		{SetNXExpireName, SetNXExpireFlaw},
		{SetPXName, SetPXFlaw},
		{RowName, RowFlaw},
		{RowExpiryName, RowExpiryFlaw},
		{AdvisoryName, AdvisoryFlaw},
		{PooledName, PooledFlaw},
		{SequentialName, SequentialFlaw},
		{DocumentName, DocumentFlaw},
	}
}

// grace is how long an attempt may go on when its caller has gone: one that is cut off may still take the lock, and
// nobody would give that back.
const grace = time.Second

// again tries every so often, until try returns something else than ErrBusy or ctx ends.
func again(ctx context.Context, every time.Duration, try func(context.Context) (Hold, error)) (Hold, error) {
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
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		hold, err := try(attempts)
		if !errors.Is(err, ErrBusy) {
			return hold, err
		}
		select {
		case <-timer.C:
			timer.Reset(every)
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		}
	}
}

// newValue is one that nobody else has.
func newValue() string { return rand.Text()[:16] }
