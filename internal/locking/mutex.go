package locking

import (
	"context"
	"strconv"
	"strings"
)

// A Locker is a lock: a Mutex, or several as one.
type Locker interface {
	// Name tells which lock it is.
	Name() string

	// Lock waits for the lock and returns a hold on it, or an error and no hold: ErrBusy when the wait
	// ran out or ctx ended it (joined with the context's errors), ErrClosed, or what went wrong. An
	// error is never a grant, and nothing of the attempt is left behind. ctx bounds the hold as well.
	Lock(ctx context.Context, opts ...LockOption) (*Hold, error)

	// TryLock is Lock without waiting: ErrBusy at once.
	TryLock(ctx context.Context, opts ...LockOption) (*Hold, error)
}

// A Mutex excludes owners from each other. It is reentrant: an owner that holds it gets it again, with
// the same token, and must unlock each hold. It has no state; all Mutexes of one name and group are the
// same lock. It promises no order between processes beyond this: a process that waits gets its turn.
type Mutex struct {
	locks *Locks
	name  string
	place place
	state string // the key of its state, which also names it in wake-ups
	claim string
	queue string
	order string // where it stands in the order of all locks

	clock any    // the key of the bucket's last token
	keys  []any  // state, claim and queue, as scripts take them
	tombs string // the beginning of the keys of tombstones
}

// Mutex returns the lock of a name, which may be any bytes but none.
func (l *Locks) Mutex(name string, opts ...MutexOption) *Mutex {
	var o mutexOptions
	for _, opt := range opts {
		opt(&o)
	}
	return l.mutexAt(placeOf(o.group, name), name)
}

func (l *Locks) mutexAt(where place, name string) *Mutex {
	m := &Mutex{
		locks: l,
		name:  name,
		place: where,
		state: where.key(roleMutex, name),
		claim: where.key(roleMutexClaim, name),
		queue: where.key(roleMutexQueue, name),
		clock: where.clock(),
		tombs: where.tombstones(l.process),
	}
	m.keys = []any{m.state, m.claim, m.queue}
	m.order = m.state + "\x00" + l.address
	return m
}

// mutexOf returns the mutex of a state key.
func (l *Locks) mutexOf(state string) (*Mutex, bool) {
	bucket, rest, _ := strings.Cut(state, "}:")
	name, ok := strings.CutPrefix(rest, roleMutex+":")
	if !ok {
		return nil, false
	}
	return l.mutexAt(place(bucket+"}:"), name), true
}

// tombstone returns the key that cancels an attempt. A script must be told some key also where no attempt
// is meant, which is 0: none is written then.
func (m *Mutex) tombstone(number int64) any {
	if number == 0 {
		return m.clock
	}
	return m.tombs + strconv.FormatInt(number, 10)
}

// Name returns the name that the lock was made with.
func (m *Mutex) Name() string { return m.name }

// Lock implements Locker.
func (m *Mutex) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.lock(ctx, false, opts)
}

// TryLock implements Locker. It neither waits nor queues, and finds a lock busy that is free but
// promised to somebody who waits.
func (m *Mutex) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.lock(ctx, true, opts)
}

func (m *Mutex) lock(ctx context.Context, try bool, opts []LockOption) (*Hold, error) {
	c, err := newCall(ctx, try, opts)
	if err != nil {
		return nil, err
	}
	if m.name == "" {
		return nil, ErrEmptyName
	}
	run := []*part{{mutex: m, times: 1}}
	if err := m.locks.take(c, run); err != nil {
		return nil, err
	}
	return run[0].holds[0], nil
}
