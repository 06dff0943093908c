package locking

import (
	"slices"
	"strings"
	"time"
)

// Callers of this process wait for a lock in a line, first come first served. Only its head talks to the
// server, so the process stands in the server's queue once however many wait here. The place there belongs
// to the line: who comes to the head inherits it, and a promise made to it. While the process holds the
// lock itself nobody needs to ask: the holder hands it over.

// A waiter is a caller in a line. It is used under Locks.mu.
type waiter struct {
	part   *part
	who    *owner
	lease  time.Duration
	asking bool          // it is on a trip, and cannot be handed the lock meanwhile
	gift   *gift         // what it was handed; it is not in the line any more
	woken  bool          // look again
	ready  chan struct{} // receives the same while the caller waits; nil before it does
}

// A gift is a lock on its way from one owner of this process to the next.
type gift struct {
	tenure  *tenure
	token   int64
	trusted time.Time
}

func (w *waiter) wake() {
	w.woken = true
	select {
	case w.ready <- struct{}{}:
	default: // it is not waiting, or it will look anyway
	}
}

// What a caller may do next about a lock.
type stance int

const (
	mayWait stance = iota // it stands in the line
	mayAsk                // it is at the head, or its owner holds the lock already
	isGiven               // the lock was handed to it
)

// stand puts the caller into the line of a part where that is needed, and tells what it may do.
func (l *Locks) stand(c *call, p *part) stance {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.waiter != nil && p.waiter.gift != nil && l.accept(c, p) {
		return isGiven
	} // else it came too late, and the caller stands in line anew
	if l.bid(c, p) {
		l.leaveLine(p)
		return mayAsk
	}
	b := l.bookOf(p.lock)
	l.join(c, p, b)
	p.waiter.woken = false // it looks now; what comes from now on is news
	if b.waiters[0] != p.waiter || b.passing {
		return mayWait
	}
	now := time.Now()
	if b.tenure != nil && !c.try && now.Before(p.nextAsk) {
		return mayWait
	}
	p.nextAsk = now.Add(pollInterval)
	p.waiter.asking = true
	return mayAsk
}

// join puts the caller at the end of the line if it does not stand there. l.mu is held.
func (l *Locks) join(c *call, p *part, b *book) {
	if p.waiter != nil {
		return
	}
	p.waiter = &p.firstWaiter
	*p.waiter = waiter{part: p, who: c.who, lease: c.leaseOr(l.lease)}
	if b.tenure != nil {
		p.nextAsk = time.Now().Add(pollInterval) // the holder hands it over; to poll is for when it cannot
	}
	b.waiters = append(b.waiters, p.waiter)
}

// joinHead is join for a part that comes after the first of a run: only who is at the head at once stays.
func (l *Locks) joinHead(c *call, p *part) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bid(c, p) {
		return true
	}
	b := l.bookOf(p.lock)
	if p.waiter == nil && (len(b.waiters) > 0 || b.tenure != nil) {
		return false
	}
	l.join(c, p, b)
	if b.waiters[0] != p.waiter || p.waiter.gift != nil || b.tenure != nil {
		return false
	}
	p.waiter.asking = true
	return true
}

// accept makes a hold of what the caller was handed. l.mu is held.
func (l *Locks) accept(c *call, p *part) bool {
	given := p.waiter.gift
	p.waiter = nil
	b := l.bookOf(p.lock)
	if b.tenure != given.tenure {
		return false // lost on the way
	}
	if !time.Now().Before(given.trusted) {
		l.disown(p.lock, given.tenure, given.tenure.id)
		return false
	}
	g := &grant{lock: p.lock, who: c.who, token: given.token, tenure: given.tenure, said: 1}
	b.grants.add(g)
	l.holdAll(c, p, g, given.trusted)
	l.reenter(b, c.who)
	return true
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
	return l.leaveLine(p)
}

// leaveLine is leave. l.mu is held.
func (l *Locks) leaveLine(p *part) <-chan struct{} {
	w := p.waiter
	if w == nil || w.gift != nil {
		return nil
	}
	p.waiter = nil
	b := l.books[p.lock.state]
	if !b.queued || len(b.waiters) > 1 {
		l.remove(p.lock, w)
		return nil
	}
	b.queued = false
	gone := *w // the part may be used again before the janitor is done
	gone.asking = true
	b.waiters[0] = &gone
	return l.janitor.add(&settlement{
		locks: []*lock{p.lock},
		rows:  []row{{place: placeLeave}},
		tried: func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.remove(p.lock, &gone)
		},
	})
}

// remove takes a waiter out of a line and calls the next head. l.mu is held.
func (l *Locks) remove(a *lock, w *waiter) {
	b := l.books[a.state]
	i := slices.Index(b.waiters, w)
	b.waiters = slices.Delete(b.waiters, i, i+1)
	if i == 0 {
		b.wakeHead()
	}
	l.tidy(a)
}

// wakeHead lets the first in line look again. While the lock is handed over it may not: it is called once
// more after that. l.mu is held.
func (b *book) wakeHead() {
	b.called = b.passing
	if len(b.waiters) > 0 {
		b.waiters[0].wake()
	}
}

// woken passes a wake-up on: to the ticket that it names before a space and the state key, or to the head
// of the line of a lock. If nobody waits any more, the lock is promised to us in vain, and the promise is
// given back.
func (l *Locks) woken(payload string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !strings.HasPrefix(payload, keyPrefix) {
		ticket, _, _ := strings.Cut(payload, " ")
		l.tickets.wake(ticket)
		return
	}
	state := payload
	if b := l.books[state]; b != nil && len(b.waiters) > 0 {
		b.wakeHead()
		return
	}
	if m, ok := l.mutexOf(state); ok {
		l.janitor.add(&settlement{locks: []*lock{&m.lock}, rows: []row{{place: placePass}}})
	}
}

// wakeHeads makes the head of every line and every ticket look again: wake-ups may have been missed.
func (l *Locks) wakeHeads() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.books {
		b.wakeHead()
	}
	l.tickets.wakeAll()
}

// reenter lets those in the line look again who belong to an owner that has just got the lock: they need
// not wait for it. l.mu is held.
func (l *Locks) reenter(b *book, who *owner) {
	for _, w := range b.waiters {
		if w.who == who {
			w.wake()
		}
	}
}
