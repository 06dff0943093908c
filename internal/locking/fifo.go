package locking

import (
	"time"

	"inventory/internal/locking/internal/keys"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// A fifo is one side of a first-come lock, with its scripts. No two values of this type are equal, so parts of such locks
// are taken and given back one at a time. Each side has its own address, so that the registry tells them apart: the writing
// side is the lock's state, the reading side its readers.
type fifo struct {
	lock
	kindName  Kind
	side      string
	wakeKey   string   // the key that names the lock in wake-ups
	otherKey  string   // the state of the other side; empty if there is none
	countsKey string   // the key of what the readers have
	keys      []string // as fifo.lua wants them, between the tombstone and the clock
}

// fifoAt returns a side of the first-come lock of a name.
func (l *Locks) fifoAt(is Kind, role, name string, opts []MutexOption) *fifo {
	where, to := addressOf(name, opts)
	f := &fifo{kindName: is, side: scripts.Write, wakeKey: where.Key(role, to)}
	for _, part := range []string{"", keys.Readers, keys.Counts, keys.Writing, keys.Reading, keys.Heartbeats, keys.Pulse} {
		f.keys = append(f.keys, where.Key(role+part, to))
	}
	f.countsKey = where.Key(role+keys.Counts, to)
	f.lock = l.lockAt(f, name, where, to, role, role+keys.Writing)
	switch is {
	case KindWrite:
		f.otherKey = where.Key(role+keys.Readers, to)
	case KindRead:
		f.side = scripts.Read
		f.otherKey, f.stateKey = f.stateKey, where.Key(role+keys.Readers, to)
		f.queueKey = where.Key(role+keys.Reading, to)
		f.order += "\x00r" // after the writing side of the same lock, and before every other lock
	}
	return f
}

// otherSideLocked returns the id of the holder by which the server knows an owner on the other side, or "".
func (f *fifo) otherSideLocked(who *owner) string {
	if g := f.locks.grantOfLocked(f.otherKey, who); g != nil {
		return g.lease.id
	}
	return ""
}

// newCall begins the call of a script about this side. It cancels an attempt, or 0 for none; then the clock's key
// stands in place of a tombstone.
func (f *fifo) newCall(s *scripts.Script, cancels int64, args int) scripts.Call {
	call := s.NewCall(2+len(f.keys), args).With(f.tombstone(cancels))
	for _, key := range f.keys {
		call = call.With(key)
	}
	return call.With(f.bucket.Clock())
}

func (f *fifo) is() Kind { return f.kindName }

func (f *fifo) renewal(g *grant, lease time.Duration) scripts.Call {
	if f.side == scripts.Write {
		return renewing(g, lease)
	}
	return scripts.FifoRenew.NewCall(2, 4).With(f.stateKey, f.countsKey, g.lease.id, f.locks.numbers.Add(1),
		lease.Milliseconds(), g.lease.first)
}

func (f *fifo) raising(g *grant, n int64) scripts.Call {
	return f.newCall(scripts.FifoToken, 0, 4).With(f.side, g.lease.id, n, f.otherSideLocked(g.owner))
}

func (f *fifo) inspecting(*lock) scripts.Call { return f.newCall(scripts.FifoInspect, 0, 0) }

func (f *fifo) forcing(_ *lock, seen sighting) scripts.Call {
	return f.newCall(scripts.FifoForce, 0, 3+len(seen.ids)).With(f.side, policy.WaiterLifeMS, seen.until()).With(seen.ids...)
}

// settling passes the ticket of a waiter that leaves in the row's queue action.
func (f *fifo) settling(s *settlement) scripts.Call {
	r := s.rows[0]
	return f.newCall(scripts.FifoRelease, s.tombstone, 9).With(f.locks.process, s.number(), f.side, r.id, r.count,
		r.longest.Milliseconds(), r.queue, s.tombstoneFor.Milliseconds(), policy.WaiterLifeMS)
}
