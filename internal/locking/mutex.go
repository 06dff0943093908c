package locking

import (
	"cmp"
	"context"
	"time"

	"inventory/internal/locking/internal/keys"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
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
	where, to := addressOf(name, opts)
	return &Mutex{l.lockAt(mutexKind{}, name, where, to, keys.Mutex, keys.MutexQueue)}
}

// mutexKind is the scripts of the Mutex.
type mutexKind struct{}

func (mutexKind) is() Kind { return KindMutex }

func (mutexKind) renewal(g *grant, lease time.Duration) scripts.Call { return renewing(g, lease) }

// renewing extends a state that has one holder. It names no other key: while a slot moves, a script with a key that does not
// exist is refused.
func renewing(g *grant, lease time.Duration) scripts.Call {
	return scripts.Renew.NewCall(1, 4).With(g.lock.stateKey, g.lease.id, g.lock.locks.numbers.Add(1), lease.Milliseconds(), g.lease.first)
}

func (mutexKind) raising(g *grant, n int64) scripts.Call {
	return scripts.Token.NewCall(2, 2).With(g.lock.bucket.Clock(), g.lock.stateKey, g.lease.id, n)
}

func (mutexKind) inspecting(a *lock) scripts.Call {
	return scripts.Inspect.NewCall(2, 0).With(a.stateKey, a.queueKey)
}

func (mutexKind) forcing(a *lock, seen sighting) scripts.Call {
	return scripts.Force.NewCall(2, 2+len(seen.ids)).With(a.stateKey, a.queueKey, policy.ReservationMS, seen.until()).With(seen.ids...)
}

// leveling asks for a token that is not below one of another server.
func leveling(g *grant, token int64) scripts.Call {
	return scripts.Level.NewCall(2, 2).With(g.lock.bucket.Clock(), g.lock.stateKey, g.lease.id, token)
}

func (mutexKind) settling(s *settlement) scripts.Call {
	count := 2 * len(s.rows)
	if s.tombstone != 0 {
		count++
	}
	call := scripts.Release.NewCall(count, 3+4*len(s.rows))
	for _, r := range s.rows {
		call = call.With(r.lock.stateKey, r.lock.queueKey)
	}
	if s.tombstone != 0 {
		call = call.With(s.rows[0].lock.tombstone(s.tombstone))
	}
	call = call.With(s.number(), policy.ReservationMS)
	for _, r := range s.rows {
		if r.id == "" { // no holder: the row is about the queue
			r.id = r.lock.locks.process + ":"
		}
		call = call.With(r.id, r.count, r.longest.Milliseconds(), cmp.Or(r.queue, scripts.QueueStay))
	}
	if s.tombstone != 0 {
		call = call.With(s.tombstoneFor.Milliseconds())
	}
	return call
}
