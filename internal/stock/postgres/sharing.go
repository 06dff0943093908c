package postgres

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// shared says which batches may share a statement with those of other SKUs. All but the first are for comparisons and tests.
type shared uint8

const (
	sharedWaiting shared = iota // those that wait at the same time
	sharedNone
	sharedAll // also one that could go at once
)

// WriteAlone has every batch written by itself, for a comparison. It is not to be called while the store is in use.
func (s *Store) WriteAlone() { s.sharing.which = sharedNone }

// The bounds of a shared write.
const (
	mostShared    = 256                    // orders of one shared write
	largestShared = 16                     // orders of a batch; for a larger one the round trip hardly matters, so it goes by itself
	sharedWait    = "10ms"                 // it waits that long for an order id that another transaction has not committed yet
	sharedSlack   = 250 * time.Millisecond // a batch with less time than this until its deadline goes by itself
	writerWait    = 500 * time.Millisecond // a batch waits that long for the writer, whose connection may have died
)

// sharing lets batches of different SKUs that wait at the same time share one statement.
//
//	nothing else is under way ──> the batch goes by itself, at once
//	else it waits ──> the writer takes all that wait ──> one statement ──> it is settled
//	                                                         └──> it is not ──> it goes by itself
//
// There is one writer: two would make smaller writes, and cost more. It does not wait for rows that others hold (see
// deduct_shared.sql), so a batch that must wait for its row delays no other. A batch that is not settled by the shared write
// goes by itself, and is decided as if it had never been shared.
type sharing struct {
	gatherer[*sharedBatch]
	store *Store
	which shared
	alone bool // a batch that found nothing under way is written by itself
}

func newSharing(s *Store) *sharing {
	return &sharing{store: s, gatherer: gatherer[*sharedBatch]{choose: chooseBatches, carry: s.deductShared}}
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
	whole   *whole // nil: nothing of it is written, and it goes by itself
	skipped bool   // because another transaction holds its row, or the layout or the fence does not match
	err     error  // the outcome is not known
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
	if got.whole != nil {
		done, err = h.store.conclude(ctx, batch, first, b.orders.units, *got.whole, result)
	}
	if err != nil || done {
		return err
	}
	err = h.store.deductAlone(ctx, batch, first, result)
	result.Skipped = got.skipped
	return err
}

// mayShare tells whether a batch may go into a shared write. Where buyers are counted it may not: there are more rows to
// wait for.
func (h *sharing) mayShare(b *sharedBatch, orders int) bool {
	return h.which != sharedNone && orders <= largestShared && b.Limit == 0 && b.ctx.Err() == nil && b.hasTime()
}

// hasTime tells whether a batch has enough time left for a shared write.
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

// wait returns what the shared write says of a batch. If the caller has gone, or the batch has waited too long, it is
// withdrawn, unless it is being written.
func (h *sharing) wait(b *sharedBatch) (sharedAnswer, error) {
	patience := time.NewTimer(writerWait)
	defer patience.Stop()
	for {
		select {
		case a := <-b.answer:
			return a, a.err
		case <-b.ctx.Done():
			h.withdraw(b)
			return sharedAnswer{}, b.ctx.Err()
		case <-patience.C:
			if h.withdraw(b) {
				return sharedAnswer{}, nil
			}
		}
	}
}

// chooseBatches takes the batches that have waited longest, one of each SKU, and at most mostShared orders.
func chooseBatches(waiting []*sharedBatch) (taken, left []*sharedBatch) {
	orders, skus := 0, make(map[string]bool, len(waiting))
	left = waiting[:0]
	for _, b := range waiting {
		n := len(b.orders.orderIDs)
		if orders+n > mostShared || skus[b.SKU] {
			left = append(left, b)
			continue
		}
		orders, skus[b.SKU] = orders+n, true
		taken = append(taken, b)
	}
	return taken, left
}
