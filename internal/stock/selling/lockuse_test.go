package selling_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/servertest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// locked counts the batches that were written under a lock.
func (c *counts) locked() int64 { return c.batches.Load() - c.lockless.Load() }

// TestABuyerAtATimeNeedsNoLock, in one process.
func TestABuyerAtATimeNeedsNoLock(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) *world{"embedded": embedded, "real": real} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, seen := open(t), &counts{}
			s := w.start(seen.note)
			w.create(s, 100, 4)
			for n := range 50 {
				w.deduct(s, fmt.Sprint(n), 1)
			}
			if seen.batches.Load() != 50 || seen.locked() > 0 {
				t.Errorf("%d of %d batches were written under a lock", seen.locked(), seen.batches.Load())
			}
			w.audit()
		})
	}
}

// TestProcessesWithQueuesLock: three processes sell one SKU, to that many buyers each. Orders wait at the end of each write, also on
// a machine that is too busy to bring buyers back at once.
func TestProcessesWithQueuesLock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ buyers, segments, batchLimit int }{
		"a hot SKU":                {16, 4, 4},
		"a hot SKU of one segment": {16, 1, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := real(t)
			w.batchLimit = c.batchLimit
			seen := []*counts{{}, {}, {}}
			var services []*selling.Service
			for _, c := range seen {
				services = append(services, w.start(c.note))
			}
			w.create(services[0], 100_000, c.segments)
			w.sellTo(services, c.buyers, 6000)
			for i, s := range seen {
				t.Logf("process %d: %d of %d batches under a lock", i, s.locked(), s.batches.Load())
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
	}
}

// TestOrdersOfSeveralSKUsBesideAHotSKU: they take no lock, and wait for the rows of a SKU that is sold under one.
func TestOrdersOfSeveralSKUsBesideAHotSKU(t *testing.T) {
	t.Parallel()
	w, seen := real(t), &counts{}
	s := w.start(seen.note)
	w.create(s, 1_000_000, 4)
	if _, _, err := s.CreateSKU(t.Context(), stock.NewSKU{SKU: "quiet", Stock: 1000, Segments: 4}); err != nil {
		t.Fatal(err)
	}
	order := func(id string, skus ...string) {
		t.Helper()
		o := stock.MultiOrder{OrderID: id}
		for _, sku := range skus {
			o.Lines = append(o.Lines, stock.Line{SKU: sku, Quantity: 1})
		}
		if _, _, err := s.Order(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	order("before", sku, "quiet")
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
			}
		})
	}
	for n := 0; n < 50 || seen.locked() == 0; n++ {
		order(fmt.Sprint("beside ", n), sku, "quiet")
	}
	stop()
	buyers.Wait()
	if audit, err := w.store.Audit(t.Context(), ""); err != nil || !audit.OK() {
		t.Errorf("audit: got %+v, %v, want no difference and no violation", audit, err)
	}
}

// TestManySKUsNeedFewLocks: 64 callers buy from 1,000 SKUs at random.
func TestManySKUsNeedFewLocks(t *testing.T) {
	t.Parallel()
	const skus, callers, each, most = 1000, 64, 60, 0.2
	server, err := servertest.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	w, seen := real(t), &counts{}
	w.redisURL = server.URL()
	s := w.start(seen.note)
	for n := range skus {
		if _, _, err := s.CreateSKU(t.Context(), stock.NewSKU{SKU: fmt.Sprint("sku-", n), Stock: 1000, Segments: 8}); err != nil {
			t.Fatal(err)
		}
	}
	before := commands(t, server)
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
	spent := float64(commands(t, server)-before) / (callers * each)
	t.Logf("%.3f Redis commands an order, %d of %d batches under a lock", spent, seen.locked(), seen.batches.Load())
	if spent > most {
		t.Errorf("%.3f Redis commands an order, want %.1f at most", spent, most)
	}
}

// commands returns how many commands a server has carried out for other clients.
func commands(t *testing.T, server *servertest.Redis) (calls int64) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	stats, err := client.Info(context.WithoutCancel(t.Context()), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(stats) {
		name, fields, _ := strings.Cut(strings.TrimSpace(line), ":calls=")
		n, _, _ := strings.Cut(fields, ",")
		if strings.HasPrefix(name, "cmdstat_eval") {
			count, err := strconv.ParseInt(n, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			calls += count
		}
	}
	return calls
}
