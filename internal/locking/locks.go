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
// goroutine of its own, so that a context can end the wait for it. Settings that do not suit locks are told to a WarnedObserver.
//
// The client should not ask for maintenance notifications, as it does by default (set MaintNotificationsConfig to ModeDisabled): go-redis
// 9.23 shares that setting between a client and its single connections, but not the mutex, and the race detector tells it.
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
	if o, ok := l.observer.(WarnedObserver); ok {
		if why := l.server.CheckSettings(l.lease / 3); why != nil {
			o.Warned(why)
		}
	}
	l.address, l.leaseWord = l.server.Address(), l.lease.Milliseconds()
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

// WaitReplicas makes an acquisition count only when that many replicas have confirmed it within a timeout, so that the lock lives
// on when one of them takes the server's place. If fewer do, it is cancelled and the error is ErrNotReplicated. Every acquisition
// by a script waits for that, which costs a round trip from the server to its replicas. Re-entries, renewals, releases and handoffs
// inside a process do not wait: the replicas already know whose lock it is, though perhaps with a shorter lease.
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

// A Locker is a lock of any kind, or several as one.
type Locker interface {
	// Name returns the name of the lock.
	Name() string

	// Lock waits for the lock and returns a hold on it, or an error and no hold: ErrBusy if the wait ran out or ctx
	// ended it (joined with the context's errors), ErrClosed, or another error. After an error the lock is not held,
	// and the attempt leaves nothing behind. ctx bounds the hold as well.
	Lock(ctx context.Context, opts ...LockOption) (*Hold, error)

	// TryLock is Lock without waiting: ErrBusy at once.
	TryLock(ctx context.Context, opts ...LockOption) (*Hold, error)
}

// A Mutex excludes owners from each other. It is reentrant: an owner that holds it gets it again, with the same token, and must
// unlock each hold. The value has no state: all Mutexes of one name and group are the same lock. Callers of one process get it in
// the order in which they came. Between processes it only promises that a waiting process gets its turn.
type Mutex struct{ lock }

// Mutex returns the lock of a name, which may be any bytes but not empty.
func (l *Locks) Mutex(name string, opts ...MutexOption) *Mutex {
	return &Mutex{l.lockAt(mutexKind{}, name, addressOf(name, opts), roleMutex, roleMutexQueue)}
}

// A FairMutex is a Mutex that is strictly first come, first served: waiters of all processes get the lock in the order in which
// they came to the server. Every waiter sends a heartbeat at least once a second. A waiter that dies is passed over after 3 s, and
// no other ever is: a free lock waits for the head of its queue. A FairMutex and a Mutex of the same name are different locks.
type FairMutex struct{ *fifo }

// FairMutex returns the first-come lock of a name, which may be any bytes but not empty.
func (l *Locks) FairMutex(name string, opts ...MutexOption) *FairMutex {
	return &FairMutex{l.fifoAt(KindFair, roleFair, name, opts)}
}

// An RWMutex is held by one writer or by any number of readers. Both wait in one queue, first come, first served as in a FairMutex:
// a reader waits behind a writer that came earlier, and readers at the head together enter together.
//
// Both sides are reentrant and count separately. A writer may take the reading side as well. When it then unlocks the writing side
// first, it has become a reader, and others who wait to read enter. Take the reading side under any context that carries the
// writer's owner: the writer's hold.Context(), one made from it, or that of a MultiLock with the writer among its parts. It goes on
// when the writer is unlocked. A reader cannot become a writer, and gets ErrUpgrade: two that tried would wait for each other.
//
// Each reader has its own lease. One that crashes, unlocks or is renewed does not touch those of the others. All who
// read at the same time have the same token, which is above that of the last writer and below that of the next. A guard
// may check it, but must not be raised by it.
type RWMutex struct{ writer, reader *fifo }

// RWMutex returns the read-write lock of a name, which may be any bytes but none.
func (l *Locks) RWMutex(name string, opts ...MutexOption) *RWMutex {
	return &RWMutex{
		writer: l.fifoAt(KindWrite, roleReadWrite, name, opts),
		reader: l.fifoAt(KindRead, roleReadWrite, name, opts),
	}
}

// Inspect asks the server who holds either side of the lock and how many wait.
func (m *RWMutex) Inspect(ctx context.Context) (State, error) { return m.writer.Inspect(ctx) }

// Name returns the name that the lock was made with.
func (m *RWMutex) Name() string { return m.writer.name }

// Reader returns the side that many can hold.
func (m *RWMutex) Reader() *RWSide { return &RWSide{m.reader} }

// Writer returns the side that one can hold.
func (m *RWMutex) Writer() *RWSide { return &RWSide{m.writer} }

// An RWSide is the reading or the writing side of an RWMutex.
type RWSide struct{ *fifo }

// Wait bounds how long Lock waits. Unlike the context, it does not bound the work under the lock. When it runs out,
// Lock returns ErrBusy, or what it waited for instead: ErrNoAnswer, or the refusal of a slot that moves. Wait(0) tries
// once. TryLock never waits for the lock; there it bounds the server's answer.
func Wait(d time.Duration) LockOption {
	return func(acq *acquisition) error {
		if d < 0 {
			return fmt.Errorf("%w: a wait of %s", ErrInvalid, d)
		}
		acq.until = acq.start.Add(d)
		return nil
	}
}

// Lease gives the hold a fixed lease, from 10 ms to 7 days: nothing renews it, and when it has run out the hold is
// lost and the next owner may enter.
func Lease(d time.Duration) LockOption {
	return func(acq *acquisition) error {
		acq.lease, acq.fixed = d.Truncate(time.Millisecond), true // as the server counts
		return checkLease(d)
	}
}

const (
	// defaultWatchdogLease is Redisson's: long enough to live through a pause of the server, short enough
	// that a crash does not stop the others for long.
	defaultWatchdogLease = 30 * time.Second

	// minLease is longer than a round trip to the server and the safety margin of a lease.
	minLease = 10 * time.Millisecond

	// maxLease stays below the life of the bucket's clock, and far away from overflows.
	maxLease = 7 * 24 * time.Hour
)

func checkLease(d time.Duration) error {
	if d < minLease || d > maxLease {
		return fmt.Errorf("%w: a lease of %s is not between %s and %s", ErrInvalid, d, minLease, maxLease)
	}
	return nil
}
