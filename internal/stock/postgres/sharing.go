package postgres

import (
	"context"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// shared says which batches may share a statement with batches of other SKUs. All values but the first are for tests.
type shared uint8

const (
	sharedWaiting shared = iota // those that wait at the same time
	sharedNone
	sharedAll // also one that could go at once
)

// The bounds of a shared write.
const (
	mostShared   = 256    // orders of one shared write
	secondWriter = 24     // batches that wait, for a second shared write; smaller writes cost more than the wait for the disk
	sharedWait   = "10ms" // it waits that long for an order id that another transaction has not committed yet
)

// oneOfEachSKU is the room of a shared write that takes one write of each SKU, and at most mostShared orders.
func oneOfEachSKU[W any](of func(W) (sku string, orders int)) func() func(W) bool {
	return func() func(W) bool {
		taken, skus := 0, make(map[string]bool)
		return func(w W) bool {
			sku, orders := of(w)
			if taken+orders > mostShared || skus[sku] {
				return false
			}
			taken, skus[sku] = taken+orders, true
			return true
		}
	}
}

// sharing lets batches of different SKUs that wait at the same time share one statement, or one transaction if the SKUs are in
// different tables: then there is a statement for each set of tables.
//
//	nothing else is under way ──> the batch goes by itself, at once
//	else it waits ──> the writer takes all that wait ──> one transaction ──> it is settled
//	                                                         └──> it is not ──> it goes by itself
//
// A second writer runs while so many batches wait that its writes are not small. Neither writer waits for rows that others hold
// (see deduct_shared.sql), so a batch that must wait for its row delays no other.
type sharing struct {
	gatherer[sharedBatch, batchAnswer]
	statement sharedStatement
	which     shared
	alone     bool // a batch that found nothing under way is written by itself
}

// newSharing returns a sharing whose writes are one statement.
func newSharing(statement sharedStatement) *sharing {
	h := &sharing{statement: statement}
	room := oneOfEachSKU(func(b sharedBatch) (string, int) { return b.SKU, len(b.orders.OrderIDs) })
	h.gatherer = gatherer[sharedBatch, batchAnswer]{room: room, carry: h.write, enough: secondWriter}
	return h
}

// sharedBatch is a batch in a shared write.
type sharedBatch struct {
	stock.Batch
	store  *Store // that has its SKU
	orders tables.Arrays
}

// batchAnswer is what became of a batch in a shared write.
type batchAnswer struct {
	row     *batchRow // nil: nothing of it is written
	skipped bool      // its row is held by another transaction, or has another layout or a newer fence; row is nil
}

// deduct writes a batch for a store, by itself or with others.
func (h *sharing) deduct(ctx context.Context, s *Store, batch stock.Batch) (result stock.BatchResult, err error) {
	if h.which == sharedNone || len(batch.Orders) > stock.LargestShared {
		return s.deductAlone(ctx, batch)
	}
	if h.begin() {
		defer h.end()
		return s.deductAlone(ctx, batch)
	}
	b := sharedBatch{batch, s, tables.ArraysOf(batch.Orders)}
	got, err := h.together(ctx, batch.Deadline, b)
	done := false
	if err == nil && got.row != nil {
		result, done, err = s.conclude(ctx, batch, b.orders.Units, *got.row)
	}
	if err != nil || done {
		return result, err
	}
	if got.skipped {
		h.meet()
	}
	result, err = s.deductAlone(ctx, batch)
	result.Skipped = got.skipped
	return result, err
}

// Share implements [stock.Sharer].
func (s *Store) Share(sku string, buyerLimit bool, batch stock.SharedBatch) bool {
	if buyerLimit {
		return s.counting.later(s, sku, batch)
	}
	return s.sharing.later(s, sku, batch)
}

// later has a batch written with others. It reports false if nothing else is under way.
func (h *sharing) later(s *Store, sku string, batch stock.SharedBatch) bool {
	if h.which == sharedNone || !h.busy() {
		return false
	}
	w := &sharedWrite[sharedBatch, batchAnswer]{write: sharedBatch{stock.Batch{SKU: sku}, s, tables.Arrays{}}, ctx: context.Background()}
	w.begin = func(w *sharedWrite[sharedBatch, batchAnswer]) bool {
		taken, there := batch.Take()
		w.write.Batch, w.write.orders, w.deadline = taken, tables.ArraysOf(taken.Orders), taken.Deadline
		return there
	}
	w.done = func(answer batchAnswer, err error) { h.written(w.write, batch, answer, err) }
	return h.push(w)
}

// written tells a batch what became of it.
func (h *sharing) written(b sharedBatch, batch stock.SharedBatch, answer batchAnswer, err error) {
	if answer.skipped {
		h.meet()
	}
	if err != nil || answer.row == nil {
		batch.Written(stock.BatchResult{Skipped: answer.skipped}, false, translate(err))
		return
	}
	conclude := func() {
		ctx, cancel := stock.WhileAny(b.Deadline)
		defer cancel()
		result, settled, err := b.store.conclude(ctx, b.Batch, b.orders.Units, *answer.row)
		batch.Written(result, settled, translate(err))
	}
	if answer.row.orders == len(b.Orders) {
		conclude()
	} else {
		go conclude() // it may look up known orders; who shares the batch waits for Written
	}
}

// busy reports whether something is under way.
func (h *sharing) busy() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.alone || h.writers > 0 || h.which == sharedAll
}

// begin reports whether a batch may go by itself because nothing else is under way.
func (h *sharing) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.alone || h.writers > 0 || h.which == sharedAll {
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
