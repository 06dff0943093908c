// Package turns lets many callers share a few places, each in its turn.
//
// Callers that request much wait behind callers that request little: the next place goes to the caller that will have had
// the least, including what it waits for. So a caller with a thousand requests, or with one as heavy as a thousand,
// slows down only itself. This is self-clocked fair queueing (Golestani 1994). It keeps nothing about callers that do
// not wait.
package turns

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Why there is no turn.
var (
	ErrFull = errors.New("too many wait for a turn")
	ErrLate = errors.New("the turn did not come in time")
)

// Config says how places are shared.
type Config struct {
	Places   int           // how many may be in use at a time
	Waiting  int           // requests that may wait, of all callers together
	Patience time.Duration // how long a caller waits
	// Weighed makes a turn take as many places as its weight, and count as many times among those that wait. A weight is
	// then at most Places.
	Weighed bool
	// Rest returns how long a place stays empty after a turn of this weight that took this long, at most Patience. Nil: not
	// at all.
	Rest func(weight int, took time.Duration) time.Duration
}

// Turns are the places, and the callers that wait for them. They are safe for concurrent use.
type Turns struct {
	Config

	mu      sync.Mutex
	free    int
	served  int64            // the mark of the turn that was given last
	waiting []*waiter        // by their marks; of equal marks, in the order in which they asked
	places  int              // how many these take together
	lines   map[string]*line // of the callers that wait
}

// waiter is a turn that was requested.
type waiter struct {
	caller string
	weight int64
	mark   int64         // what the caller will have had after this turn, in the scale that compares callers
	places int           // how many the turn takes
	turn   chan struct{} // closed when the turn has come
}

// line is all that one caller waits for.
type line struct {
	mark   int64 // that of its last waiter
	places int   // how many its waiters take together
}

// New returns places that are all free.
func New(c Config) *Turns {
	return &Turns{Config: c, free: c.Places, lines: make(map[string]*line)}
}

// Enter waits for a turn of a caller, which weighs weight. Its error is ErrFull, ErrLate, or why ctx ended. One caller may
// have at most as many requests waiting as there is room left: so there is always room for another caller.
func (t *Turns) Enter(ctx context.Context, caller string, weight int) (leave func(), err error) {
	w := t.ask(caller, weight)
	if w == nil {
		return nil, ErrFull
	}
	select {
	case <-w.turn: // at once
		return t.begin(w), nil
	default:
	}
	patience := time.NewTimer(t.Patience)
	defer patience.Stop()
	select {
	case <-w.turn:
		return t.begin(w), nil
	case <-patience.C:
		err = ErrLate
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if !t.withdraw(w) { // the turn came at the same time
		t.release(w.places)
	}
	return nil, err
}

// ask gives a turn, or a position in the caller's line; nil if the line is too long.
func (t *Turns) ask(caller string, weight int) *waiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := &waiter{caller: caller, weight: int64(weight), places: 1, turn: make(chan struct{})}
	if t.Weighed {
		w.places = weight
	}
	if len(t.waiting) == 0 && t.free >= w.places {
		t.free -= w.places
		t.served += w.weight
		close(w.turn)
		return w
	}
	l := t.lines[caller]
	if l == nil {
		l = &line{mark: t.served}
	}
	if l.places+w.places > t.Waiting-t.places {
		return nil
	}
	t.lines[caller] = l
	l.places, t.places = l.places+w.places, t.places+w.places
	l.mark += w.weight
	w.mark = l.mark
	behind, _ := slices.BinarySearchFunc(t.waiting, w.mark+1, func(other *waiter, mark int64) int { return cmp.Compare(other.mark, mark) })
	t.waiting = slices.Insert(t.waiting, behind, w)
	t.giveLocked() // there may be places for it, and too few for the one that was next
	return w
}

// begin begins a turn, and returns the function that ends it.
func (t *Turns) begin(w *waiter) func() {
	start := time.Now()
	return func() {
		var rest time.Duration
		if t.Rest != nil {
			rest = min(t.Rest(int(w.weight), time.Since(start)), t.Patience)
		}
		if rest <= 0 {
			t.release(w.places)
			return
		}
		time.AfterFunc(rest, func() { t.release(w.places) })
	}
}

// release gives places to the next in turn.
func (t *Turns) release(places int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free += places
	t.giveLocked()
}

// giveLocked gives turns while there are places for the next one. If the next one needs more places than are free, it is not
// overtaken: it would wait for ever.
func (t *Turns) giveLocked() {
	for len(t.waiting) > 0 && t.waiting[0].places <= t.free {
		next := t.waiting[0]
		t.free -= next.places
		t.served = next.mark
		close(next.turn)
		t.removeLocked(0)
	}
}

// removeLocked removes a waiter.
func (t *Turns) removeLocked(at int) {
	w := t.waiting[at]
	t.waiting = slices.Delete(t.waiting, at, at+1)
	l := t.lines[w.caller]
	l.places, t.places = l.places-w.places, t.places-w.places
	if l.places == 0 {
		delete(t.lines, w.caller)
	}
}

// withdraw cancels a request for a turn, and reports false if the turn has been given. The caller's later requests move
// up: it has not had this turn.
func (t *Turns) withdraw(w *waiter) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.Index(t.waiting, w)
	if at < 0 {
		return false
	}
	l, moves := t.lines[w.caller], false
	l.mark -= w.weight
	t.removeLocked(at)
	for _, later := range t.waiting[at:] {
		if later.caller == w.caller {
			later.mark -= w.weight
			moves = true
		}
	}
	if moves {
		slices.SortStableFunc(t.waiting, func(a, b *waiter) int { return cmp.Compare(a.mark, b.mark) })
	}
	t.giveLocked() // it may have needed more places than the next one
	return true
}
