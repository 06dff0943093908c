package selling_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// stranger holds locks of segments like another process, until the test ends.
func (w *world) stranger(segments ...int) {
	w.t.Helper()
	locks := w.locks()
	for _, segment := range segments {
		hold, err := w.lock(locks, sku, segment).Lock(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() {
			if err := hold.Unlock(context.WithoutCancel(w.t.Context())); err != nil {
				w.t.Error(err)
			}
		})
	}
}

func TestBusySegmentIsPassedBy(t *testing.T) {
	t.Parallel()
	virtually(t, silent, func(t *testing.T, w *world) {
		seen := &counts{}
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
	})
}

// TestWorkerWaitsOnlyBrieflyForALock: a tenth of a second of virtual time.
func TestWorkerWaitsOnlyBrieflyForALock(t *testing.T) {
	t.Parallel()
	virtually(t, silent, func(t *testing.T, w *world) {
		seen := &counts{}
		w.always = true
		s := w.start(seen.note)
		w.create(s, 100, 3)
		w.stranger(0, 1, 2)
		start := time.Now()
		w.deduct(s, "a", 1)
		if took := time.Since(start); took != 100*time.Millisecond {
			t.Errorf("it took %v, want 100ms", took)
		}
		if seen.lockless.Load() != 1 {
			t.Errorf("%d batches were written without a lock, want 1", seen.lockless.Load())
		}
	})
}

// sluggish is a store whose writes take a while.
type sluggish struct{ stock.Store }

func (s sluggish) Deduct(ctx context.Context, b stock.Batch) (stock.BatchResult, error) {
	time.Sleep(2 * time.Millisecond)
	return s.Store.Deduct(ctx, b)
}

func TestProcessesSpreadOverSegments(t *testing.T) {
	t.Parallel()
	virtually(t, embedded, func(t *testing.T, w *world) {
		w.store = sluggish{w.store}
		services := []*selling.Service{w.start(nil), w.start(nil), w.start(nil)}
		w.create(services[0], 100_000, 3)
		w.sellClosedLoop(services, 2000)
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
	})
}

func TestProcessesTakeTurnsAtOneSegment(t *testing.T) {
	t.Parallel()
	virtually(t, embedded, func(t *testing.T, w *world) {
		w.store = sluggish{w.store}
		first, second := &counts{}, &counts{}
		services := []*selling.Service{w.start(first.note), w.start(second.note)}
		w.create(services[0], 100_000, 1)
		w.sellClosedLoop(services, 2000)
		for i, seen := range []*counts{first, second} {
			if seen.locked() < 3 {
				t.Errorf("process %d had the lock for %d of %d batches", i, seen.locked(), seen.batches.Load())
			}
		}
	})
}

// sellClosedLoop lets 16 buyers at each service send one order after the other, until n orders are accepted.
func (w *world) sellClosedLoop(services []*selling.Service, n int64) {
	w.t.Helper()
	var taken atomic.Int64
	var wg sync.WaitGroup
	for i, s := range services {
		for range 16 {
			wg.Go(func() {
				for id := taken.Add(1); id <= n; id = taken.Add(1) {
					if _, _, err := s.Deduct(w.t.Context(), sku, stock.Order{OrderID: fmt.Sprint(id), Quantity: 1}); err != nil {
						w.t.Errorf("service %d: %v", i, err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	if b := w.audit(); b.Committed != n {
		w.t.Errorf("sold %d, want %d", b.Committed, n)
	}
}

// TestMergeHoldsTheLocksOfItsDonors: each segment that gave units has a token, so an older holder of its lock can
// change nothing there.
func TestMergeHoldsTheLocksOfItsDonors(t *testing.T) {
	t.Parallel()
	virtually(t, silent, func(t *testing.T, w *world) {
		seen := &counts{}
		s := w.start(seen.note)
		w.create(s, 40, 4)
		w.deduct(s, "large", 25)
		d, err := s.Deduction(t.Context(), sku, "large", "")
		if err != nil || len(d.Parts) != 3 {
			t.Fatalf("%+v, %v", d, err)
		}
		for _, part := range d.Parts {
			w.token(part.Segment)
		}
		if seen.mergesLocked.Load() != 1 {
			t.Errorf("%d merges were written under locks, want 1", seen.mergesLocked.Load())
		}
	})
}

// TestMergeGoesOnWithoutLocks: another process holds the locks of the donors until the test is over. The test runs in
// virtual time.
func TestMergeGoesOnWithoutLocks(t *testing.T) {
	t.Parallel()
	virtually(t, silent, func(t *testing.T, w *world) {
		seen := &counts{}
		s := w.start(seen.note)
		w.create(s, 40, 4)
		w.stranger(1, 3)
		start := time.Now()
		w.deduct(s, "large", 25)
		if took := time.Since(start); took > 200*time.Millisecond {
			t.Errorf("it took %v, want 200ms at most: for the lock of a batch and for those of a merge", took)
		}
		if b := w.audit(); b.Merges != 1 || seen.mergesLocked.Load() != 0 {
			t.Errorf("%d merges, %d under locks; want 1 and 0", b.Merges, seen.mergesLocked.Load())
		}
	})
}

// TestFencedOutMergeGoesOn: every row has a token from the future.
func TestFencedOutMergeGoesOn(t *testing.T) {
	t.Parallel()
	virtually(t, silent, func(t *testing.T, w *world) {
		seen := &counts{}
		s := w.start(seen.note)
		w.create(s, 44, 4)
		w.raise(1<<60, 4)
		w.deduct(s, "large", 25)
		if seen.fencedOut.Load() == 0 || w.audit().Committed != 29 {
			t.Errorf("fenced out %d times, %+v", seen.fencedOut.Load(), w.audit())
		}
	})
}
