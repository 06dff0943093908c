package postgres

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

const (
	sharedSlack = 250 * time.Millisecond // a write with less time than this until its deadline goes by itself
	writerWait  = 500 * time.Millisecond // a write waits that long for the writer, whose connection may have died
)

// gatherer lets writes W that wait at the same time share a transaction, and returns to each its answer A.
//
// The zero answer says that nothing of a write is written. The write then goes by itself, and is decided as if it had never
// been shared.
type gatherer[W, A any] struct {
	tables.Gatherer[*sharedWrite[W, A]]
	carry carrier[W, A]
	began atomic.Pointer[time.Time] // of the shared write that is under way; nil: none is
}

// newGatherer returns a gatherer. room is as that of a [tables.Gatherer].
func newGatherer[W, A any](room func() (takes func(W) bool), carry carrier[W, A]) *gatherer[W, A] {
	g := &gatherer[W, A]{carry: carry}
	g.Carry = g.carryOut
	g.Room = func() func(*sharedWrite[W, A]) bool {
		takes := room()
		return func(w *sharedWrite[W, A]) bool { return takes(w.write) }
	}
	return g
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

// stuck reports whether the writer has been away for so long that no write waits for it any more.
func (g *gatherer[W, A]) stuck() bool {
	began := g.began.Load()
	return began != nil && time.Since(*began) > writerWait
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
	if !w.hasTime() || g.stuck() || !g.Push(w) {
		return answer, nil
	}
	late := time.NewTimer(writerWait)
	defer late.Stop()
	for {
		select {
		case <-answered:
			return got, failed
		case <-late.C:
			if g.Withdraw(w) {
				return answer, nil
			}
		case <-ctx.Done():
			if g.Withdraw(w) {
				return answer, stock.Unwritten(ctx.Err())
			}
			return answer, ctx.Err()
		}
	}
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
	g.began.Store(new(time.Now()))
	answers, err := g.carry(ctx, deadline, writes)
	g.began.Store(nil)
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

// ErrApart says that writes cannot be written together. Nothing of them is written.
var ErrApart = errors.New("the writes do not go together")

// nothingWritten reports whether a write was undone, and what is in it may be written in another way: a constraint fired, its deadline
// had passed, another transaction did not commit an order id in time or has changed what the write rests on, or its tables are not
// there any more.
//
// PostgreSQL checks constraints on the row version of the statement's snapshot, before it notices that the row has a
// newer one. So a batch that waited for a restock, and was admitted because of it, violates the constraint with the stock
// from before it. inventory_require fails if another batch was faster with an order id, or if it is too late. A buyer
// who occurs twice violates a cardinality. The next statement finds out which of these it was.
func nothingWritten(err error) bool {
	undone := errors.Is(err, stock.ErrUnwritten) && rolledBack(err)
	return undone || errors.Is(err, tables.ErrRaced) || errors.Is(err, ErrApart) || errors.Is(err, stock.ErrLate)
}
