package locking

import (
	"context"
	"fmt"
	"time"
)

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

// A Mutex excludes owners from each other. It is reentrant: an owner that holds it gets it again, with the same token,
// and must unlock each hold. The value has no state: all Mutexes of one name and group are the same lock. Callers of
// one process get it in the order in which they came. Between processes it only promises that a waiting process gets its
// turn.
type Mutex struct{ lock }

// Mutex returns the lock of a name, which may be any bytes but not empty.
func (l *Locks) Mutex(name string, opts ...MutexOption) *Mutex {
	return &Mutex{l.lockAt(mutexKind{}, name, addressOf(name, opts), roleMutex, roleMutexQueue)}
}

// A FairMutex is a Mutex that is strictly first come, first served: waiters of all processes get the lock in the order
// in which they came to the server. Every waiter sends a heartbeat at least once a second. A waiter that dies is
// passed over after 3 s, and no other ever is: a free lock waits for the head of its queue. A FairMutex and a Mutex of the
// same name are different locks.
type FairMutex struct{ *fifo }

// FairMutex returns the first-come lock of a name, which may be any bytes but not empty.
func (l *Locks) FairMutex(name string, opts ...MutexOption) *FairMutex {
	return &FairMutex{l.fifoAt(KindFair, roleFair, name, opts)}
}

// An RWMutex is held by one writer or by any number of readers. Both wait in one queue, first come, first
// served as in a FairMutex: a reader waits behind a writer that came earlier, and readers at the
// head together enter together.
//
// Both sides are reentrant and count separately. A writer may take the reading side as well. When it then unlocks
// the writing side first, it has become a reader, and others who wait to read enter. Take the reading side under any
// context that carries the writer's owner: the writer's hold.Context(), one made from it, or that of a MultiLock with
// the writer among its parts. It goes on when the writer is unlocked. A reader cannot become a writer, and gets
// ErrUpgrade: two that tried would wait for each other.
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
