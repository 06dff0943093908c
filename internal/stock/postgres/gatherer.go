package postgres

import (
	"slices"
	"sync"
)

// gatherer lets writes that wait at the same time go together. There is one writer: a goroutine that takes of all that wait
// as many as may go together, writes them, and ends when nothing waits.
type gatherer[W comparable] struct {
	choose  func(waiting []W) (taken, left []W) // left may use the array of waiting
	carry   func(taken []W)
	running sync.WaitGroup // the writer

	mu      sync.Mutex
	writing bool // the writer runs
	waiting []W
}

// push queues a write, and starts the writer if it does not run.
func (g *gatherer[W]) push(w W) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, w)
	if !g.writing {
		g.writing = true
		g.running.Go(g.write)
	}
}

// withdraw removes a write from those that wait. It reports false if the writer has taken it.
func (g *gatherer[W]) withdraw(w W) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(g.waiting, w)
	if at >= 0 {
		g.waiting = slices.Delete(g.waiting, at, at+1)
	}
	return at >= 0
}

// write is the writer.
func (g *gatherer[W]) write() {
	for taken := g.take(); len(taken) > 0; taken = g.take() {
		g.carry(taken)
	}
}

// take takes writes that wait. If nothing waits, the writer ends.
func (g *gatherer[W]) take() []W {
	g.mu.Lock()
	defer g.mu.Unlock()
	taken, left := g.choose(g.waiting)
	clear(g.waiting[len(left):])
	g.waiting = left
	g.writing = len(taken) > 0
	return taken
}
