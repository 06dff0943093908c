package selling_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// full is a store that costs nothing, and answers a batch when all callers that are not in it wait for the next one. So batches
// are as large as they can be, however busy the machine is.
type full struct {
	endless
	service *selling.Service
	callers atomic.Int64
}

func (f *full) Deduct(ctx context.Context, b stock.Batch) (stock.BatchResult, error) {
	for int64(f.service.Waiting()+len(b.Orders)) < f.callers.Load() {
		runtime.Gosched()
	}
	return f.endless.Deduct(ctx, b)
}

// BenchmarkAllocations sells to callers from a store that costs nothing, and fails if a deduction allocates more than it may on its
// way through the service, with its part of a batch. One caller alone has batches of one order, and 512 have batches of 256.
//
//	go test -run '^$' -bench Allocations ./internal/stock/selling
func BenchmarkAllocations(b *testing.B) {
	for callers, most := range map[int64]float64{1: 14.1, 512: 3.2} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			store := &full{}
			store.callers.Store(callers)
			s := serve(b, selling.Config{Store: store})
			store.service = s
			ids := make([]string, b.N)
			for i := range ids {
				ids[i] = strconv.Itoa(i)
			}
			var before, after runtime.MemStats
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			runtime.ReadMemStats(&before)
			for range callers {
				wg.Go(func() {
					defer store.callers.Add(-1)
					for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
						if _, _, err := s.Deduct(b.Context(), sku, stock.Order{OrderID: ids[i], Quantity: 1}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			runtime.ReadMemStats(&after)
			each := float64(after.Mallocs-before.Mallocs) / float64(b.N)
			b.ReportMetric(each, "allocations/deduction")
			if b.N > 50_000 && each > most {
				b.Errorf("%.2f allocations a deduction, at most %g are allowed", each, most)
			}
		})
	}
}
