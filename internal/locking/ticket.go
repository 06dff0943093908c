package locking

import (
	"maps"
	"slices"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

// A ticket is a caller of this process who waits in the queue of a first-come lock.
type ticket struct {
	number string
	fifo   *fifo
	waiter waiter
	queued bool // it may be in the queue
}

// The tickets of this process. Guarded by Locks.mu.
type tickets struct {
	all    map[string]*ticket
	owners map[*owner][]*ticket
}

// addLocked notes a ticket.
func (s *tickets) addLocked(t *ticket) {
	s.all[t.number] = t
	s.owners[t.waiter.owner] = append(s.owners[t.waiter.owner], t)
}

// dropLocked forgets a ticket.
func (s *tickets) dropLocked(t *ticket) {
	delete(s.all, t.number)
	others := slices.DeleteFunc(s.owners[t.waiter.owner], func(other *ticket) bool { return other == t })
	if len(others) == 0 {
		delete(s.owners, t.waiter.owner)
	} else {
		s.owners[t.waiter.owner] = others
	}
}

// wakeLocked lets one waiter look again. One that has gone leaves the queue as well, and so wakes the next.
func (s *tickets) wakeLocked(number string) {
	if t := s.all[number]; t != nil {
		t.waiter.wakeLocked()
	}
}

// wakeOwnerLocked lets the waiters of an owner look again.
func (s *tickets) wakeOwnerLocked(who *owner) {
	for _, t := range s.owners[who] {
		t.waiter.wakeLocked()
	}
}

// heartbeats returns the script calls that show the server who waits for each lock, a batch of waiters in each. They are in
// the order of the tickets: the order of a map would differ in each replay of a simulation.
func (l *Locks) heartbeats() []scripts.Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := make(map[string]int) // of a lock, its call that still has room
	var calls []scripts.Call
	for _, number := range slices.Sorted(maps.Keys(l.tickets.all)) {
		t := l.tickets.all[number]
		if !t.queued {
			continue
		}
		key := t.fifo.wakeKey
		at, ok := open[key]
		if !ok || len(calls[at].Command) == cap(calls[at].Command) {
			at = len(calls)
			open[key] = at
			calls = append(calls, t.fifo.newCall(scripts.FifoHeartbeat, 0, 4+server.Batch).With(l.process, policy.WaiterLifeMS, policy.PollMS, policy.SoonMS))
		}
		calls[at] = calls[at].With(t.number)
	}
	return calls
}

// wakeTickets lets waiters look again.
func (l *Locks) wakeTickets(numbers []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, number := range numbers {
		l.tickets.wakeLocked(number)
	}
}
