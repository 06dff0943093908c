package tables

import (
	"slices"
	"sync"
)

// Gatherer has writes W that wait at the same time carried out together. A writer is a goroutine that takes as many of the waiting
// writes as may go together, carries them out, and ends when nothing waits:
//
//	a write comes ──> it waits ──> the writer takes all that may go together ──> they are carried out and answered
type Gatherer[W comparable] struct {
	// Room begins a write of several. The function that it returns is called for one write after another, those that have waited
	// longest first, and reports whether it takes it. It takes the first one.
	Room func() (takes func(W) bool)
	// Carry carries out writes, and answers each.
	Carry func([]W)

	mu      sync.Mutex
	waiting []W
	writing bool           // the writer runs
	closed  bool           // no write is taken any more
	running sync.WaitGroup // for the writer
}

// Push queues a write, and starts the writer if it does not run. It reports false if the gatherer is closed.
func (g *Gatherer[W]) Push(w W) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.waiting = append(g.waiting, w)
	if !g.writing {
		g.writing = true
		g.running.Go(g.run)
	}
	return true
}

// Withdraw removes a write that waits. It reports false if the writer has taken it.
func (g *Gatherer[W]) Withdraw(w W) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(g.waiting, w)
	if at >= 0 {
		g.waiting = slices.Delete(g.waiting, at, at+1)
	}
	return at >= 0
}

// State returns how many writes wait, and whether the writer runs: then one that comes now has to wait too.
func (g *Gatherer[W]) State() (waiting int, writing bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting), g.writing
}

// Close waits for the writer, and lets none start any more.
func (g *Gatherer[W]) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}

// run is the writer.
func (g *Gatherer[W]) run() {
	for taken := g.takeWaiting(); len(taken) > 0; taken = g.takeWaiting() {
		g.Carry(taken)
	}
}

// takeWaiting takes writes that wait. If nothing waits, the writer ends.
func (g *Gatherer[W]) takeWaiting() (taken []W) {
	g.mu.Lock()
	defer g.mu.Unlock()
	takes, left := g.Room(), g.waiting[:0]
	for _, w := range g.waiting {
		if takes(w) {
			taken = append(taken, w)
		} else {
			left = append(left, w)
		}
	}
	clear(g.waiting[len(left):])
	g.waiting, g.writing = left, len(taken) > 0
	return taken
}
