package locking

import (
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
