package locking

import (
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
	"maps"
	"slices"
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

func newTickets() *tickets {
	return &tickets{all: make(map[string]*ticket), owners: make(map[*owner][]*ticket)}
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

// wakeAllLocked lets everybody look again.
func (s *tickets) wakeAllLocked() {
	for _, t := range s.all {
		t.waiter.wakeLocked()
	}
}

// wakeOwnerLocked lets those look again who belong to an owner.
func (s *tickets) wakeOwnerLocked(who *owner) {
	for _, t := range s.owners[who] {
		t.waiter.wakeLocked()
	}
}

// startHeartbeat sees to it that the heartbeat beats.
func (l *Locks) startHeartbeat() {
	l.beating.Do(func() { l.loops.Go(func() { l.heartbeat.Run(l.stop) }) })
	l.heartbeat.Wake()
}

// heartbeats returns the script calls that tell the server who waits for each lock, a batch of waiters in each.
func (l *Locks) heartbeats() []scripts.Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := make(map[string]scripts.Call)
	var calls []scripts.Call
	for _, t := range l.tickets.all {
		if !t.queued {
			continue
		}
		key := t.fifo.wakeKey
		call, ok := open[key]
		if !ok {
			call = t.fifo.newCall(scripts.FifoHeartbeat, 0, 3+server.Batch).With(l.boxed, policy.WaiterLifeMS, policy.PollMS, policy.SoonMS)
		}
		call = call.With(t.number)
		if open[key] = call; len(call.Command) == cap(call.Command) {
			calls = append(calls, call)
			delete(open, key)
		}
	}
	return slices.AppendSeq(calls, maps.Values(open))
}

// wakeTickets lets waiters look again.
func (l *Locks) wakeTickets(numbers []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, number := range numbers {
		l.tickets.wakeLocked(number)
	}
}
