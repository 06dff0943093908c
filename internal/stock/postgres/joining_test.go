package postgres_test

import (
	"context"
	"sync/atomic"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// joining is a store whose batches join a shared write if they can, and are written by themselves otherwise, as sellers have them written.
type joining struct{ *postgres.Store }

// Deduct implements [stock.Store].
func (s joining) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	until, _ := ctx.Deadline()
	b := &waitingBatch{ctx: ctx, batch: batch, written: make(chan writtenBatch, 1)}
	b.batch.Deadline = stock.Earlier(batch.Deadline, until)
	if len(batch.Orders) > stock.LargestShared || ctx.Err() != nil || !s.Share(batch.SKU, b) {
		return s.Store.Deduct(ctx, batch)
	}
	select {
	case w := <-b.written:
		if w.decided || w.err != nil {
			return w.result, w.err
		}
		result, err := s.Store.Deduct(ctx, batch)
		result.Skipped = result.Skipped || w.result.Skipped
		return result, err
	case <-ctx.Done():
		if b.begun.Load() {
			return stock.BatchResult{}, ctx.Err()
		}
		return stock.BatchResult{}, stock.Unwritten(ctx.Err())
	}
}

// waitingBatch is a batch of a caller who waits for the shared write.
type waitingBatch struct {
	ctx     context.Context //nolint:containedctx // of the caller who waits
	batch   stock.Batch
	begun   atomic.Bool
	written chan writtenBatch
}

type writtenBatch struct {
	result  stock.BatchResult
	decided bool
	err     error
}

// Begin implements [stock.SharedBatch].
func (b *waitingBatch) Begin() (stock.Batch, bool) {
	b.begun.Store(true) // before the look at the context: a caller who leaves later does not know what is written
	return b.batch, b.ctx.Err() == nil
}

// Written implements [stock.SharedBatch].
func (b *waitingBatch) Written(result stock.BatchResult, decided bool, err error) {
	b.written <- writtenBatch{result, decided, err}
}
