package selling_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// TestActiveSKUsAreCheap sells 10,000 SKUs at the same time: their workers together may take 50 MB. In virtual time none is
// forgotten before the last has sold.
func TestActiveSKUsAreCheap(t *testing.T) {
	busytest.Slow(t)
	busytest.Virtual(t, func(t *testing.T) {
		const callers, each, bound = 500, 20, 50 << 20
		s := serve(t, selling.Config{Store: endless{}})
		before := inUse()
		var wg sync.WaitGroup
		for caller := range callers {
			wg.Go(func() {
				for n := range each {
					name := fmt.Sprint("sku-", caller, "-", n)
					if _, _, err := s.Deduct(t.Context(), name, stock.Order{OrderID: "o", Quantity: 1}); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
		}
		wg.Wait()
		grown := inUse() - before
		t.Logf("%d MB for %d workers", grown>>20, s.Sellers())
		if s.Sellers() != callers*each || grown > bound {
			t.Errorf("%d MB for %d active SKUs, want %d at most for %d", grown>>20, s.Sellers(), bound>>20, callers*each)
		}
	})
}

// inUse returns what the heap and the stacks hold without garbage.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse) //nolint:gosec // far below 2^63
}
