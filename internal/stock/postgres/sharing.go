package postgres

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"inventory/internal/stock"
)

// The bounds of a shared write.
const (
	mostShared = 256    // batches of one shared write, or settle requests
	sharedWait = "10ms" // it waits that long for an order id that another transaction has not committed yet
)

// oneOfEachSKU is the room of a shared write that takes one write of each SKU, until their sizes are mostShared.
func oneOfEachSKU[W any](of func(W) (sku string, size int)) func() func(W) bool {
	return func() func(W) bool {
		taken, skus := 0, make(map[string]bool)
		return func(w W) bool {
			sku, size := of(w)
			if taken+size > mostShared || skus[sku] {
				return false
			}
			taken, skus[sku] = taken+size, true
			return true
		}
	}
}

// sharing lets batches of different SKUs, and orders of several SKUs, that wait at the same time share a write.
//
//	Share, and nothing else is under way ──> false: Deduct writes the batch by itself, at once
//	Share otherwise, and Order ──> it waits ──> the writer takes all that wait ──> one statement takes them all ──> they are decided
//	                                └──> or else each is decided by itself, by one statement for all batches, and one for all
//	                                     orders of several SKUs ──> it is decided
//	                                                         └──> it is not ──> it goes by itself
//
// The statements that decide each by itself do not wait for rows that others hold, so a batch that must wait for its row delays no
// other for more than [sharedWait].
type sharing struct {
	*gatherer[sharedItem, sharedAnswer]
	alone atomic.Int64 // batches that are being written by themselves
	// allNew says whether a batch that is written by itself is expected to have no known orders.
	allNew caution
	// After each write in one statement for all that fails, about twice as many as the last time are not tried so: one row that is
	// always held, or orders that are repeated again and again, cost the others little. These belong to the writer.
	failed, careful int
}

func newSharing() *sharing {
	h := &sharing{}
	h.gatherer = newGatherer(roomToTake, h.write)
	return h
}

// sharedItem is a part of a shared write: a batch, or an order of several SKUs.
type sharedItem struct {
	stock.Batch
	order *stock.Placement // nil: it is a batch
	store *Store           // that has it
}

// plain reports whether the statement for all can take it: it is in the tables that a store is opened on, and counts no buyers.
func (t sharedItem) plain() bool {
	return t.store.pool.access.Lock == "" && t.store.pool.access.Orders == nil && t.Limit == 0
}

// given returns the instant to decide by; zero: the server's clock.
func (t sharedItem) given() time.Time {
	if t.order != nil {
		return t.order.At
	}
	return t.At
}

// sharedAnswer says what became of a sharedItem.
type sharedAnswer struct {
	row     *batchRow  // of a batch; nil: nothing of it is written
	skipped bool       // the row of a batch is held by another transaction, or has another layout or a newer fence; row is nil
	at      *time.Time // when an order of several SKUs was taken: nil if it was not, the zero time if it is there already
	err     error      // as that of a [carrier]
}

// roomToTake is the room of a shared write of batches and of orders of several SKUs. A batch gets its orders when the write begins.
func roomToTake() func(sharedItem) bool {
	batches, orders := oneOfEachSKU(func(t sharedItem) (string, int) { return t.SKU, 1 })(), roomForOrders()
	return func(t sharedItem) bool {
		if t.order != nil {
			return orders(*t.order)
		}
		return batches(t)
	}
}

// mostCareful bounds how many writes are not tried in one statement for all after one that failed.
const mostCareful = 64

// write takes what waits: all of it by one statement, or else each by itself. Where buyers are counted, each is.
func (h *sharing) write(ctx context.Context, deadline time.Time, all []sharedItem) ([]sharedAnswer, error) {
	answers := make([]sharedAnswer, len(all))
	// carry carries out some of the writes, and sets their answers. It reports false if none of them was written.
	carry := func(some func(sharedItem) bool, by carrier[sharedItem, sharedAnswer]) (done bool) {
		var at []int
		var them []sharedItem
		for i, t := range all {
			if some(t) {
				at, them = append(at, i), append(them, t)
			}
		}
		if len(them) == 0 {
			return false
		}
		got, err := by(ctx, deadline, them)
		if nothingWritten(err) {
			return false
		}
		for n, i := range at {
			if answers[i].err = err; err == nil {
				answers[i] = got[n]
			}
		}
		return true
	}
	together := carry(sharedItem.plain, h.takeTogether)
	left := func(t sharedItem) bool { return !(together && t.plain()) }
	carry(func(t sharedItem) bool { return t.order == nil && left(t) && t.LimitGroup == "" }, takeEach) // others may count the same buyers
	carry(func(t sharedItem) bool { return t.order != nil && left(t) && !divided(*t.order) }, orderEach)
	return answers, nil
}

// Share implements [stock.Sharer].
func (s *Store) Share(sku string, batch stock.SharedBatch) bool {
	h := s.sharing
	if _, writing := h.State(); h.stuck() || !writing && h.alone.Load() == 0 {
		return false
	}
	w := &sharedWrite[sharedItem, sharedAnswer]{write: sharedItem{Batch: stock.Batch{SKU: sku}, store: s}, ctx: context.Background()}
	late := time.AfterFunc(writerWait, func() {
		if h.Withdraw(w) && w.begin(w) {
			w.done(sharedAnswer{}, nil) // then it goes by itself
		}
	})
	w.begin = func(w *sharedWrite[sharedItem, sharedAnswer]) bool {
		late.Stop()
		begun, there := batch.Begin()
		w.write.Batch, w.deadline = begun, begun.Deadline
		return there
	}
	w.done = func(answer sharedAnswer, err error) { written(w.write, batch, answer, cmp.Or(err, answer.err)) }
	queued := h.Push(w)
	if !queued {
		late.Stop()
	}
	return queued
}

// written tells a batch what became of it.
func written(b sharedItem, batch stock.SharedBatch, answer sharedAnswer, err error) {
	if err != nil || answer.row == nil {
		batch.Written(stock.BatchResult{Skipped: answer.skipped}, false, translate(err))
		return
	}
	conclude := func() {
		ctx, cancel := stock.WhileAny(b.Deadline)
		defer cancel()
		result, decided, err := b.store.conclude(ctx, b.Batch, *answer.row)
		batch.Written(result, decided, translate(err))
	}
	if answer.row.orders == len(b.Orders) {
		conclude()
	} else {
		go conclude() // it may look up known orders; who shares the batch waits for Written
	}
}
