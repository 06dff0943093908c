package selling_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// relaid is a store whose SKUs change their layout, and which counts the looks at them.
type relaid struct {
	endless
	layout, looks atomic.Int64
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
// again only after the SKU has changed.
func TestARareSKUIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store := &relaid{}
		s := serve(t, selling.Config{Store: store})
		for n, want := range []int64{1, 1, 1, 2, 2, 3} {
			if n >= 3 && want > store.looks.Load() {
				store.layout.Add(1)
			}
			if _, created, err := s.Deduct(t.Context(), "rare", stock.Order{OrderID: fmt.Sprint(n), Quantity: 1}); err != nil || !created {
				t.Fatalf("order %d: created %v, %v", n, created, err)
			}
			if looks := store.looks.Load(); looks != want {
				t.Errorf("order %d: %d looks at the SKU until now, want %d", n, looks, want)
			}
			time.Sleep(time.Minute)
		}
	})
}
