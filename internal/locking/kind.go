package locking

import (
	"cmp"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// mutexKind is the scripts of the Mutex.
type mutexKind struct{}

func (mutexKind) is() Kind { return KindMutex }

// renewing names no other key: while a slot moves, a script with a key that does not exist is refused.
func (mutexKind) renewing(a *lock) scripts.Call { return scripts.Renew.NewCall(1, 3).With(a.stateKey) }

func (mutexKind) raising(g *grant, n int64) scripts.Call {
	return scripts.Token.NewCall(2, 2).With(g.lock.clock(), g.lock.stateKey, g.id, n)
}

// leveling asks for a token that is not below one of another server.
func leveling(g *grant, token int64) scripts.Call {
	return scripts.Level.NewCall(2, 2).With(g.lock.clock(), g.lock.stateKey, g.id, token)
}

func (mutexKind) inspecting(a *lock) scripts.Call {
	return scripts.Inspect.NewCall(2, 0).With(a.stateKey, a.queueKey)
}

func (mutexKind) forcing(a *lock, seen sighting) scripts.Call {
	return scripts.Force.NewCall(2, 2+len(seen.ids)).With(a.stateKey, a.queueKey, policy.ReservationMS, seen.until()).With(seen.ids...)
}

func (mutexKind) releasing(s *releaseCall) scripts.Call {
	count := 2 * len(s.rows)
	if s.tombstone != 0 {
		count++
	}
	call := scripts.Release.NewCall(count, 3+2*len(s.rows))
	for _, r := range s.rows {
		call = call.With(r.lock.stateWord, r.lock.queueWord)
	}
	if s.tombstone != 0 {
		call = call.With(s.rows[0].lock.tombstone(s.tombstone))
	}
	call = call.With(&s.attempt, policy.ReservationMS)
	if len(s.rows) == 1 && s.rows[0].queue == "" && s.tombstone == 0 { // it gives back one lock and does nothing else
		return call.With(s.rows[0].holder())
	}
	for _, r := range s.rows {
		call = call.With(r.holder(), scripts.QueueWord(cmp.Or(r.queue, scripts.QueueStay)))
	}
	if s.tombstone != 0 {
		call = call.With(s.tombstoneFor.Milliseconds())
	}
	return call
}

// holder names the holder.
func (r releaseRow) holder() any {
	if r.id == nil { // the row is about the queue
		return r.lock.locks.process + ":"
	}
	return r.id
}

// fifoAt returns a side of the first-come lock of a name.
func (l *Locks) fifoAt(is Kind, role, name string, opts []MutexOption) *fifo {
	f := &fifo{kindName: is, side: scripts.Write}
	f.lock = l.lockAt(f, name, addressOf(name, opts), role, role+partWriting)
	for _, part := range []string{"", partReaders, partTokens, partWriting, partReading, partHeartbeats, partPulse} {
		f.keys = append(f.keys, f.key(role+part))
	}
	f.wakeKey, f.tokensKey = f.stateKey, f.key(role+partTokens)
	readers := f.key(role + partReaders)
	switch is {
	case KindWrite:
		f.otherKey = readers
	case KindRead:
		f.side = scripts.Read
		f.otherKey, f.stateKey, f.queueKey = f.stateKey, readers, f.key(role+partReading)
		f.order += "\x00r" // after the writing side of the same lock, and before every other lock
	}
	return f
}

// newCall begins the call of a script about this side. It cancels an attempt, or 0 for none; then the clock's key
// stands in place of a tombstone.
func (f *fifo) newCall(s *scripts.Script, cancels int64, args int) scripts.Call {
	call := s.NewCall(2+len(f.keys), args).With(f.tombstone(cancels))
	for _, key := range f.keys {
		call = call.With(key)
	}
	return call.With(f.clock())
}

func (f *fifo) is() Kind { return f.kindName }

func (f *fifo) renewing(a *lock) scripts.Call {
	if f.side == scripts.Write {
		return mutexKind{}.renewing(a) // its state has one holder, too
	}
	return scripts.FifoRenew.NewCall(2, 3).With(f.stateKey, f.tokensKey)
}

func (f *fifo) raising(g *grant, n int64) scripts.Call {
	return f.newCall(scripts.FifoToken, 0, 4).With(f.side, g.id, n, f.otherSideLocked(g.owner))
}

// otherSideLocked returns the id of the holder by which the server knows an owner on the other side, or "".
func (f *fifo) otherSideLocked(who *owner) any {
	if g := f.locks.grantOfLocked(f.otherKey, who); g != nil {
		return g.id
	}
	return ""
}

func (f *fifo) inspecting(*lock) scripts.Call { return f.newCall(scripts.FifoInspect, 0, 0) }

func (f *fifo) forcing(_ *lock, seen sighting) scripts.Call {
	return f.newCall(scripts.FifoForce, 0, 3+len(seen.ids)).With(f.side, policy.WaiterLifeMS, seen.until()).With(seen.ids...)
}

// releasing passes the ticket of a waiter that leaves in the row's queue action.
func (f *fifo) releasing(s *releaseCall) scripts.Call {
	r := s.rows[0]
	return f.newCall(scripts.FifoRelease, s.tombstone, 7).With(f.locks.process, &s.attempt, f.side, cmp.Or[any](r.id, ""), r.queue,
		s.tombstoneFor.Milliseconds(), policy.WaiterLifeMS)
}
