package postgres_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/stock/postgres"
)

// TestASecondWriter: while a shared write is under way, another one begins as soon as enough wait, and no third one.
func TestASecondWriter(t *testing.T) {
	t.Parallel()
	const enough = 3
	for name, want := range map[string]struct {
		enough int
		began  []int // how many shared writes were under way, with so many writes
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
						if got, err := together(n); got != -n || err != nil {
							t.Errorf("write %d: %d, %v", n, got, err)
						}
					})
					synctest.Wait()
					if now := w.now(); now != want.began[n] {
						t.Errorf("%d shared writes are under way with %d writes, not %d", now, n, want.began[n])
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

// TestTheSecondWriterEnds when not enough wait for two any more: smaller writes cost more.
func TestTheSecondWriterEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &underWay{T: t, takes: 10 * time.Millisecond}
		together, _, wait := postgres.Gather(2, w.carry)
		var callers sync.WaitGroup
		for n := range 20 {
			callers.Go(func() { _, _ = together(n) })
		}
		callers.Wait()
		wait()
		if w.most != 2 || len(w.carried) != 20 {
			t.Errorf("%d at once, %d carried out", w.most, len(w.carried))
		}
		for n := range 2 { // one after the other, however the last ones went
			callers.Go(func() { _, _ = together(n) })
			synctest.Wait()
		}
		if w.now() != 1 {
			t.Errorf("%d shared writes are under way for two writes", w.now())
		}
		callers.Wait()
		wait()
	})
}

// TestNoSecondWriterBesideOthers, until they have not been met for a while.
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
					callers.Go(func() { _, _ = together(n) })
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

// underWay counts the shared writes that are being carried out.
type underWay struct {
	*testing.T
	letGo chan struct{} // nil: each takes so long
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
