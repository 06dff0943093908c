package stock

import (
	"context"
	"sync/atomic"
)

// LargestShared is how many orders of a SKU, or settle requests, may share a write with those of other SKUs. Of a larger batch half of
// what a statement costs are its own rows.
const LargestShared = 16

// A Sharer is a store in which batches of different SKUs that wait at the same time share a write.
type Sharer interface {
	// Share has a batch of a SKU written together with others, soon, and does not wait for it. It returns
	// false, and calls nothing, if no other write is in progress; the caller then uses Deduct.
	Share(sku string, batch SharedBatch) bool
}

// A SharedBatch is a batch that waits for a shared write. The store calls its methods one after the other, in another goroutine than
// Share, and they must not wait for anything.
type SharedBatch interface {
	// Begin returns the batch, of at most LargestShared orders, when the write begins. It reports false if there is nothing to write any
	// more.
	Begin() (Batch, bool)
	// Written says what became of a batch that has begun. decided=false means that nothing was written: call Deduct. After an
	// error the outcome is unknown, unless it is ErrUnwritten.
	Written(result BatchResult, decided bool, err error)
}

// WriteBatch takes a batch from one segment, and waits for it: in a shared write if the store has one that it can join, or else by Deduct.
// It is for a batch that needed more than to be written, so that its caller has a goroutine.
func WriteBatch(ctx context.Context, store Store, batch Batch) (BatchResult, error) {
	sharer, shares := store.(Sharer)
	if !shares || len(batch.Orders) > LargestShared || ctx.Err() != nil {
		return store.Deduct(ctx, batch)
	}
	until, _ := ctx.Deadline()
	batch.Deadline = Earlier(batch.Deadline, until)
	waiting := &waitingBatch{ctx: ctx, batch: batch, written: make(chan struct{})}
	if !sharer.Share(batch.SKU, waiting) {
		return store.Deduct(ctx, batch)
	}
	select {
	case <-waiting.written:
	case <-ctx.Done():
		if waiting.begun.Load() {
			return BatchResult{}, ctx.Err()
		}
		return BatchResult{}, Unwritten(ctx.Err())
	}
	if waiting.decided || waiting.err != nil {
		return waiting.result, waiting.err
	}
	result, err := store.Deduct(ctx, batch)
	result.Skipped = result.Skipped || waiting.result.Skipped
	return result, err
}

// waitingBatch is a batch of a caller who waits for the shared write.
type waitingBatch struct {
	ctx   context.Context //nolint:containedctx // of the caller
	batch Batch
	begun atomic.Bool

	written chan struct{} // is closed once the others are set
	result  BatchResult
	decided bool
	err     error
}

// Begin implements [SharedBatch].
func (b *waitingBatch) Begin() (Batch, bool) {
	b.begun.Store(true) // before the look at the context: a caller who leaves later does not know what is written
	return b.batch, b.ctx.Err() == nil
}

// Written implements [SharedBatch].
func (b *waitingBatch) Written(result BatchResult, decided bool, err error) {
	b.result, b.decided, b.err = result, decided, err
	close(b.written)
}
