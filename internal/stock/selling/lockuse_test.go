package selling_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/locking"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// locked counts the batches that were written under a lock.
func (c *counts) locked() int64 { return c.batches.Load() - c.lockless.Load() }

// TestABuyerAtATimeNeedsNoLock, in one process.
func TestABuyerAtATimeNeedsNoLock(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, w *world) {
		seen := &counts{}
		s := w.start(seen.note)
		w.create(s, 100, 4)
		for n := range 50 {
			w.deduct(s, fmt.Sprint(n), 1)
		}
		if seen.batches.Load() != 50 || seen.locked() > 0 {
			t.Errorf("%d of %d batches were written under a lock", seen.locked(), seen.batches.Load())
		}
	})
}

// TestProcessesWithQueuesLock: three processes sell one SKU, to 16 buyers each. Orders wait at the end of each write.
func TestProcessesWithQueuesLock(t *testing.T) {
	t.Parallel()
	for name, segments := range map[string]int{"a hot SKU": 4, "a hot SKU of one segment": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			virtually(t, embedded, func(t *testing.T, w *world) {
				w.store, w.batchLimit = sluggish{w.store}, 4
				seen := []*counts{{}, {}, {}}
				var services []*selling.Service
				for _, c := range seen {
					services = append(services, w.start(c.note))
				}
				w.create(services[0], 100_000, segments)
				w.sellClosedLoop(services, 1500)
				for i, s := range seen {
					if s.locked() <= s.lockless.Load() {
						t.Errorf("process %d: %d of %d batches under a lock", i, s.locked(), s.batches.Load())
					}
				}
				// When only one process sells, it needs no lock.
				time.Sleep(500 * time.Millisecond)
				locked := seen[0].locked()
				for n := range 10 {
					w.deduct(services[0], fmt.Sprint("later ", n), 1)
				}
				if n := seen[0].locked() - locked; n > 0 {
					t.Errorf("%d batches under a lock when the others had ended", n)
				}
			})
		})
	}
}

// TestOrdersOfSeveralSKUsBesideAHotSKU: they take no lock, and wait for the rows of a SKU that is sold under one.
func TestOrdersOfSeveralSKUsBesideAHotSKU(t *testing.T) {
	t.Parallel()
	virtually(t, silent, func(t *testing.T, w *world) {
		seen := &counts{}
		s := w.start(seen.note)
		w.create(s, 1_000_000, 4)
		if _, _, err := s.CreateSKU(t.Context(), stock.NewSKU{SKU: "quiet", Stock: 1000, Segments: 4}); err != nil {
			t.Fatal(err)
		}
		order := func(id string) {
			t.Helper()
			o := stock.MultiOrder{OrderID: id, Lines: []stock.Line{{SKU: sku, Quantity: 1}, {SKU: "quiet", Quantity: 1}}}
			if _, _, err := s.Order(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		order("before")
		ctx, stop := context.WithCancel(t.Context())
		var buyers sync.WaitGroup
		for buyer := range 16 {
			buyers.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					_, _, err := s.Deduct(ctx, sku, stock.Order{OrderID: fmt.Sprint(buyer, " ", n), Quantity: 1})
					if err != nil && ctx.Err() == nil {
						t.Error(err)
						return
					}
					time.Sleep(time.Duration(1+buyer) * time.Millisecond / 8)
				}
			})
		}
		for n := 0; n < 50 || seen.locked() == 0; n++ {
			order(fmt.Sprint("beside ", n))
			time.Sleep(time.Millisecond)
		}
		stop()
		buyers.Wait()
	})
}

// someWrites is a store that takes some milliseconds for each write.
type someWrites struct{ endless }

func (s someWrites) Deduct(ctx context.Context, b stock.Batch) (stock.BatchResult, error) {
	time.Sleep(time.Millisecond + rand.N(3*time.Millisecond))
	return s.endless.Deduct(ctx, b)
}

// TestManySKUsNeedFewLocks: 64 callers buy from 1,000 SKUs at random.
func TestManySKUsNeedFewLocks(t *testing.T) {
	t.Parallel()
	const skus, callers, each, most = 1000, 64, 60, 0.1
	busytest.Virtual(t, func(t *testing.T) {
		free := &answers{}
		s := serve(t, selling.Config{Store: someWrites{}, Lock: func(string, int) locking.Locker { return free }})
		var wg sync.WaitGroup
		for caller := range callers {
			wg.Go(func() {
				for n := range each {
					o := stock.Order{OrderID: fmt.Sprint(caller, "-", n), Quantity: 1}
					if _, _, err := s.Deduct(t.Context(), fmt.Sprint("sku-", rand.IntN(skus)), o); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if asked := float64(free.asked.Load()) / (callers * each); asked > most {
			t.Errorf("%.3f locks an order, want %.1f at most", asked, most)
		}
	})
}
