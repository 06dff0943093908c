package selling_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// stranger holds locks of segments like another process, until the test ends.
func (w *world) stranger(segments ...int) {
	w.Helper()
	client := redis.NewClient(&redis.Options{Addr: redisServer.Addr(), ContextTimeoutEnabled: true})
	locks, err := locking.New(client)
	if err != nil {
		w.Fatal(err)
	}
	var holds []*locking.Hold
	for _, segment := range segments {
		hold, err := w.lock(locks, sku, segment).Lock(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		holds = append(holds, hold)
	}
	w.Cleanup(func() {
		for _, hold := range holds {
			if err := hold.Unlock(w.Context()); err != nil {
				w.Error(err)
			}
		}
		if err := locks.Close(); err != nil {
			w.Error(err)
		}
		if err := client.Close(); err != nil {
			w.Error(err)
		}
	})
}

func (w *world) deduct(s *selling.Service, id string, quantity int64) stock.Deduction {
	w.Helper()
	d, _, err := s.Deduct(w.Context(), sku, stock.Order{OrderID: id, Quantity: quantity})
	if err != nil {
		w.Fatal(err)
	}
	return d
}

func TestBusySegmentIsPassedBy(t *testing.T) {
	t.Parallel()
	w, seen := real(t), &counts{}
	w.always = true
	s := w.start(seen.note)
	w.create(s, 100, 4)
	w.stranger(0, 1)
	for n := range 20 {
		w.deduct(s, fmt.Sprint(n), 1)
	}
	status, err := s.SKU(t.Context(), sku)
	if err != nil || status.Segments[0] != 25 || status.Segments[1] != 25 {
		t.Errorf("sold from locked segments: %v, %v", status.Segments, err)
	}
	if seen.lockless.Load() > 0 {
		t.Errorf("%d batches were written without a lock, and two segments were free", seen.lockless.Load())
	}
}

func TestWorkerWaitsOnlyBrieflyForALock(t *testing.T) {
	t.Parallel()
	w, seen := real(t), &counts{}
	w.always = true
	s := w.start(seen.note)
	w.create(s, 100, 3)
	w.stranger(0, 1, 2)
	start := time.Now()
	w.deduct(s, "a", 1)
	if took := time.Since(start); took < 50*time.Millisecond || took > time.Second {
		t.Errorf("it took %v", took)
	}
	if seen.lockless.Load() != 1 {
		t.Errorf("%d batches were written without a lock, want 1", seen.lockless.Load())
	}
}

func TestProcessesSpreadOverSegments(t *testing.T) {
	t.Parallel()
	w := real(t)
	services := []*selling.Service{w.start(nil), w.start(nil), w.start(nil)}
	w.create(services[0], 100_000, 3)
	w.sellClosedLoop(services, 6000)
	status, err := services[0].SKU(t.Context(), sku)
	if err != nil {
		t.Fatal(err)
	}
	drawn := 0
	for i, left := range status.Segments {
		if left < stock.Spread(100_000, 3)[i] {
			drawn++
		}
	}
	if drawn < 2 {
		t.Errorf("three processes sold from %d segments: %v", drawn, status.Segments)
	}
}

func TestProcessesTakeTurnsAtOneSegment(t *testing.T) {
	t.Parallel()
	w := real(t)
	first, second := &counts{}, &counts{}
	services := []*selling.Service{w.start(first.note), w.start(second.note)}
	w.create(services[0], 100_000, 1)
	w.sellClosedLoop(services, 6000)
	for i, seen := range []*counts{first, second} {
		if locked := seen.batches.Load() - seen.lockless.Load(); locked < 3 {
			t.Errorf("process %d had the lock for %d of %d batches", i, locked, seen.batches.Load())
		}
	}
}

// sellClosedLoop lets 16 buyers at each service send one order after the other, until n orders are accepted.
func (w *world) sellClosedLoop(services []*selling.Service, n int64) {
	w.Helper()
	w.sellTo(services, 16, n)
}

// sellTo is sellClosedLoop with that many buyers at each service.
func (w *world) sellTo(services []*selling.Service, buyers int, n int64) {
	w.Helper()
	var taken atomic.Int64
	var wg sync.WaitGroup
	for i, s := range services {
		for range buyers {
			wg.Go(func() {
				for {
					id := taken.Add(1)
					if id > n {
						return
					}
					if _, _, err := s.Deduct(w.Context(), sku, stock.Order{OrderID: fmt.Sprint(id), Quantity: 1}); err != nil {
						w.Errorf("service %d: %v", i, err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	if b := w.audit(); b.Committed != n {
		w.Errorf("sold %d, want %d", b.Committed, n)
	}
}

// TestMergeHoldsTheLocksOfItsDonors: each segment that gave units has a token, so an older holder of its lock can
// change nothing there.
func TestMergeHoldsTheLocksOfItsDonors(t *testing.T) {
	t.Parallel()
	w, seen := real(t), &counts{}
	s := w.start(seen.note)
	w.create(s, 40, 4)
	w.deduct(s, "large", 25)
	d, err := s.Deduction(t.Context(), sku, "large", "")
	if err != nil || len(d.Parts) != 3 {
		t.Fatalf("%+v, %v", d, err)
	}
	for _, part := range d.Parts {
		_, err := w.store.Deduct(t.Context(), stock.Batch{
			SKU: sku, Layout: 1, Segment: part.Segment, Fence: stock.Fence{Token: 1, Owner: "late"},
			Orders: []stock.Order{{OrderID: "late", Quantity: 1}},
		})
		if !errors.Is(err, stock.ErrFenced) {
			t.Errorf("segment %d: %v, want ErrFenced", part.Segment, err)
		}
	}
	if seen.mergesLocked.Load() != 1 {
		t.Errorf("%d merges were written under locks, want 1", seen.mergesLocked.Load())
	}
	w.audit()
}

// TestMergeGoesOnWithoutLocks: another process holds the locks of the donors and does not release them.
func TestMergeGoesOnWithoutLocks(t *testing.T) {
	t.Parallel()
	w, seen := real(t), &counts{}
	s := w.start(seen.note)
	w.create(s, 40, 4)
	w.stranger(1, 3)
	start := time.Now()
	w.deduct(s, "large", 25)
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	if b := w.audit(); b.Merges != 1 || seen.mergesLocked.Load() != 0 {
		t.Errorf("%d merges, %d under locks; want 1 and 0", b.Merges, seen.mergesLocked.Load())
	}
}

// TestFencedOutMergeGoesOn: every row has a token from the future.
func TestFencedOutMergeGoesOn(t *testing.T) {
	t.Parallel()
	w, seen := real(t), &counts{}
	s := w.start(seen.note)
	w.create(s, 44, 4)
	for segment := range 4 {
		_, err := w.store.Deduct(t.Context(), stock.Batch{
			SKU: sku, Layout: 1, Segment: segment, Fence: stock.Fence{Token: 1 << 60, Owner: "the future"},
			Orders: []stock.Order{{OrderID: fmt.Sprint("first", segment), Quantity: 1}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	w.deduct(s, "large", 25)
	if seen.fencedOut.Load() == 0 || w.audit().Committed != 29 {
		t.Errorf("fenced out %d times, %+v", seen.fencedOut.Load(), w.audit())
	}
}
