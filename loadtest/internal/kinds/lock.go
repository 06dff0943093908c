package kinds

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// Lock takes one lock: it tries once, or waits until the caller has the lock, or ctx ends.
type Lock func(ctx context.Context, wait bool) (Hold, error)

// Lock waits until the caller has the lock, or ctx ends.
func (l Lock) Lock(ctx context.Context) (Hold, error) { return l(ctx, true) }

// TryLock tries once. ErrBusy says that another caller has the lock.
func (l Lock) TryLock(ctx context.Context) (Hold, error) { return l(ctx, false) }

// Hold is a lock that was taken.
type Hold interface {
	// Unlock gives it back. ErrNotHeld says that the caller had lost it, if the lock can know.
	Unlock(ctx context.Context) error
}

var (
	// ErrBusy says that another caller has the lock.
	ErrBusy = errors.New("the lock is busy")
	// ErrNotHeld says that the caller had lost the lock when it gave it back.
	ErrNotHeld = errors.New("the lock is not held")
)

// unlock is a hold that a function gives back.
type unlock func(ctx context.Context) error

// Unlock implements [Hold].
func (u unlock) Unlock(ctx context.Context) error { return u(ctx) }

// recipe is how a lock is taken for an owner with a unique name, and given back. Both report whether it was.
type recipe struct {
	take, give func(ctx context.Context, owner string) (bool, error)
}

// try takes the lock of a name once.
func (r recipe) try(ctx context.Context, name string) (Hold, error) {
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

// polled is a lock whose waiters try at regular intervals.
func (r recipe) polled(name string, every time.Duration) Lock {
	return r.again(name, func(ctx context.Context) error {
		timer := time.NewTimer(every)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// grace is how long an attempt may go on when its caller has gone: one that is cut off may still take the lock, which would
// not be given back.
const grace = time.Second

// again is a lock whose waiters try again and again, and pause in between.
func (r recipe) again(name string, pause func(ctx context.Context) error) Lock {
	return func(ctx context.Context, wait bool) (Hold, error) {
		if !wait {
			return r.try(ctx, name)
		}
		attempts, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()
		for {
			hold, err := r.try(attempts, name)
			if !errors.Is(err, ErrBusy) {
				return hold, err
			}
			if waited := pause(ctx); waited != nil {
				return nil, errors.Join(err, waited)
			}
		}
	}
}
