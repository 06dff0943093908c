package stocktest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"inventory/internal/stock"
)

// RunBenchmarks measures a store's hot path: batches of several sizes into one segment, with random order ids.
func RunBenchmarks(b *testing.B, open func(b *testing.B) stock.Store) {
	b.Helper()
	for _, size := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("batch of %d", size), func(b *testing.B) {
			store := open(b)
			if _, err := store.CreateSKU(b.Context(), stock.NewSKU{SKU: sku, Stock: stock.MaxStock, Segments: 1}, at); err != nil {
				b.Fatal(err)
			}
			orders := make([]stock.Order, size)
			rows := 0
			b.ReportAllocs()
			start := time.Now()
			for b.Loop() {
				for i := range orders {
					orders[i] = stock.Order{OrderID: uuid.NewString(), Quantity: 1}
				}
				result, err := store.Deduct(b.Context(), stock.Batch{SKU: sku, Layout: firstLayout, At: at, Orders: orders})
				if err != nil {
					b.Fatal(err)
				}
				rows += size
				if want := stock.MaxStock - int64(rows); result.Available != want {
					b.Fatalf("%d units are left, want %d", result.Available, want)
				}
			}
			b.ReportMetric(float64(rows)/time.Since(start).Seconds(), "rows/s")
		})
	}
}
