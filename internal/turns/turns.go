// Package turns lets many callers share a few places, each in its turn.
//
// Callers that request much wait behind callers that request little: the next place goes to the caller that will have had
// the least, including what it waits for. So a caller with a thousand requests, or with one as heavy as a thousand,
// slows down only itself. This is self-clocked fair queueing (Golestani 1994). It keeps nothing about callers that do
// not wait.
package turns

import (
	"container/heap"
	"context"
	"errors"
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
	waiting int
	served  int64            // the mark of the turn that was given last
	count   int64            // how many turns were requested
	lines   map[string]*line // those of the callers that wait
	first   marked           // the same lines, those with the lowest mark first
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
	if !t.withdraw(caller, w) { // the turn came at the same time
		t.release(w.places)
	}
	return nil, err
}

// ask gives a turn, or a position in the caller's line; nil if the line is too long.
func (t *Turns) ask(caller string, weight int) *waiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	w := &waiter{weight: int64(weight), places: 1, number: t.count, turn: make(chan struct{})}
	if t.Weighed {
		w.places = weight
	}
	if t.waiting == 0 && t.free >= w.places {
		t.free -= w.places
		t.served += w.weight
		close(w.turn)
		return w
	}
	l := t.lines[caller]
	if l == nil {
		l = &line{caller: caller, mark: t.served}
	}
	if l.places+w.places > t.Waiting-t.waiting {
		return nil
	}
	t.waiting += w.places
	l.places += w.places
	l.waiting = append(l.waiting, w)
	if len(l.waiting) == 1 {
		l.mark += w.weight
		t.lines[caller] = l
		heap.Push(&t.first, l)
	}
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
	for t.waiting > 0 {
		l := t.first[0]
		next := l.waiting[0]
		if next.places > t.free {
			return
		}
		t.free -= next.places
		t.served = l.mark
		close(next.turn)
		t.remove(l, 0)
	}
}

// withdraw cancels a request for a turn, and reports false if the turn has been given.
func (t *Turns) withdraw(caller string, w *waiter) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[caller]
	if l == nil {
		return false
	}
	for at, other := range l.waiting {
		if other == w {
			if at == 0 {
				l.mark -= w.weight
			}
			t.remove(l, at)
			t.giveLocked() // it may have needed more places than the next one
			return true
		}
	}
	return false
}
