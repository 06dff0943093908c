package locking

import (
	"context"
	"time"
)

// The sides of a first-come lock, as its scripts know them.
const (
	sideWrite = "write"
	sideRead  = "read"
)

// A fifo is one side of a first-come lock. Each side has its own address, so that the books keep them
// apart: the writing side is the lock's state, the reading side its readers.
type fifo struct {
	lock
	side  string
	wakes string // the key that names the lock in wake-ups
	keys  []any  // as fifo.lua wants them, after the tombstone
}

// fifoAt returns a side of the first-come lock of a name.
func (l *Locks) fifoAt(side, role, name string, opts []MutexOption) *fifo {
	var o mutexOptions
	for _, opt := range opts {
		opt(&o)
	}
	where := placeOf(o.group, name)
	f := &fifo{side: side, wakes: where.key(role, name)}
	for _, part := range []string{"", roleReaders, roleCounts, roleWriting, roleReading, roleBeats, rolePulse} {
		f.keys = append(f.keys, where.key(role+part, name))
	}
	f.lock = l.lockAt(f, where, name, role, role+roleWriting)
	if side == sideRead {
		f.state = where.key(role+roleReaders, name)
		f.queue = where.key(role+roleReading, name)
		f.order += "\x00r" // after the writing side of the same lock, and before every other lock
	}
	return f
}

// Lock implements Locker.
func (f *fifo) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return f.acquire(ctx, false, opts)
}

// TryLock implements Locker. It neither waits nor queues, and finds a lock busy that is free but promised
// to somebody who waits.
func (f *fifo) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return f.acquire(ctx, true, opts)
}

// newCall begins the call of a script about this side, with some more arguments that are to be added.
func (f *fifo) newCall(s *script, tombstone string, args int) scriptCall {
	call := s.newCall(1+len(f.keys), args)
	return append(append(call, tombstone), f.keys...)
}

// acquisition is the call that asks for the lock. token is that of the hold to re-enter, or empty.
func (f *fifo) acquisition(try *attempt, id string, lease time.Duration, count int, token, ticket, place string) scriptCall {
	call := fifoAcquireScript.newCall(2+len(f.keys), 9)
	call = append(append(call, f.tombstone(try.number)), f.keys...)
	return append(call, f.place.clock(),
		f.locks.boxed, try, f.side, id, lease.Milliseconds(), count, token, ticket, place)
}

// renewal implements kind.
func (f *fifo) renewal(g *grant, lease time.Duration) errand {
	call := f.newCall(fifoRenewScript, f.tombstone(0), 4)
	return errand{fifoRenewScript, append(call, f.side, g.tenure.id, g.tenure.token, lease.Milliseconds())}
}

// settling implements kind. The place of a row is the ticket of a waiter that leaves. Parts of first-come
// locks come one at a time.
func (f *fifo) settling(s *settlement) errand {
	number, r := any(0), s.rows[0]
	if s.attempt != nil {
		number = s.attempt
	}
	leaves := r.place
	if leaves == placeStay {
		leaves = ""
	}
	call := f.newCall(fifoReleaseScript, f.tombstone(s.tombstone), 8)
	return errand{fifoReleaseScript, append(call, f.locks.boxed, number, f.side, r.id, r.count,
		r.remaining.Milliseconds(), leaves, s.tombstoneFor.Milliseconds())}
}

// take implements kind.
func (f *fifo) take(c *call, run []*part) error {
	l := f.locks
	if err := l.enter(); err != nil {
		return err
	}
	defer l.calls.Done()
	v := &visit{locks: l, fifo: f, call: c, part: run[0]}
	v.part.tenant = l.tenant(v.part.lock, c.who)
	defer l.retire(v.part.tenant)
	err := v.seek()
	if err == nil && c.ctx.Err() != nil { // granted too late: who has gone is not admitted
		err = ended(c.ctx, nil)
	}
	v.leave()
	if err != nil {
		_ = l.release(c.ctx, v.part.holds) // what fails here is repeated in the background
	}
	return err
}
