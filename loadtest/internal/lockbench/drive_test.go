package lockbench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/kinds"
)

// unlockFunc is a hold made of a function.
type unlockFunc func()

func (f unlockFunc) Unlock(context.Context) error {
	f()
	return nil
}

// mutexHandles are some callers' handles of a lock inside this process.
func mutexHandles(callers int) (handles []kinds.Lock) {
	var mu sync.Mutex
	for range callers {
		handles = append(handles, kinds.Lock(func(_ context.Context, _ bool) (kinds.Hold, error) {
			mu.Lock()
			return unlockFunc(mu.Unlock), nil
		}))
	}
	return handles
}

func TestSomeTimesEach(t *testing.T) {
	t.Parallel()
	got := drive(t.Context(), load{Times: 7, Traced: true}, mutexHandles(4), mutexHandles(4))
	if got.All != 56 || got.Violations != 0 || got.err != nil || compare.Jain(got.Counts) != 1 || len(got.visits) != 56 || got.Waits.Count() != 56 {
		t.Errorf("%+v", got)
	}
}

func TestForAWindow(t *testing.T) {
	t.Parallel()
	const window = 200 * time.Millisecond
	got := drive(t.Context(), load{Window: window}, mutexHandles(4))
	got.Commands = 2 * got.All
	f := got.figures()
	if got.All == 0 || got.Violations != 0 || got.Elapsed != window || f[Commands] != 2 || f[PerSecond] == 0 {
		t.Errorf("%+v, %v", got, f)
	}
}

// TestWhoEntersALockedRoomIsSeen lets two in, one after the other, so that the race detector sees no race.
func TestWhoEntersALockedRoomIsSeen(t *testing.T) {
	t.Parallel()
	var g guard
	g.enter()
	g.enter()
	g.leave()
	g.leave()
	g.enter()
	if g.violations != 1 || g.entered != 3 {
		t.Errorf("%+v", g)
	}
}

// TestLostCountsAreViolations adds up callers that were inside more often than the lock has seen.
func TestLostCountsAreViolations(t *testing.T) {
	t.Parallel()
	c := &caller{}
	c.all.Store(5)
	if got := settle([]*caller{c}, []guard{{entered: 3, left: 3}}, time.Now(), load{Times: 5}); got.Violations != 2 {
		t.Errorf("%d violations", got.Violations)
	}
}

func TestAFailureIsNoted(t *testing.T) {
	t.Parallel()
	broken := kinds.Lock(func(_ context.Context, _ bool) (kinds.Hold, error) { return nil, errors.New("broken") })
	got := drive(t.Context(), load{Times: 3}, append(mutexHandles(1), broken))
	if got.All != 3 || !strings.Contains(fmt.Sprint(got.err), "1 of 2 callers failed, one with: lock: broken") {
		t.Errorf("%+v", got)
	}
}

// TestWhoHangsIsLeftBehind has a lock that works twice, and then neither returns nor obeys its context.
func TestWhoHangsIsLeftBehind(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	defer close(never)
	left := 2
	hangs := kinds.Lock(func(_ context.Context, _ bool) (kinds.Hold, error) {
		if left--; left < 0 {
			<-never
		}
		return unlockFunc(func() {}), nil
	})
	const limit = 40 * time.Millisecond
	got := drive(t.Context(), load{Times: 3, Limit: limit}, []kinds.Lock{hangs})
	if got.All != 2 || !strings.HasPrefix(fmt.Sprint(got.err), "hung:") || got.Waits.Max() < limit-time.Millisecond {
		t.Errorf("%+v", got)
	}
}

// TestWhoHeedsItsContextFails has a lock that is never free.
func TestWhoHeedsItsContextFails(t *testing.T) {
	t.Parallel()
	waits := kinds.Lock(func(ctx context.Context, _ bool) (kinds.Hold, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	const limit = 20 * time.Millisecond
	got := drive(t.Context(), load{Times: 1, Limit: limit}, []kinds.Lock{waits})
	if got.All != 0 || !strings.Contains(fmt.Sprint(got.err), "canceled") || got.Waits.Max() < limit-time.Millisecond {
		t.Errorf("%+v", got)
	}
}
