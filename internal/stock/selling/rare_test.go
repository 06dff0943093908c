package selling_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// relaid is a store whose SKUs change their layout, and which counts the looks at them.
type relaid struct {
	endless
	layout, looks atomic.Int64
	restocked     chan string // by another process; "": notifications may have been missed
}

// Watch passes on what another process restocks.
func (r *relaid) Watch(ctx context.Context, listening func(), restocked func(sku string)) error {
	for {
		select {
		case sku := <-r.restocked:
			if sku == "" {
				listening()
			} else {
				restocked(sku)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *relaid) Views(_ context.Context, skus ...string) (map[string]stock.View, error) {
	r.looks.Add(1)
	views := make(map[string]stock.View)
	for _, sku := range skus {
		views[sku] = stock.View{Layout: r.layout.Load(), Segments: []int64{1 << 30}}
	}
	return views, nil
}

func (r *relaid) Deduct(ctx context.Context, b stock.Batch) (stock.BatchResult, error) {
	if b.Layout != r.layout.Load() {
		return stock.BatchResult{}, stock.ErrLayout
	}
	return r.endless.Deduct(ctx, b)
}

// TestARareSKUIsLookedAtOnce: a SKU that sells now and then has a new worker each time, which begins with what the last one knew. It looks
// again only after the SKU has changed, or was restocked.
func TestARareSKUIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store := &relaid{restocked: make(chan string)}
		s, looks := serve(t, selling.Config{Store: store}), int64(1)
		nothing := func() {}
		for n, step := range []struct {
			before func()
			looks  int64
		}{
			{nothing, 0},
			{nothing, 0},
			{func() { store.layout.Add(1) }, 1},
			{nothing, 0},
			{func() { store.restocked <- "rare" }, 1},
			{nothing, 0},
			{func() { store.restocked <- "another" }, 0},
			{func() { store.restocked <- "" }, 1},
		} {
			step.before()
			synctest.Wait()
			looks += step.looks
			if _, created, err := s.Deduct(t.Context(), "rare", stock.Order{OrderID: fmt.Sprint(n), Quantity: 1}); err != nil || !created {
				t.Fatalf("order %d: created %v, %v", n, created, err)
			}
			if got := store.looks.Load(); got != looks {
				t.Errorf("order %d: %d looks at the SKU until now, want %d", n, got, looks)
			}
			time.Sleep(time.Minute)
		}
	})
}

// leftover is a store whose merges leave one unit, in segment 5 of eight, and which keeps where batches were tried first.
type leftover struct {
	endless
	tried sync.Map // segments by SKU
}

func (*leftover) Views(_ context.Context, skus ...string) (map[string]stock.View, error) {
	views := make(map[string]stock.View)
	for _, sku := range skus {
		views[sku] = stock.View{Layout: 1, Segments: slices.Repeat([]int64{3}, 8)}
	}
	return views, nil
}

func (l *leftover) Deduct(ctx context.Context, b stock.Batch) (stock.BatchResult, error) {
	l.tried.LoadOrStore(b.SKU, b.Segment)
	return l.endless.Deduct(ctx, b)
}

func (l *leftover) Merge(ctx context.Context, b stock.Batch) (stock.BatchResult, error) {
	result, err := l.endless.Deduct(ctx, b)
	result.Segments = []int64{0, 0, 0, 0, 0, 1, 0, 0}
	return result, err
}

// TestTheNextWorkerKnowsWhatAMergeLeft: the last one was forgotten.
func TestTheNextWorkerKnowsWhatAMergeLeft(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store := &leftover{}
		s := serve(t, selling.Config{Store: store})
		for _, sku := range []string{"a", "b", "c", "d"} {
			if _, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: "merged", Quantity: 5}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if _, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: "last", Quantity: 1}); err != nil {
				t.Fatal(err)
			}
			if first, _ := store.tried.Load(sku); first != 5 {
				t.Errorf("SKU %s: segment %v was tried first, want 5, which has the last unit", sku, first)
			}
		}
	})
}
