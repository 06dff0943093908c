package selling_test

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// mostAllocations is what a deduction may allocate on its way through the service, with its part of a batch. Batches
// are small here, because no order waits for a store that costs nothing.
const mostAllocations = 4

// BenchmarkAllocations sells to 512 callers from a store that costs nothing, and fails if that takes more memory than
// it may.
//
//	go test -run '^$' -bench Allocations ./internal/stock
func BenchmarkAllocations(b *testing.B) {
	s := selling.NewService(selling.Config{Store: endless{}})
	defer func() {
		if err := s.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	}()
	ids := make([]string, max(b.N, 1))
	for i := range ids {
		ids[i] = strconv.Itoa(i)
	}
	var before, after runtime.MemStats
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	runtime.ReadMemStats(&before)
	for range 512 {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(b.N) {
					return
				}
				if _, _, err := s.Deduct(b.Context(), sku, stock.Order{OrderID: ids[i], Quantity: 1}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	runtime.ReadMemStats(&after)
	if each := float64(after.Mallocs-before.Mallocs) / float64(b.N); b.N > 100_000 && each > mostAllocations {
		b.Errorf("%.2f allocations a deduction, at most %d are allowed", each, mostAllocations)
	}
}
