package locking

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
	"inventory/internal/locking/internal/subscription"
)

// New returns Locks on the server of rdb, whatever its retries and time-outs. It does not connect. The caller keeps the
// client, and closes it after Close. A client with ContextTimeoutEnabled is faster: with any other, every command needs a
// goroutine of its own, so that a context can end the wait for it.
func New(rdb redis.UniversalClient, opts ...Option) (*Locks, error) {
	if rdb == nil {
		return nil, fmt.Errorf("%w: no client", ErrInvalid)
	}
	l := &Locks{
		server:   server.New(rdb),
		process:  newID(),
		lease:    defaultWatchdogLease,
		observer: nobody{},
		hurry:    make(chan struct{}, 1),
		unclean:  make(chan struct{}, 1),
		queues:   make(chan struct{}, 1),
		closing:  make(chan struct{}),
		stop:     make(chan struct{}),
		registry: registry{
			states: make(map[string]*lockState), grants: make(map[share]*grant), asking: make(map[share]chan struct{}),
			tickets: tickets{all: make(map[string]*ticket), owners: make(map[*owner][]*ticket)},
		},
	}
	for _, opt := range opts {
		if err := opt(l); err != nil {
			return nil, err
		}
	}
	l.address = l.server.Address()
	l.subscription = subscription.New(l.server, wakeChannel(l.process), l.woken, l.wakeHeads, l.polls)
	l.loops.Go(l.watch)
	l.loops.Go(l.clean)
	l.loops.Go(l.beats)
	return l, nil
}

// Close ends all waiting with ErrClosed, stops the watchdog and the subscription and waits for every
// goroutine of l, which the client's own time-outs bound. Holds that are still held are left to expire,
// and can no longer be unlocked. It never fails, and may be called again.
func (l *Locks) Close() error {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	l.mu.Unlock()
	if first {
		close(l.closing)
	}
	l.calls.Wait() // they may still need the cleaner
	if first {
		close(l.stop)
	}
	l.loops.Wait()
	l.server.Wait()
	return nil
}

// CheckServer asks the server whether this user may run the commands that locks need, and returns ErrRights with the names of
// those that are refused. It asks the server, or each master of a cluster, whether it may throw locks away when its memory is
// full, and returns ErrEviction if so. Locks have expiries, so every policy but noeviction can take them. The library
// does not call it; a program's start is a good time. Any other error means that this could not be read: miniredis
// and some services do not show their policy.
func (l *Locks) CheckServer(ctx context.Context) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.calls.Done()
	until := time.Now().Add(policy.Release)
	own := addressOf(l.process, nil)
	rights := scripts.Check.NewCall(3, 1).With(own.key("a"), own.key("b"), own.key("c"), wakeChannel(l.process))
	err := errors.Join(l.server.CheckRights(ctx, until, l.closing, rights), l.server.CheckMemory(ctx, until, l.closing))
	if err != nil {
		return fmt.Errorf("locking: check the server: %w", err)
	}
	return nil
}

// An Option configures Locks.
type Option func(*Locks) error

// Name makes the owners of these Locks begin with a name and a dash, so that people who Inspect a lock know the process. It has
// letters and digits, 32 at most; "" is none.
func Name(name string) Option {
	return func(l *Locks) error {
		if name == "" {
			return nil
		}
		if len(name) > 32 || strings.ContainsFunc(name, func(c rune) bool { return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
			return fmt.Errorf("%w: name %q", ErrInvalid, name)
		}
		l.process = name + "-" + l.process
		return nil
	}
}

// WatchdogLease sets the lease of holds that are renewed: what a crashed process's locks take to become
// free. They are renewed every third of it. Default 30 s; from 10 ms to 7 days.
func WatchdogLease(d time.Duration) Option {
	return func(l *Locks) error {
		l.lease = d.Truncate(time.Millisecond) // as the server counts
		return checkLease(d)
	}
}

// WaitReplicas makes an acquisition count only when that many replicas have confirmed it within a timeout, so
// that the lock lives on when one of them takes the server's place. If fewer do, it is cancelled and the error
// is ErrNotReplicated. Every acquisition by a script waits for that, which costs a round trip from the server to its
// replicas. Re-entries, renewals, releases and handoffs inside a process do not wait: the replicas already know whose
// lock it is, though perhaps with a shorter lease.
//
// A loss becomes rarer, not impossible: nothing forces a failover to choose a replica that has confirmed. It needs a
// client of one server, of Sentinel or of a Cluster, because WAIT counts for its own connection only, and a timeout
// shorter than the client's ReadTimeout. On miniredis nothing is ever confirmed.
func WaitReplicas(count int, timeout time.Duration) Option {
	return func(l *Locks) error {
		if err := l.server.WaitReplicas(count, timeout); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		return nil
	}
}

// Observe sets an observer; nil is none.
func Observe(o Observer) Option {
	return func(l *Locks) error {
		if o != nil {
			l.observer = o
		}
		return nil
	}
}
