package locking

import (
	"time"
)

// A waiter is a caller in a line. Guarded by Locks.mu.
type waiter struct {
	times   int // how many holds it wants
	owner   *owner
	lease   time.Duration
	asking  bool          // it is asking the server, and cannot be handed the lock meanwhile
	leaving bool          // its caller has gone; it stays until the server was asked to take the process out of the queue
	handoff *handoff      // what it was handed; then it is no longer in the line
	woken   bool          // look again
	ready   chan struct{} // receives the same while the caller waits; nil before it does
}

// A handoff is a lock on its way from one owner of this process to the next.
type handoff struct {
	lease   *lease
	token   int64
	trusted time.Time
}

// readyLocked returns what receives wake-ups, with the one that came before.
func (w *waiter) readyLocked() <-chan struct{} {
	if w.ready == nil {
		w.ready = make(chan struct{}, 1)
	}
	if w.woken {
		w.wakeLocked()
	}
	return w.ready
}

func (w *waiter) wakeLocked() {
	w.woken = true
	select {
	case w.ready <- struct{}{}:
	default: // it is not waiting, or is about to look anyway
	}
}
