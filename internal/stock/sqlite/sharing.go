package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"inventory/internal/stock"
)

// mostShared bounds the orders and settle requests of one transaction that several writes share.
const mostShared = 256

// sharing lets writes that wait at the same time share one transaction: a commit costs as much as dozens of rows.
//
//	a write waits for its turn ──> it takes all that wait ──> one transaction, a savepoint for each ──> all are answered
//	                                                             └──> it is too late for one: each goes by itself
//
// Each write stands for itself: an error undoes only its savepoint.
type sharing struct {
	mu      sync.Mutex
	waiting []*sharedWrite

	which shared
}

// shared says which writes may share a transaction. All values but the first are for tests.
type shared uint8

const (
	sharedWaiting shared = iota // those that wait at the same time
	sharedNone
	sharedAll // also a write that waits alone
)

// sharedWrite is a write that waits. The write that has the turn carries it out.
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

func (w *sharedWrite) answered() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

func (w *sharedWrite) late() bool { return !w.deadline.IsZero() && time.Now().After(w.deadline) }

// inShared is inTx for work that may share its transaction with others, if its size leaves room for them. The work may run twice;
// then the first run is undone.
func (s *Store) inShared(ctx context.Context, deadline time.Time, size int, work func(*transaction) error) error {
	if s.writer == nil {
		return stock.Unwritten(errors.New("SQLite file was opened for reading"))
	}
	w := &sharedWrite{ctx: ctx, deadline: earliest(ctx, deadline), size: size, work: work, done: make(chan struct{})}
	s.sharing.push(w)
	taken, err := s.turns.take(ctx, w.done)
	if err != nil && s.sharing.withdraw(w) {
		return stock.Unwritten(err)
	}
	if taken {
		defer s.turns.giveBack()
		for !w.answered() {
			s.writeShared(s.sharing.take())
		}
	}
	<-w.done
	return w.err
}

func (h *sharing) push(w *sharedWrite) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = append(h.waiting, w)
}

// withdraw removes a write that waits. It reports false if another write carries it out.
func (h *sharing) withdraw(w *sharedWrite) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := slices.Index(h.waiting, w)
	if at >= 0 {
		h.waiting = slices.Delete(h.waiting, at, at+1)
	}
	return at >= 0
}

// take takes the writes that have waited longest, as many as one transaction may have.
func (h *sharing) take() []*sharedWrite {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, size := 0, 0
	for n < len(h.waiting) && (n == 0 || h.which != sharedNone && size+h.waiting[n].size <= mostShared) {
		size += h.waiting[n].size
		n++
	}
	taken := slices.Clone(h.waiting[:n])
	h.waiting = slices.Delete(h.waiting, 0, n)
	return taken
}

// writeShared carries out writes, and answers them. The caller has the turn.
func (s *Store) writeShared(writes []*sharedWrite) {
	if len(writes) > 1 || s.sharing.which == sharedAll && writes[0].size < mostShared {
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

// turns lets one transaction write after another, first come, first served. database/sql gives a free connection to
// any caller that waits: with many writers, some waited far longer than the others, up to the end of their request.
type turns struct {
	taken           chan struct{} // holds the turn that is taken; goroutines that wait to send are served in their order
	waits, waitedNs atomic.Int64
}

func newTurns() *turns { return &turns{taken: make(chan struct{}, 1)} }

// take waits for a turn, which the caller has to give back. If another one has served it meanwhile, there is nothing to give back.
func (t *turns) take(ctx context.Context, served <-chan struct{}) (taken bool, err error) {
	select {
	case t.taken <- struct{}{}:
		return true, nil
	default:
	}
	start := time.Now()
	defer func() {
		t.waits.Add(1)
		t.waitedNs.Add(int64(time.Since(start)))
	}()
	select {
	case t.taken <- struct{}{}:
		return true, nil
	case <-served:
		return false, nil
	case <-ctx.Done():
		return false, fmt.Errorf("wait to write: %w", ctx.Err())
	}
}

func (t *turns) giveBack() { <-t.taken }
