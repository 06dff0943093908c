package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

const (
	sharedSlack = 250 * time.Millisecond // a write with less time than this until its deadline goes by itself
	writerWait  = 500 * time.Millisecond // a write waits that long for the writer, whose connection may have died
	othersFor   = time.Second            // for this long after another process was met, it is expected to write too
)

// gatherer lets writes W that wait at the same time share a transaction, and returns to each its answer A. A writer is a goroutine that takes as many of the waiting writes as may go together, carries them
// out, and ends when nothing waits. There is one writer, or a second one while enough writes wait: it works while the first
// one waits for the disk. If other processes write to the same rows, their writers use that time, and there is one here.
//
// The zero answer says that nothing of a write is written. The write then goes by itself, and is decided as if it had never
// been shared.
type gatherer[W, A any] struct {
	// room starts a shared write. The function that it returns is called for one write after another, those that have waited
	// longest first, and reports whether the shared write takes it.
	room    func() (takes func(W) bool)
	carry   carrier[W, A]
	enough  int            // writes that wait, for a second writer; 0: there is none
	running sync.WaitGroup // the writers

	mu      sync.Mutex
	writers int       // that run
	met     time.Time // when another process was met last
	waiting []*sharedWrite[W, A]
	closed  bool // no write is shared any more
}

// A carrier carries out writes, none of them after the deadline, and returns an answer for each. If it fails, the error is that of
// each write: none is written if it is [stock.ErrUnwritten].
type carrier[W, A any] func(ctx context.Context, deadline time.Time, writes []W) ([]A, error)

// sharedWrite is a write that is, or waits to be, a part of a shared write.
type sharedWrite[W, A any] struct {
	write    W
	ctx      context.Context //nolint:containedctx // of the caller, whose deadline the shared write keeps
	deadline time.Time       // after which nothing of it may be written, the context's if that is earlier; zero: there is none
	answer   chan sharedAnswer[A]
}

type sharedAnswer[A any] struct {
	answer A
	err    error
}

// hasTime reports whether there is enough time left for a shared write.
func (w *sharedWrite[W, A]) hasTime() bool {
	return w.ctx.Err() == nil && (w.deadline.IsZero() || time.Until(w.deadline) > sharedSlack)
}

// together carries out a write with others that wait at the same time.
func (g *gatherer[W, A]) together(ctx context.Context, deadline time.Time, write W) (none A, err error) {
	until, _ := ctx.Deadline()
	w := &sharedWrite[W, A]{write, ctx, stock.Earlier(deadline, until), make(chan sharedAnswer[A], 1)}
	if !w.hasTime() || !g.push(w) {
		return none, nil
	}
	patience := time.NewTimer(writerWait)
	defer patience.Stop()
	for {
		select {
		case a := <-w.answer:
			return a.answer, a.err
		case <-ctx.Done():
			if g.withdraw(w) {
				return none, stock.Unwritten(ctx.Err())
			}
			return none, ctx.Err()
		case <-patience.C:
			if g.withdraw(w) {
				return none, nil
			}
		}
	}
}

// push queues a write, and starts a writer if one is needed. It reports false after close.
func (g *gatherer[W, A]) push(w *sharedWrite[W, A]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.waiting = append(g.waiting, w)
	if g.writers == 0 || g.writers == 1 && g.needsSecondLocked() {
		g.writers++
		g.running.Go(g.run)
	}
	return true
}

// close waits for the writers, and lets none start any more.
func (g *gatherer[W, A]) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}

// needsSecondLocked reports whether a second writer pays: enough writes wait, and no other process writes as well.
func (g *gatherer[W, A]) needsSecondLocked() bool {
	return g.enough > 0 && len(g.waiting) >= g.enough && time.Since(g.met) > othersFor
}

// meet records that another process writes to the same rows.
func (g *gatherer[W, A]) meet() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.met = time.Now()
}

// withdraw removes a write that waits. It reports false if a writer has taken it.
func (g *gatherer[W, A]) withdraw(w *sharedWrite[W, A]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(g.waiting, w)
	if at >= 0 {
		g.waiting = slices.Delete(g.waiting, at, at+1)
	}
	return at >= 0
}

// run is a writer.
func (g *gatherer[W, A]) run() {
	for taken := g.take(); len(taken) > 0; taken = g.take() {
		g.carryOut(taken)
	}
}

// take takes writes that wait. If nothing waits, or not enough for two writers, the writer ends.
func (g *gatherer[W, A]) take() (taken []*sharedWrite[W, A]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.writers > 1 && !g.needsSecondLocked() {
		g.writers--
		return nil
	}
	takes, left := g.room(), g.waiting[:0]
	for _, w := range g.waiting {
		if takes(w.write) {
			taken = append(taken, w)
		} else {
			left = append(left, w)
		}
	}
	clear(g.waiting[len(left):])
	g.waiting = left
	if len(taken) == 0 {
		g.writers--
	}
	return taken
}

// carryOut carries out writes, and answers them. A write that has too little time left goes by itself: its deadline would be
// the deadline of all.
func (g *gatherer[W, A]) carryOut(taken []*sharedWrite[W, A]) {
	var timely []*sharedWrite[W, A]
	var writes []W
	var deadline time.Time
	var ends []time.Time // of the callers' contexts
	for _, w := range taken {
		if !w.hasTime() {
			w.answer <- sharedAnswer[A]{}
			continue
		}
		timely, writes = append(timely, w), append(writes, w.write)
		deadline = stock.Earlier(deadline, w.deadline)
		until, _ := w.ctx.Deadline()
		ends = append(ends, until)
	}
	if len(timely) == 0 {
		return
	}
	ctx, cancel := stock.WhileAny(ends...)
	defer cancel()
	answers, err := g.carry(ctx, deadline, writes)
	if nothingWritten(err) {
		answers, err = make([]A, len(timely)), nil
	}
	for i, w := range timely {
		if err != nil {
			w.answer <- sharedAnswer[A]{err: err}
		} else {
			w.answer <- sharedAnswer[A]{answer: answers[i]}
		}
	}
}

// nothingWritten reports whether a shared write was undone because of one of its writes: a constraint fired, its deadline had
// passed, another transaction did not commit an order id in time or has changed what the write rests on, or its tables are not
// there any more.
func nothingWritten(err error) bool {
	state := StateOf(err)
	return raced(err) || errors.Is(err, tables.ErrRaced) || errors.Is(err, stock.ErrLate) || refused(err) ||
		state == lockNotAvailable || state == deadlockDetected ||
		strings.HasPrefix(state, constraintViolation) || strings.HasPrefix(state, dataException)
}
