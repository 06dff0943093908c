package selling_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// TestActiveSKUsAreCheap sells 10,000 SKUs at the same time: their workers together may take 100 MB. A short test has
// 3,000 SKUs and half of the memory, because the callers take as much as before.
func TestActiveSKUsAreCheap(t *testing.T) {
	const callers = 512
	skus, bound := 10_000, int64(100<<20)
	if testing.Short() {
		skus, bound = 3_000, bound/2
	}
	w := real(t)
	fill(w, skus)
	s := w.start(nil)
	runtime.GC() // what is garbage now would be taken for what the SKUs need less
	before := inUse()
	done := make(chan struct{})
	peak, workers := watchMemory(done, s)

	var next atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(skus) || t.Failed() {
					return
				}
				name := fmt.Sprint("sku-", n)
				if _, _, err := s.Deduct(t.Context(), name, stock.Order{OrderID: "o", Quantity: 1}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	wg.Wait()
	close(done)
	grown := <-peak - before
	t.Logf("%d MB at most for up to %d workers at once", grown>>20, <-workers)
	if audit, err := w.store.Audit(t.Context(), ""); err != nil || !audit.OK() || len(audit.SKUs) != skus {
		t.Errorf("audit of %d SKUs: %v", len(audit.SKUs), err)
	}
	if grown > bound {
		t.Errorf("%d MB for %d active SKUs, at most %d are allowed", grown>>20, skus, bound>>20)
	}
}

// fill creates SKUs without going through the service, which has nothing in memory then.
func fill(w *world, skus int) {
	w.Helper()
	conn, err := pgx.Connect(w.Context(), w.url)
	if err != nil {
		w.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(w.Context()))
	for _, statement := range []string{
		`INSERT INTO skus (sku_id, name, initial, segments, created_at) SELECT 'sku-' || n, '', 20, 2, now() FROM generate_series(1, $1) n`,
		`INSERT INTO stock_segments (sku_id, segment, available) SELECT 'sku-' || n, g, 10 FROM generate_series(1, $1) n, generate_series(0, 1) g`,
	} {
		if _, err := conn.Exec(w.Context(), statement, skus); err != nil {
			w.Fatal(err)
		}
	}
}

// inUse returns what the heap and the stacks hold.
func inUse() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse) //nolint:gosec // far below 2^63
}

// watchMemory sends the largest value of inUse, and the largest number of workers, when done is closed.
func watchMemory(done <-chan struct{}, s *selling.Service) (peak <-chan int64, workers <-chan int) {
	peaks, most := make(chan int64, 1), make(chan int, 1)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		var largest int64
		var running int
		for {
			largest, running = max(largest, inUse()), max(running, s.Sellers())
			select {
			case <-done:
				peaks <- largest
				most <- running
				return
			case <-tick.C:
			}
		}
	}()
	return peaks, most
}
