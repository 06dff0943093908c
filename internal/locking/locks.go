package locking

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"inventory/internal/locking/internal/cleaner"
	"inventory/internal/locking/internal/heartbeat"
	"inventory/internal/locking/internal/keys"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
	"inventory/internal/locking/internal/subscription"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
)

// Locks is one process's way to the locks on one Redis: its identity, its watchdog, its subscription and
// its lock states. Make one per server and process, and share it. It is safe for concurrent use.
type Locks struct {
	server   *server.Server
	boxed    any           // process, as scripts take it
	leaseArg any           // lease in milliseconds, as scripts take it
	process  string        // names this process in the states, queues and channels
	lease    time.Duration // of holds that the watchdog renews
	observer Observer
	address  string       // of the server, for an order of locks that everybody shares
	numbers  atomic.Int64 // the last attempt
	releases atomic.Int64 // how many are under way

	cleaner      *cleaner.Cleaner
	subscription *subscription.Subscription
	subscribed   sync.Once // it begins with the first wait
	heartbeat    *heartbeat.Heartbeat
	beating      sync.Once // it begins with the first ticket

	closing chan struct{}  // closed: waiting ends
	stop    chan struct{}  // closed: the loops end
	calls   sync.WaitGroup // of Lock, TryLock and Unlock
	loops   sync.WaitGroup // the watchdog, the cleaner, the subscription

	mu      sync.Mutex
	closed  bool
	states  map[string]*lockState // by state key
	tickets *tickets

	deadlines deadlines
}

// New returns Locks on the server of rdb, whatever its retries and time-outs. It does not connect. The client stays
// the caller's, who closes it after Close. A client with ContextTimeoutEnabled is faster: with any other, every command
// has a goroutine of its own, so that a context can end the wait for it.
func New(rdb redis.UniversalClient, opts ...Option) (*Locks, error) {
	if rdb == nil {
		return nil, fmt.Errorf("%w: no client", ErrInvalid)
	}
	l := &Locks{
		server:   server.New(rdb),
		process:  newID(),
		lease:    defaultWatchdogLease,
		observer: nobody{},
		closing:  make(chan struct{}),
		stop:     make(chan struct{}),
		states:   make(map[string]*lockState),
	}
	l.boxed = l.process
	l.address = l.server.Address()
	l.cleaner = cleaner.New(l.server)
	l.tickets = newTickets()
	l.heartbeat = heartbeat.New(l.server, l.heartbeats, l.wakeTickets)
	l.subscription = subscription.New(l.server, keys.WakeChannel(l.process), l.woken, l.wakeHeads)
	for _, opt := range opts {
		if err := opt(l); err != nil {
			return nil, err
		}
	}
	l.leaseArg = l.lease.Milliseconds()
	l.loops.Go(l.watch)
	l.loops.Go(func() { l.cleaner.Run(l.stop) })
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

// enter begins a call that Close waits for; it ends with l.calls.Done.
func (l *Locks) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	l.calls.Add(1)
	return nil
}

// attempt returns a new attempt. Its number is above those of all attempts before it.
func (l *Locks) attempt() *scripts.Attempt { return &scripts.Attempt{Number: l.numbers.Add(1)} }

// CheckServer asks the server, or each master of a cluster, whether it may throw locks away when its memory is
// full, and returns ErrEviction if so. Locks have expiries, so every policy but noeviction can take them. The library
// does not call it; a program's start is a good time. Any other error says that there was no answer to read: miniredis
// and some services do not show their policy.
func (l *Locks) CheckServer(ctx context.Context) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.calls.Done()
	if err := l.server.CheckMemory(ctx, time.Now().Add(policy.Release), l.closing); err != nil {
		return fmt.Errorf("locking: check the server: %w", err)
	}
	return nil
}
