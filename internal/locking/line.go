package locking

import "slices"

// A line is where the callers of this process wait for one lock, first come first served. Only its head
// talks to the server, so the process stands in the server's queue once however many wait here. The
// place there belongs to the line: who comes to the head inherits it, and a promise made to it.
type line struct {
	waiters []*waiter
	queued  bool // the process may be in the server's queue, or may have its promise
}

// A waiter is a caller in a line. It is used under Locks.mu.
type waiter struct {
	who   *owner
	woken bool          // look again: at the head, woken up, or the owner has got the lock elsewhere
	ready chan struct{} // receives the same while the caller waits; nil before it does
}

func (w *waiter) wake() {
	w.woken = true
	select {
	case w.ready <- struct{}{}:
	default: // it is not waiting, or it will look anyway
	}
}

// join puts the caller into the line of a part, and tells whether it is at the head.
func (l *Locks) join(c *call, p *part) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.waiter == nil {
		p.waiter = &waiter{who: c.who}
		if l.lines[p.mutex.state] == nil {
			l.lines[p.mutex.state] = &line{}
		}
		waiting := l.lines[p.mutex.state]
		waiting.waiters = append(waiting.waiters, p.waiter)
	}
	p.waiter.woken = false // it looks now; what comes from now on is news
	return l.lines[p.mutex.state].waiters[0] == p.waiter
}

// wakeUp returns what tells a waiter to look again. A wake-up that came before is not lost.
func (l *Locks) wakeUp(w *waiter) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.ready == nil {
		w.ready = make(chan struct{}, 1)
	}
	if w.woken {
		w.wake()
	}
	return w.ready
}

// leave takes the caller out of the line of a part. Who leaves an empty line behind gives up the place in
// the server's queue, and stays at the head until that is done: else it could take away the place of the
// next one. It returns what to wait for, or nil.
func (l *Locks) leave(p *part) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := p.waiter
	if w == nil {
		return nil
	}
	p.waiter = nil
	waiting := l.lines[p.mutex.state]
	if !waiting.queued || len(waiting.waiters) > 1 {
		l.remove(p.mutex.state, w)
		return nil
	}
	waiting.queued = false
	return l.janitor.add(&settlement{
		mutexes: []*Mutex{p.mutex},
		rows:    []row{{place: placeLeave}},
		tried: func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.remove(p.mutex.state, w)
		},
	})
}

// remove takes a waiter out of a line and calls the next head. l.mu is held.
func (l *Locks) remove(state string, w *waiter) {
	waiting := l.lines[state]
	i := slices.Index(waiting.waiters, w)
	waiting.waiters = slices.Delete(waiting.waiters, i, i+1)
	if len(waiting.waiters) == 0 {
		delete(l.lines, state)
	} else if i == 0 {
		waiting.waiters[0].wake()
	}
}

// woken passes a wake-up on to the head of the line of a lock. If nobody waits any more, the lock is
// promised to us in vain, and the promise is given back.
func (l *Locks) woken(state string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if waiting := l.lines[state]; waiting != nil {
		waiting.waiters[0].wake()
		return
	}
	if m, ok := l.mutexOf(state); ok {
		l.janitor.add(&settlement{mutexes: []*Mutex{m}, rows: []row{{place: placePass}}})
	}
}

// wakeHeads makes the head of every line look again: wake-ups may have been missed.
func (l *Locks) wakeHeads() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, waiting := range l.lines {
		waiting.waiters[0].wake()
	}
}

// reenter lets those in the line look again who belong to an owner that has just got the lock: they need
// not wait for it. l.mu is held.
func (l *Locks) reenter(state string, who *owner) {
	if waiting := l.lines[state]; waiting != nil {
		for _, w := range waiting.waiters {
			if w.who == who {
				w.wake()
			}
		}
	}
}
