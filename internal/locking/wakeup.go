package locking

import (
	"strings"

	"inventory/internal/locking/internal/keys"
	"inventory/internal/locking/internal/scripts"
)

// woken passes a wake-up on: to the ticket that it names before a space and the state key, or to the head of the line
// of a lock. If no caller waits any more, the lock is reserved for nothing, and the reservation is given back.
func (l *Locks) woken(payload string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !strings.HasPrefix(payload, keys.Prefix) {
		ticket, _, _ := strings.Cut(payload, " ")
		l.tickets.wakeLocked(ticket)
		return
	}
	state := payload
	if st := l.states[state]; st != nil && len(st.waiters) > 0 {
		st.called = true
		st.wakeHeadLocked()
		return
	}
	if where, to, ok := keys.ParseMutex(state); ok {
		m := l.lockAt(mutexKind{}, "", where, to, keys.Mutex, keys.MutexQueue)
		l.settleLater(&settlement{rows: []row{{lock: &m, queue: scripts.QueueDecline}}})
	}
}

// polls tells the observer that wake-ups do not reach this process, or nil when they do again.
func (l *Locks) polls(why error) {
	if o, ok := l.observer.(PollingObserver); ok {
		o.Polling(why)
	}
}

// wakeHeads makes the head of every line and every ticket look again: wake-ups may have been missed, and processes that
// did not listen for a moment taken for dead.
func (l *Locks) wakeHeads() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, st := range l.states {
		st.placed = false
		st.wakeHeadLocked()
	}
	for _, t := range l.tickets.all {
		t.waiter.wakeLocked()
	}
}
