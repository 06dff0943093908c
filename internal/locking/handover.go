package locking

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// localFor is for how long after a script the lock may pass inside the process without another: the
	// reserved tokens are as good as new, and the lease has hardly begun.
	localFor = time.Millisecond

	// turnScripts and turnFor bound what a process keeps for its own while others wait: so many scripts,
	// or so long, whichever comes first.
	turnScripts = 16
	turnFor     = 2 * time.Millisecond
)

// Whether handover.lua yields to other processes that wait. A process that does not listen must not queue, for
// nobody could wake it, and it would be taken for dead.
const (
	yieldNever    = "n"
	yieldAndLook  = "y"
	yieldAndQueue = "q"
)

// What handover.lua answers in place of a token.
const (
	handoverNotOurs  = 0
	handoverYielded  = 1
	handoverOutdated = 2
)

// A handover is an unlock that gives the lock to the next in line of this process.
type handover struct {
	lock    *lock
	tenure  *tenure
	start   time.Time
	attempt *attempt
	to      any // a string: as whom the server will know the holder
	next    *waiter
	named   bool // it is the only one; else tokens are reserved for those after it
	yield   any  // how, one of yieldNever ...
}

// pass unlocks a hold by handing its lock over. It returns false where that cannot be done: the owner still
// holds the lock, or nobody waits for it here, or not in a way that fits. The caller has the owner's turn.
func (l *Locks) pass(ctx context.Context, until time.Time, h *Hold) (done bool, err error) {
	l.mu.Lock()
	next := l.heir(h)
	if next == nil {
		l.mu.Unlock()
		return false, nil
	}
	l.drop(h)
	h.grant.passed = true
	now := time.Now()
	l.observer.Released(h.lock.kind.name(), now.Sub(h.since))
	t := h.grant.tenure
	if t.next <= t.last && !t.cut && now.Sub(t.script) < localFor {
		l.give(h.lock, next, t, t.next, t.script.Add(trust(t.lease)))
		t.next++
		l.mu.Unlock()
		return true, nil
	}
	b := l.books[h.lock.state]
	b.passing, b.called = true, false
	v := l.newHandover(h.lock, t, next, now)
	l.mu.Unlock()
	return true, l.passByScript(ctx, until, v)
}

// heir returns who gets the lock of a hold next: the first in line, if the owner gives up its last hold and
// the lease is what that caller asked for. l.mu is held.
func (l *Locks) heir(h *Hold) *waiter {
	g := h.grant
	if g.count() != 1 || len(g.holds) != 1 || !time.Now().Before(h.deadline) { // a lost hold is among none, or past its deadline
		return nil
	}
	b := l.books[h.lock.state]
	if b == nil || b.tenure != g.tenure || len(b.waiters) == 0 {
		return nil
	}
	if next := b.waiters[0]; !next.asking && next.part.times == 1 && next.lease == b.tenure.lease {
		return next
	}
	return nil
}

// give hands the lock to a waiter, who is out of the line then. l.mu is held.
func (l *Locks) give(a *lock, to *waiter, t *tenure, token int64, trusted time.Time) {
	b := l.books[a.state]
	b.waiters = slices.Delete(b.waiters, 0, 1)
	to.gift = &gift{tenure: t, token: token, trusted: trusted}
	to.wake()
}

// newHandover prepares a trip. l.mu is held.
func (l *Locks) newHandover(a *lock, t *tenure, next *waiter, now time.Time) *handover {
	v := &handover{lock: a, tenure: t, start: now, attempt: l.attempt(), next: next}
	if v.named = len(l.books[a.state].waiters) == 1; v.named {
		v.to = l.holder(next.who, v.attempt.number)
	} else {
		v.to = l.nameless(v.attempt)
	}
	v.yield = yieldNever
	if t.scripts+1 >= turnScripts || now.Sub(t.since) >= turnFor {
		v.yield = yieldAndLook
		if l.subscription.listening() {
			v.yield = yieldAndQueue
		}
	}
	return v
}

// passByScript hands the lock over by a trip.
func (l *Locks) passByScript(ctx context.Context, until time.Time, v *handover) error {
	spare := 0
	if !v.named {
		spare = reserve - 1
	}
	call := append(handoverScript.newCall(3, 7), v.lock.place.clock(), v.lock.state, v.lock.queue,
		l.boxed, v.attempt, v.tenure.lease.Milliseconds(), v.tenure.id, v.to, spare, v.yield)
	e := errand{script: handoverScript, call: call, eval: (*Locks).evalPatiently}
	answer, err := l.trip(ctx, until, nil, e, v.attempt)
	if err == nil {
		if text, ok := answer.(string); ok {
			var token, more int64
			if token, more, err = tokensOf(text); err == nil {
				return l.passed(v, token, more)
			}
		} else if code, ok := answer.(int64); ok && code >= handoverNotOurs && code <= handoverOutdated {
			return l.notPassed(v, code)
		} else {
			err = strange(answer)
		}
	}
	// Whoever holds it now by the server's books, nobody does by ours.
	l.mu.Lock()
	defer l.mu.Unlock()
	l.disown(v.lock, v.tenure, v.tenure.id, v.to)
	return failed("hand over", v.lock.name, err)
}

// passed gives the lock, which the server knows as the next holder's, to the first in line.
func (l *Locks) passed(v *handover, token, spare int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := v.tenure
	t.id, t.first = v.to, token
	t.next, t.last = token+1, token+spare
	t.life, t.cut = t.lease, false
	t.raises, t.raised, t.unraised = 0, 0, false
	t.script = v.start
	t.scripts++
	if v.yield != yieldNever { // others had their chance, and nobody was there
		t.scripts, t.since = 0, v.start
	}
	b := l.books[v.lock.state]
	b.passing = false
	if len(b.waiters) > 0 && b.tenure == t {
		if next := b.waiters[0]; !next.asking && next.part.times == 1 && next.lease == t.lease && (!v.named || next == v.next) {
			l.give(v.lock, next, t, token, v.start.Add(trust(t.lease)))
			return nil
		}
	}
	l.disown(v.lock, t, t.id) // whom it was meant for has gone
	return nil
}

// notPassed deals with a lock that went elsewhere.
func (l *Locks) notPassed(v *handover, code int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	resent := v.attempt.sent.Load() > 1
	if v.yield == yieldAndQueue && (code == handoverYielded || resent) { // the first copy may have queued
		l.inherit(v.lock)
	}
	if code == handoverYielded && v.yield == yieldAndQueue {
		b := l.books[v.lock.state]
		b.tenure, b.passing = nil, false // nobody need look: we are in the queue
		if b.called {                    // or were, and have been promised the lock before we heard of the queue
			b.wakeHead()
		}
		l.tidy(v.lock)
		return nil
	}
	trusted := time.Now().Before(v.tenure.script.Add(trust(v.tenure.lease)))
	l.endTenure(v.lock, v.tenure)
	switch {
	case code == handoverYielded:
		return nil
	case resent && trusted:
		return nil // the first copy has done it, and the lock has gone on since
	case code == handoverOutdated:
		return fmt.Errorf("locking: hand over %q: outdated", v.lock.name)
	default:
		return ErrLost
	}
}

// inherit leaves the place in the server's queue to the line, or gives it up where nobody waits any more.
// l.mu is held.
func (l *Locks) inherit(a *lock) {
	if b := l.books[a.state]; len(b.waiters) > 0 {
		b.queued = true
		return
	}
	l.janitor.add(&settlement{locks: []*lock{a}, rows: []row{{place: placeLeave}}})
}

// disown has the server told that none of these ids hold the lock, and ends the tenure. l.mu is held.
func (l *Locks) disown(a *lock, t *tenure, ids ...any) {
	s := &settlement{attempt: l.attempt(), until: time.Now().Add(t.life)}
	for i, id := range ids {
		if i == 0 || id != ids[0] {
			s.locks = append(s.locks, a)
			s.rows = append(s.rows, row{id: id, place: placeStay})
		}
	}
	l.bury(s, []int64{t.ghost}, 2*t.lease)
	l.janitor.add(s)
	l.endTenure(a, t)
}
