package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// TestASecondWriter: while a shared write is under way, another one begins as soon as enough wait, and no third one.
func TestASecondWriter(t *testing.T) {
	t.Parallel()
	const enough = 3
	for name, want := range map[string]struct {
		enough int
		began  []int // how many shared writes were under way, by the number of writes
	}{
		"one writer":  {0, []int{0, 1, 1, 1, 1, 1, 1, 1, 1}},
		"two writers": {enough, []int{0, 1, 1, 1, 2, 2, 2, 2, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &underWay{T: t, letGo: make(chan struct{})}
				together, _, wait := postgres.Gather(want.enough, w.carry)
				var callers sync.WaitGroup
				for n := 1; n < len(want.began); n++ {
					callers.Go(func() {
						if got, err := together(t.Context(), time.Time{}, n); got != -n || err != nil {
							t.Errorf("write %d: %d, %v", n, got, err)
						}
					})
					synctest.Wait()
					if now := w.now(); now != want.began[n] {
						t.Errorf("%d shared writes are under way with %d writes, want %d", now, n, want.began[n])
					}
				}
				close(w.letGo)
				callers.Wait()
				wait()
				slices.Sort(w.carried)
				if fmt.Sprint(w.carried) != "[1 2 3 4 5 6 7 8]" || w.now() != 0 {
					t.Errorf("carried out: %d, under way: %d", w.carried, w.now())
				}
			})
		})
	}
}

// TestTheSecondWriterEnds when fewer writes wait than two writers need, because smaller writes cost more.
func TestTheSecondWriterEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &underWay{T: t, takes: 10 * time.Millisecond}
		together, _, wait := postgres.Gather(2, w.carry)
		var callers sync.WaitGroup
		for n := range 20 {
			callers.Go(func() { _, _ = together(t.Context(), time.Time{}, n) })
		}
		callers.Wait()
		wait()
		if w.most != 2 || len(w.carried) != 20 {
			t.Errorf("%d at once, %d carried out", w.most, len(w.carried))
		}
		for n := range 2 { // one after the other, however the last ones went
			callers.Go(func() { _, _ = together(t.Context(), time.Time{}, n) })
			synctest.Wait()
		}
		if w.now() != 1 {
			t.Errorf("%d shared writes are under way for two writes, want 1", w.now())
		}
		callers.Wait()
		wait()
	})
}

// TestNoSecondWriterBesideOthers, until other processes have not been met for a while.
func TestNoSecondWriterBesideOthers(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]int{postgres.OthersFor: 1, postgres.OthersFor + 1: 2} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &underWay{T: t, takes: time.Millisecond}
				together, meet, wait := postgres.Gather(2, w.carry)
				meet()
				time.Sleep(after)
				var callers sync.WaitGroup
				for n := range 20 {
					callers.Go(func() { _, _ = together(t.Context(), time.Time{}, n) })
				}
				callers.Wait()
				wait()
				if w.most != want || len(w.carried) != 20 {
					t.Errorf("%d shared writes at once, want %d; %d carried out", w.most, want, len(w.carried))
				}
			})
		})
	}
}

// TestAWriteGoesByItself when a shared one would be too late: nothing of it is carried out, and its caller learns that.
func TestAWriteGoesByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &underWay{T: t, takes: 300 * time.Millisecond}
		together, _, wait := postgres.Gather(0, w.carry)
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
	synctest.Test(t, func(t *testing.T) {
		w := &underWay{T: t, takes: time.Second}
		together, _, wait := postgres.Gather(0, w.carry)
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
		together, _, wait := postgres.Gather(0, func([]int) ([]int, error) { return nil, failure })
		if got, err := together(t.Context(), time.Time{}, 1); got != 0 || !errors.Is(err, want) {
			t.Errorf("%v: %d, %v", failure, got, err)
		}
		wait()
	}
}

// underWay counts the shared writes that are being carried out.
type underWay struct {
	*testing.T
	letGo chan struct{} // nil: each write takes that long
	takes time.Duration

	mu             sync.Mutex
	underWay, most int
	carried        []int
}

func (w *underWay) now() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.underWay
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
	if w.letGo != nil {
		<-w.letGo
	} else {
		time.Sleep(w.takes)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.carried = append(w.carried, writes...)
	answers := make([]int, len(writes))
	for i, write := range writes {
		answers[i] = -write
	}
	return answers, nil
}
