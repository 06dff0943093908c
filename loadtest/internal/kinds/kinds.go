// Package kinds has every kind of lock that the lab compares and breaks, in one list and one shape: ours, those of libraries, and
// those of textbooks. All have the same settings of their clients: a script is sent once, and the end of a context ends a command.
//
// Each lock of a textbook has a flaw, which its comment names; `go run ./loadtest locks --break` shows those of locks on Redis. They
// are written as well as their recipes allow, to be compared with the locks of internal/locking, and for nothing else.
//
// A new kind is a constructor in a file of its own, and an entry in [All].
package kinds

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"inventory/loadtest/internal/servers"
)

// Kind is a kind of lock.
type Kind struct {
	Name    string
	Ours    bool
	Shared  bool   // several callers may have it at once
	OnRedis bool   // its clients can be cut off
	Flaw    string // what is known to be wrong with it; "": nothing
	// Open makes the client of one process.
	Open func(ctx context.Context, s Setting) (*Client, error)
}

// Setting is how a client is opened.
type Setting struct {
	servers.URLs
	Lease       time.Duration // the watchdog's, where the lock has one
	Poll        time.Duration // how often a waiter tries that can only poll
	Connections int           // for callers
	Rival       bool          // of a caller that comes later: of a lock that many readers share, the writer
	TLSName     string        // on the certificate of a Redis behind a proxy; "": the host's
	Meter       *Meter        // counts what is sent; nil: it is not counted
}

// Client has the locks of a kind, for one process.
type Client struct {
	// Lock is a lock by its name. A hold of ours is a *locking.Hold.
	Lock  func(name string) Lock
	Close func() error
}

// Lock waits until the caller has the lock, or ctx ends.
type Lock func(ctx context.Context) (Hold, error)

// Hold is a lock that was taken.
type Hold interface {
	// Unlock gives it back. ErrNotHeld says that the caller had lost it, if the lock can know.
	Unlock(ctx context.Context) error
}

// ErrNotHeld says that the caller had lost the lock when it gave it back.
var ErrNotHeld = errors.New("the lock is not held")

// All are the kinds whose servers are installed.
func All(s servers.URLs) []Kind {
	const outlived = "a holder that outlives its lease is not told and goes on; without a fencing token nobody stops its writes"
	all := append(ours(s),
		Kind{Name: BSM, OnRedis: true, Open: onRedis(BSM, bsm), Flaw: outlived},
		Kind{Name: Redsync, OnRedis: true, Open: onRedis(Redsync, ofRedsync), Flaw: outlived},
		Kind{Name: SetNX, OnRedis: true, Open: onRedis(SetNX, setNX), Flaw: outlived + "; and a waiter occupies a connection"},
		Kind{Name: Row, Open: onPostgres(row), Flaw: "the row of a holder that has died stays for ever"},
		Kind{Name: RowExpiry, Open: onPostgres(rowExpiry), Flaw: outlived},
	)
	if s.ZooKeeper != "" {
		all = append(all, Kind{
			Name: Sequential, Open: openSequential,
			Flaw: "the session of a holder that stands still ends, and the holder goes on; its numbers are seldom used as tokens",
		})
	}
	if s.MongoDBURL != "" {
		all = append(all, Kind{Name: Document, Open: openDocument, Flaw: outlived + "; and the callers' clocks judge when a hold ends"})
	}
	return all
}

// Open opens a client of the kind of a name.
func Open(ctx context.Context, name string, s Setting) (*Client, error) {
	for _, k := range All(s.URLs) {
		if k.Name == name {
			return k.Open(ctx, s)
		}
	}
	return nil, fmt.Errorf("there is no lock %q", name)
}

// unlock is a hold that a function gives back.
type unlock func(ctx context.Context) error

// Unlock implements [Hold].
func (u unlock) Unlock(ctx context.Context) error { return u(ctx) }

// recipe is how a lock is taken for an owner with a unique name, and given back. Both report whether it was.
type recipe struct {
	take, give func(ctx context.Context, owner string) (bool, error)
}

// try takes the lock of a name once; nil: another caller has it.
func (r recipe) try(ctx context.Context, name string) (Hold, error) {
	owner := rand.Text()[:16]
	if taken, err := r.take(ctx, owner); err != nil {
		return nil, fmt.Errorf("take the lock %s: %w", name, err)
	} else if !taken {
		return nil, nil
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
		select {
		case <-time.After(every):
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
	return func(ctx context.Context) (Hold, error) {
		attempts, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()
		for {
			hold, err := r.try(attempts, name)
			if hold == nil && err == nil {
				err = pause(ctx)
			}
			if hold != nil || err != nil {
				return hold, err
			}
		}
	}
}
