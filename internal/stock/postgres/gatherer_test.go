package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// TestWritesThatWaitAreCarriedOutTogether: while a shared write is under way, no other one begins.
func TestWritesThatWaitAreCarriedOutTogether(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		w := &underWay{t: t, takes: 10 * time.Millisecond}
		together, wait := postgres.Gather(w.carry)
		var callers sync.WaitGroup
		for n := 1; n <= 8; n++ {
			callers.Go(func() {
				if got, err := together(t.Context(), time.Time{}, n); got != -n || err != nil {
					t.Errorf("write %d: %d, %v", n, got, err)
				}
			})
			synctest.Wait()
		}
		callers.Wait()
		wait()
		if fmt.Sprint(w.carried) != "[1 2 3 4 5 6 7 8]" || w.most != 1 || w.writes != 3 {
			t.Errorf("carried out: %d in %d writes, %d at a time; want 3, 1 at a time", w.carried, w.writes, w.most)
		}
	})
}

// TestAWriteGoesByItself when a shared one would be too late: nothing of it is carried out, and its caller learns that.
func TestAWriteGoesByItself(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		w := &underWay{t: t, takes: 300 * time.Millisecond}
		together, wait := postgres.Gather(w.carry)
		start := time.Now()
		var callers sync.WaitGroup
		for n, c := range []struct {
			left, patience time.Duration // until the deadline, and until the caller leaves; 0: for ever
			answer         int
			after          time.Duration
		}{
			{answer: 0, after: w.takes}, // the others wait behind it
			{left: 200 * time.Millisecond},
			{patience: 200 * time.Millisecond},
			{left: 400 * time.Millisecond, after: w.takes},
			{left: time.Second, answer: -4, after: 2 * w.takes},
		} {
			callers.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var deadline time.Time
				if c.left > 0 {
					deadline = start.Add(c.left)
				}
				if c.patience > 0 {
					ctx, cancel = context.WithTimeout(ctx, c.patience)
					defer cancel()
				}
				if got, err := together(ctx, deadline, n); got != c.answer || err != nil || time.Since(start) != c.after {
					t.Errorf("write %d: %d, %v after %v; want %d after %v", n, got, err, time.Since(start), c.answer, c.after)
				}
			})
			synctest.Wait()
		}
		callers.Wait()
		wait()
		if fmt.Sprint(w.carried) != "[0 4]" {
			t.Errorf("carried out: %d", w.carried)
		}
	})
}

// TestAWriteIsTakenBack while it waits: its caller leaves, or the writer has been away for too long.
func TestAWriteIsTakenBack(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		w := &underWay{t: t, takes: time.Second}
		together, wait := postgres.Gather(w.carry)
		var callers sync.WaitGroup
		callers.Go(func() { _, _ = together(t.Context(), time.Time{}, 1) })
		synctest.Wait()
		callers.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(100*time.Millisecond, cancel)
			if _, err := together(ctx, time.Time{}, 2); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		callers.Go(func() {
			if got, err := together(t.Context(), time.Time{}, 3); got != 0 || err != nil {
				t.Errorf("got %d, %v, want 0", got, err)
			}
		})
		callers.Wait()
		wait()
		if fmt.Sprint(w.carried) != "[1]" {
			t.Errorf("carried out: %d", w.carried)
		}
	})
}

// TestASharedWriteFails: if it is certain that nothing was written, each write is done alone; otherwise its outcome is
// unknown.
func TestASharedWriteFails(t *testing.T) {
	t.Parallel()
	cutOff := errors.New("cut off")
	for failure, want := range map[error]error{stock.ErrLate: nil, cutOff: cutOff} {
		together, wait := postgres.Gather(func([]int) ([]int, error) { return nil, failure })
		if got, err := together(t.Context(), time.Time{}, 1); got != 0 || !errors.Is(err, want) {
			t.Errorf("%v: %d, %v", failure, got, err)
		}
		wait()
	}
}

// underWay counts the shared writes that are being carried out.
type underWay struct {
	t     *testing.T
	takes time.Duration // each write

	mu                     sync.Mutex
	underWay, most, writes int
	carried                []int
}

func (w *underWay) add(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.underWay += n
	w.most = max(w.most, w.underWay)
}

func (w *underWay) carry(writes []int) ([]int, error) {
	w.add(1)
	defer w.add(-1)
	time.Sleep(w.takes)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.carried, w.writes = append(w.carried, writes...), w.writes+1
	answers := make([]int, len(writes))
	for i, write := range writes {
		answers[i] = -write
	}
	return answers, nil
}
