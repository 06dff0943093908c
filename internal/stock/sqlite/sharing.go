package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// mostShared bounds the orders and settle requests of one transaction that several writes share.
const mostShared = 256

// sharing has writes carried out one transaction after another, first come, first served: database/sql gives a free connection to
// any caller that waits, so with many writers some would wait up to the end of their request. Writes that wait at the same time share
// a transaction, because a commit costs as much as dozens of rows.
//
//	a write waits ──> the writer takes all that wait ──> one transaction, a savepoint for each ──> all are answered
//	                                                       └──> it is too late for one: each goes by itself
//
// Each write stands for itself: an error undoes only its savepoint.
type sharing struct {
	tables.Gatherer[*sharedWrite]
	fewest, most int // how many writes at least, and how many orders and settle requests at most, share a transaction
}

// sharedWrite is a write that waits.
type sharedWrite struct {
	ctx      context.Context //nolint:containedctx // of the caller
	deadline time.Time       // zero: none
	size     int             // orders or settle requests; mostShared: it has a transaction of its own
	work     func(*transaction) error
	err      error         // its outcome
	done     chan struct{} // closed once err is set
}

func (w *sharedWrite) answer(err error) {
	w.err = err
	close(w.done)
}

func (w *sharedWrite) late() bool { return !w.deadline.IsZero() && time.Now().After(w.deadline) }

// inShared is inTx for work that may share its transaction with others, if its size leaves room for them. The work may run twice;
// then the first run is undone.
func (s *Store) inShared(ctx context.Context, deadline time.Time, size int, work func(*transaction) error) error {
	if s.writer == nil {
		return stock.Unwritten(errors.New("SQLite file was opened for reading"))
	}
	w := &sharedWrite{ctx: ctx, deadline: earliest(ctx, deadline), size: size, work: work, done: make(chan struct{})}
	if !s.sharing.Push(w) {
		return stock.Unwritten(errors.New("SQLite file is closed"))
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		if s.sharing.Withdraw(w) {
			return stock.Unwritten(fmt.Errorf("wait to write: %w", ctx.Err()))
		}
		<-w.done
	}
	return w.err
}

// room takes the writes that have waited longest, as many as one transaction may have.
func (h *sharing) room() func(*sharedWrite) bool {
	taken, size := 0, 0
	return func(w *sharedWrite) bool {
		if size += w.size; taken > 0 && size > h.most {
			size = h.most // the next ones do not overtake it
			return false
		}
		taken++
		return true
	}
}

// writeShared carries out writes, and answers them.
func (s *Store) writeShared(writes []*sharedWrite) {
	if len(writes) >= s.sharing.fewest && writes[0].size < mostShared {
		if errs, done := s.together(writes); done {
			for i, w := range writes {
				w.answer(errs[i])
			}
			return
		}
	}
	for _, w := range writes {
		w.answer(s.once(w.ctx, w.deadline, w.work))
	}
}

// together carries out writes in one transaction. It reports false, with nothing written, if it is too late for one of them,
// or if an error has ended more than its own savepoint.
func (s *Store) together(writes []*sharedWrite) (errs []error, done bool) {
	errs = make([]error, len(writes))
	ctx, cancel := stock.WhileAny(stock.Column(writes, func(w *sharedWrite) time.Time { return w.deadline })...)
	defer cancel()
	tx, err := s.beginWrite(ctx)
	if err != nil {
		return nil, false
	}
	tx.shared = true
	for i, w := range writes {
		if errs[i] = stock.Unwritten(w.ctx.Err()); errs[i] != nil {
			continue
		}
		err, broken := tx.inSavepoint(w.work)
		if broken != nil {
			_ = tx.Rollback()
			return nil, false
		}
		errs[i] = stock.Unwritten(translate(err))
	}
	for i, w := range writes {
		if errs[i] == nil && w.late() {
			_ = tx.Rollback()
			return nil, false
		}
	}
	err = tx.commit(ctx)
	for i := range errs {
		errs[i] = cmp.Or(errs[i], err)
	}
	return errs, true
}
