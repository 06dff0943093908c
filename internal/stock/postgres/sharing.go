package postgres

import (
	"context"
	"slices"
	"sync"
	"time"

	"inventory/internal/stock"
)

// shared says which batches go to the database together with those of other SKUs. All but the first are for tests.
type shared uint8

const (
	sharedWaiting shared = iota // those that wait at the same time
	sharedNone
	sharedAll // also one that could go at once
)

// The bounds of a shared write.
const (
	mostShared    = 256                    // orders in one
	largestShared = 16                     // orders of a batch: a larger one costs less than its rows do, and goes by itself
	sharedWait    = "50ms"                 // for an order id that another transaction has inserted and not committed
	sharedSlack   = 250 * time.Millisecond // that a batch has until its deadline at least: a shared write is not the place to be late
	writerWait    = 500 * time.Millisecond // for the writer, which may sit on a connection that has died
)

// sharing brings batches of different SKUs together that wait at the same time.
//
//	nothing else is under way ──> the batch goes by itself, at once
//	else it waits ──> the writer takes all that wait ──> one statement ──> it is settled
//	                                                         └──> it is not ──> it goes by itself
//
// There is one writer: two side by side make smaller writes, and cost more. It is a goroutine that ends when nothing waits.
// It waits for nobody's rows (see deduct_shared.sql), so a batch that has to wait keeps only its own caller. Whatever is
// not settled there, for whatever reason, goes by itself: what becomes of a batch is decided where it always was.
type sharing struct {
	store   *Store
	which   shared
	running sync.WaitGroup // the writer

	mu      sync.Mutex
	alone   bool // a batch that found nothing under way is being written
	writing bool // the writer runs
	waiting []*sharedBatch
}

// sharedBatch is a batch in a shared write, or before one.
type sharedBatch struct {
	stock.Batch
	ctx    context.Context //nolint:containedctx // of the caller, whose deadline the write keeps
	orders arrays
	answer chan sharedAnswer // holds one
}

// sharedAnswer is what became of a batch in a shared write.
type sharedAnswer struct {
	whole *whole // nil: nothing of it is written, and it goes by itself
	err   error  // nobody knows
}

// deduct writes a batch, by itself or with others.
func (h *sharing) deduct(ctx context.Context, batch stock.Batch, first []int, result *stock.BatchResult) error {
	b := &sharedBatch{Batch: batch, ctx: ctx}
	if !h.mayShare(b, len(first)) {
		return h.store.deductAlone(ctx, batch, first, result)
	}
	if h.begin() {
		defer h.end()
		return h.store.deductAlone(ctx, batch, first, result)
	}
	b.orders, b.answer = arraysOf(batch.Orders, first), make(chan sharedAnswer, 1)
	h.push(b)
	got, err := h.wait(b)
	if err != nil {
		return err
	}
	done := false
	if got != nil {
		done, err = h.store.conclude(ctx, batch, first, b.orders.units, *got, result)
	}
	if err != nil || done {
		return err
	}
	return h.store.deductAlone(ctx, batch, first, result)
}

// mayShare tells whether a batch is one for a shared write. Where buyers are counted there are more rows to wait for.
func (h *sharing) mayShare(b *sharedBatch, orders int) bool {
	return h.which != sharedNone && orders <= largestShared && b.Limit == 0 && b.ctx.Err() == nil && b.hasTime()
}

// hasTime tells whether a batch has time enough for a shared write.
func (b *sharedBatch) hasTime() bool {
	deadline := b.deadline()
	return deadline.IsZero() || time.Until(deadline) > sharedSlack
}

// deadline is the instant after which nothing of the batch may be written; zero: there is none.
func (b *sharedBatch) deadline() time.Time {
	until, _ := b.ctx.Deadline()
	return earlier(b.Deadline, until)
}

// begin reports whether a batch may go by itself because nothing else is under way.
func (h *sharing) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.alone || h.writing || h.which == sharedAll {
		return false
	}
	h.alone = true
	return true
}

func (h *sharing) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.alone = false
}

// push has a batch wait for the writer, and starts it if it does not run.
func (h *sharing) push(b *sharedBatch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = append(h.waiting, b)
	if !h.writing {
		h.writing = true
		h.running.Go(h.write)
	}
}

// wait returns what a shared write says of a batch, nil if the batch has to go by itself. A batch whose caller has gone, or
// that has waited for too long, is withdrawn, unless it is being written.
func (h *sharing) wait(b *sharedBatch) (*whole, error) {
	patience := time.NewTimer(writerWait)
	defer patience.Stop()
	for {
		select {
		case a := <-b.answer:
			return a.whole, a.err
		case <-b.ctx.Done():
			h.withdraw(b)
			return nil, b.ctx.Err()
		case <-patience.C:
			if h.withdraw(b) {
				return nil, nil
			}
		}
	}
}

// withdraw takes a batch out of those that wait. It reports false if the writer has it.
func (h *sharing) withdraw(b *sharedBatch) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := slices.Index(h.waiting, b)
	if at >= 0 {
		h.waiting = slices.Delete(h.waiting, at, at+1)
	}
	return at >= 0
}

// write is the writer.
func (h *sharing) write() {
	for batches := h.take(); len(batches) > 0; batches = h.take() {
		h.store.deductShared(batches)
	}
}

// take takes what waits: the longest waiting first, one batch of each SKU, and no more orders than a write may have. If there
// is nothing, the writer ends.
func (h *sharing) take() (taken []*sharedBatch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	orders, skus := 0, make(map[string]bool, len(h.waiting))
	left := h.waiting[:0]
	for _, b := range h.waiting {
		n := len(b.orders.orderIDs)
		if orders+n > mostShared || skus[b.SKU] {
			left = append(left, b)
			continue
		}
		orders, skus[b.SKU] = orders+n, true
		taken = append(taken, b)
	}
	clear(h.waiting[len(left):])
	h.waiting = left
	h.writing = len(taken) > 0
	return taken
}
