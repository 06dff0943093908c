package locking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
	"inventory/internal/locking/internal/subscription"
)

// Locks is one process's way to the locks on one Redis: its identity, its watchdog, its subscription and
// its lock states. Make one per server and process, and share it. It is safe for concurrent use.
type Locks struct {
	server   *server.Server
	process  string        // names this process in the states, queues and channels
	lease    time.Duration // what holds get that the watchdog renews
	observer Observer
	address  string       // names the server, for the order of locks that all processes share
	numbers  atomic.Int64 // number of the last attempt

	subscription *subscription.Subscription
	subscribed   sync.Once // it begins with the first wait

	cleaning sync.Mutex
	cleanups []*releaseCall // what the cleaner is to do; guarded by cleaning
	unclean  chan struct{}  // with room for one: there is something

	hurry   chan struct{}  // with room for one: the watchdog is to renew at once
	closing chan struct{}  // closed: waiting ends
	stop    chan struct{}  // closed: the loops end
	calls   sync.WaitGroup // Lock, TryLock and Unlock, while they run
	loops   sync.WaitGroup // the watchdog, the cleaner, the heartbeat, the subscription

	mu     sync.Mutex
	closed bool

	// The registry, which is what this process knows of its locks: what it holds, and who waits for what. Guarded by mu.
	states map[string]*lockState // by state key
	grants map[share]*grant
	asking map[share]chan struct{} // a caller asks the server for a first-come lock; closed when it no longer does
}

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
		closing:  make(chan struct{}),
		stop:     make(chan struct{}),
		states:   make(map[string]*lockState),
		grants:   make(map[share]*grant),
		asking:   make(map[share]chan struct{}),
	}
	for _, opt := range opts {
		if err := opt(l); err != nil {
			return nil, err
		}
	}
	l.address = l.server.Address()
	polling := func(error) {}
	if o, ok := l.observer.(PollingObserver); ok {
		polling = o.Polling
	}
	l.subscription = subscription.New(l.server, wakeChannel(l.process), l.woken, l.wakeAll, polling)
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

// hurryLocked lets the watchdog renew at once what has begun late: the answer took long.
func (l *Locks) hurryLocked(h *singleHold) {
	if h.isLateLocked() {
		signal(l.hurry)
	}
}

// signal sends to a channel with room for one. What is there already says the same.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// A share is what one owner has to do with one lock.
type share struct {
	state string
	owner *owner
}

// A lockState is what this process knows of one lock: of a mutex while it holds it or waits for it, of both sides of a first-come
// lock while it waits.
type lockState struct {
	waiters []*waiter // first come, first served

	// Of a mutex only:
	grant  *grant // this process holds the lock
	queued bool   // the process may be in the server's queue, or may have its reservation
	placed bool   // the server has said that it is in the queue
	called bool   // a wake-up has come since
}

// stateOfLocked returns the lock state of a lock.
func (l *Locks) stateOfLocked(key string) *lockState {
	st := l.states[key]
	if st == nil {
		st = &lockState{}
		l.states[key] = st
	}
	return st
}

// tidyLocked forgets a lock state with nothing in it.
func (l *Locks) tidyLocked(key string) {
	if st := l.states[key]; st != nil && len(st.waiters) == 0 && st.grant == nil {
		delete(l.states, key)
	}
}

// removeLocked takes a waiter out of the line for a lock, and calls the next head. In a first-come lock the server does.
func (l *Locks) removeLocked(key string, w *waiter) {
	st := l.states[key]
	i := slices.Index(st.waiters, w)
	st.waiters = slices.Delete(st.waiters, i, i+1)
	if i == 0 && w.fifo == nil {
		st.wakeHeadLocked()
	}
	l.tidyLocked(key)
}

// wakeHeadLocked lets the first in line look again.
func (st *lockState) wakeHeadLocked() {
	if len(st.waiters) > 0 {
		signal(st.waiters[0].woken)
	}
}

// wakeLocked lets those waiters look again that are meant. They need not wait for the server's answer.
func (st *lockState) wakeLocked(meant func(w *waiter) bool) {
	for _, w := range st.waiters {
		if meant(w) {
			signal(w.woken)
		}
	}
}

// wakeOwnerLocked lets all callers of an owner except one look again.
func (st *lockState) wakeOwnerLocked(who *owner, but *waiter) {
	st.wakeLocked(func(w *waiter) bool { return w.owner == who && w != but })
}

// grantOfLocked returns what an owner has of the lock with a state key, or is about to have; or nil.
func (l *Locks) grantOfLocked(state string, who *owner) *grant {
	if g := l.grants[share{state, who}]; g != nil && len(g.holds)+g.joining > 0 {
		return g
	}
	return nil
}
