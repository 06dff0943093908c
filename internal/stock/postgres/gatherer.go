package postgres

import (
	"context"
	"errors"
	"slices"
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

// gatherer lets writes W that wait at the same time share a transaction, and returns to each its answer A. A writer is a goroutine
// that takes as many of the waiting writes as may go together, carries them out, and ends when nothing waits. There is one writer, or a second one while enough writes wait: it works while the first
// one waits for the disk. If other processes write to the same rows, their writers use that time, and there is one here.
//
// The zero answer says that nothing of a write is written. The write then goes by itself, and is decided as if it had never
// been shared.
type gatherer[W, A any] struct {
	// room starts a shared write. The function that it returns is called for one write after another, those that have waited
	// longest first, and reports whether the shared write takes it.
	room    func() (takes func(W) bool)
	carry   carrier[W, A]
	enough  int            // with so many waiting writes there is a second writer; 0: there is never one
	running sync.WaitGroup // counts the writers

	mu      sync.Mutex
	writers int       // how many of them run
	single  int       // while it is above 0 no second writer starts
	met     time.Time // the last time that another process was met
	waiting []*sharedWrite[W, A]
	closed  bool // no write is shared any more
	stuck   int  // so many shared writes take longer than writerWait: until they end, each write goes by itself
}

// A carrier carries out writes, none of them after the deadline, and returns an answer for each. If it fails, the error is that of
// each write: none is written if it is [stock.ErrUnwritten].
type carrier[W, A any] func(ctx context.Context, deadline time.Time, writes []W) ([]A, error)

// sharedWrite is a write that is, or waits to be, a part of a shared write.
type sharedWrite[W, A any] struct {
	write    W
	ctx      context.Context // of the caller, whose deadline the shared write keeps //nolint:containedctx
	deadline time.Time       // after which nothing of it may be written, the context's if that is earlier; zero: there is none
	// begin completes the write when the shared write begins, and reports false if there is nothing to write any more; nil: it is
	// complete.
	begin func(*sharedWrite[W, A]) bool
	done  func(A, error) // is called once with the answer, and must not wait
}

// hasTime reports whether there is enough time left for a shared write.
func (w *sharedWrite[W, A]) hasTime() bool {
	return w.ctx.Err() == nil && (w.deadline.IsZero() || time.Until(w.deadline) > sharedSlack)
}

// together carries out a write with others that wait at the same time, and waits for its answer.
func (g *gatherer[W, A]) together(ctx context.Context, deadline time.Time, write W) (answer A, err error) {
	until, _ := ctx.Deadline()
	answered := make(chan struct{})
	var got A
	var failed error
	w := &sharedWrite[W, A]{write: write, ctx: ctx, deadline: stock.Earlier(deadline, until), done: func(a A, err error) {
		got, failed = a, err
		close(answered)
	}}
	if !w.hasTime() || !g.push(w) {
		return answer, nil
	}
	select {
	case <-answered:
		return got, failed
	case <-ctx.Done():
		if g.withdraw(w) {
			return answer, stock.Unwritten(ctx.Err())
		}
		return answer, ctx.Err()
	}
}

// push queues a write, and starts a writer if one is needed. It reports false if the write has to go by itself.
func (g *gatherer[W, A]) push(w *sharedWrite[W, A]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.stuck > 0 {
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

// needsSecondLocked reports whether a second writer pays: enough writes wait, no other process writes as well, and the two would not meet.
func (g *gatherer[W, A]) needsSecondLocked() bool {
	return g.enough > 0 && g.single == 0 && len(g.waiting) >= g.enough && time.Since(g.met) > othersFor
}

// one lets no second writer start until it is released.
func (g *gatherer[W, A]) one() (release func()) {
	add := func(n int) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.single += n
	}
	add(1)
	return func() { add(-1) }
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
	var none A
	timely, writes, ends := make([]*sharedWrite[W, A], 0, len(taken)), make([]W, 0, len(taken)), make([]time.Time, 0, len(taken))
	var deadline time.Time
	for _, w := range taken {
		if w.begin != nil && !w.begin(w) {
			continue
		}
		if !w.hasTime() {
			w.done(none, nil)
			continue
		}
		timely, writes = append(timely, w), append(writes, w.write)
		deadline = stock.Earlier(deadline, w.deadline)
		until, bounded := w.ctx.Deadline()
		if !bounded && w.begin != nil {
			until = w.deadline
		}
		ends = append(ends, until)
	}
	if len(timely) == 0 {
		return
	}
	ctx, cancel := stock.WhileAny(ends...)
	defer cancel()
	ended := g.noteStuck()
	answers, err := g.carry(ctx, deadline, writes)
	ended()
	if nothingWritten(err) {
		answers, err = make([]A, len(timely)), nil
	}
	for i, w := range timely {
		if err != nil {
			w.done(none, err)
		} else {
			w.done(answers[i], nil)
		}
	}
}

// noteStuck lets no write wait longer than writerWait for a shared write that begins now, and whose connection may have died. Then
// those that wait go by themselves, and so do all that come before it has ended.
func (g *gatherer[W, A]) noteStuck() (ended func()) {
	over, stuck := false, false // under the mutex
	timer := time.AfterFunc(writerWait, func() {
		g.mu.Lock()
		var waiting []*sharedWrite[W, A]
		if !over {
			stuck, waiting, g.waiting = true, g.waiting, nil
			g.stuck++
		}
		g.mu.Unlock()
		for _, w := range waiting {
			g.setAside(w)
		}
	})
	return func() {
		timer.Stop()
		g.mu.Lock()
		defer g.mu.Unlock()
		if over = true; stuck {
			g.stuck--
		}
	}
}

// setAside has a write go by itself.
func (*gatherer[W, A]) setAside(w *sharedWrite[W, A]) {
	var none A
	if w.begin == nil || w.begin(w) {
		w.done(none, nil)
	}
}

// ErrApart says that writes cannot be written together. Nothing of them is written.
var ErrApart = errors.New("the writes do not go together")

// nothingWritten reports whether a write was undone, and what is in it may be written in another way: a constraint fired, its deadline
// had passed, another transaction did not commit an order id in time or has changed what the write rests on, or its tables are not
// there any more.
//
// PostgreSQL checks constraints on the row version of the statement's snapshot, before it notices that the row has a
// newer one. So a batch that waited for a restock, and was admitted because of it, violates the constraint with the stock
// from before it. inventory_require fails if another batch was faster with an order id, or if it is too late. A buyer
// who occurs twice violates a cardinality. What is tried next finds out which of these it was.
func nothingWritten(err error) bool {
	undone := errors.Is(err, stock.ErrUnwritten) && rolledBack(err)
	return undone || errors.Is(err, tables.ErrRaced) || errors.Is(err, ErrApart) || errors.Is(err, stock.ErrLate)
}
