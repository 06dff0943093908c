package stock_test

import (
	"context"
	"errors"
	"testing"

	"inventory/internal/stock"
)

// sharedOnce is a store that has one batch share a write, and counts those that are written by themselves.
type sharedOnce struct {
	stock.Store
	shared  func(batch stock.SharedBatch)
	deducts int
}

func (s *sharedOnce) Share(_ string, batch stock.SharedBatch) bool {
	s.shared(batch)
	return true
}

func (s *sharedOnce) Deduct(context.Context, stock.Batch) (stock.BatchResult, error) {
	s.deducts++
	return stock.BatchResult{Available: 7}, nil
}

// TestBatchOfACallerWhoLeaves: nothing of it is written if the shared write has not begun. Otherwise its outcome is unknown.
func TestBatchOfACallerWhoLeaves(t *testing.T) {
	for name, begun := range map[string]bool{"before the write": false, "during the write": true} {
		t.Run(name, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			var waiting stock.SharedBatch
			store := &sharedOnce{shared: func(batch stock.SharedBatch) {
				waiting = batch
				if begun {
					if _, there := batch.Begin(); !there {
						t.Error("a caller who waits has nothing to write")
					}
				}
				leave()
			}}
			_, err := stock.WriteBatch(ctx, store, stock.Batch{SKU: "a", Orders: make([]stock.Order, 1)})
			if !errors.Is(err, context.Canceled) || errors.Is(err, stock.ErrUnwritten) == begun {
				t.Errorf("got %v, unwritten is %v", err, errors.Is(err, stock.ErrUnwritten))
			}
			if _, there := waiting.Begin(); there {
				t.Error("the batch of a caller who has gone is written")
			}
			if store.deducts != 0 {
				t.Errorf("%d batches were written by themselves", store.deducts)
			}
		})
	}
}

// TestUndecidedBatchIsWrittenByItself, and its result says that the shared write has skipped its row.
func TestUndecidedBatchIsWrittenByItself(t *testing.T) {
	store := &sharedOnce{shared: func(batch stock.SharedBatch) { batch.Written(stock.BatchResult{Skipped: true}, false, nil) }}
	result, err := stock.WriteBatch(t.Context(), store, stock.Batch{SKU: "a", Orders: make([]stock.Order, 1)})
	if err != nil || store.deducts != 1 || result.Available != 7 || !result.Skipped {
		t.Errorf("%+v, %v after %d batches by themselves", result, err, store.deducts)
	}
}

// TestLargeBatchJoinsNoSharedWrite: it goes to the database by itself.
func TestLargeBatchJoinsNoSharedWrite(t *testing.T) {
	store := &sharedOnce{shared: func(batch stock.SharedBatch) {
		t.Error("it joins")
		batch.Written(stock.BatchResult{}, true, nil)
	}}
	_, err := stock.WriteBatch(t.Context(), store, stock.Batch{SKU: "a", Orders: make([]stock.Order, stock.LargestShared+1)})
	if err != nil || store.deducts != 1 {
		t.Errorf("%v after %d batches by themselves", err, store.deducts)
	}
}
