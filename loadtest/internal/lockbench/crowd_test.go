package lockbench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/latency"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/report"
)

func TestMain(m *testing.M) { busytest.Main(m) }

// unlockFunc is a hold made of a function.
type unlockFunc func()

func (f unlockFunc) Unlock(context.Context) error {
	f()
	return nil
}

// mutexes are some callers' handles of a lock inside this process. Virtual time goes on while callers wait for it.
func mutexes(callers int) (locks []kinds.Lock) {
	held := make(chan struct{}, 1)
	for range callers {
		locks = append(locks, func(context.Context) (kinds.Hold, error) {
			held <- struct{}{}
			return unlockFunc(func() { <-held }), nil
		})
	}
	return locks
}

func TestCallersMeetSoManyTimes(t *testing.T) {
	t.Parallel()
	got := meet(t.Context(), job{Times: 7}, mutexes(4))
	if got.All != 28 || got.Violations != 0 || got.Error != "" || report.Jain(got.Counts) != 1 || got.Waits.Count() != 28 {
		t.Errorf("%+v", got)
	}
}

// TestCallersMeetForAWindow has the lock given back each 2 ms of a window of 200, and then by the three who wait at its end.
func TestCallersMeetForAWindow(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		const window = 200 * time.Millisecond
		got := meet(t.Context(), job{Window: window, Hold: 2 * time.Millisecond}, mutexes(4))
		got.Commands = 2 * got.All
		s, err := got.sample()
		if err != nil || got.All != 103 || got.within() != 99 || got.Violations != 0 || got.Elapsed != window || s[commands] != 2 || s[perSecond] != 495 {
			t.Errorf("%+v, %v, %v", got, s, err)
		}
	})
}

// TestTwoInsideAreSeen lets two in, one after the other, so that the race detector sees no race.
func TestTwoInsideAreSeen(t *testing.T) {
	t.Parallel()
	var g guard
	g.enter()
	g.enter()
	g.leave()
	g.leave()
	g.enter()
	if g.violations != 1 || g.entered != 3 {
		t.Errorf("%+v, want 1 violation", g)
	}
}

// TestLostCountsAreViolations adds up callers that were inside more often than the lock has seen.
func TestLostCountsAreViolations(t *testing.T) {
	t.Parallel()
	c := &caller{visits: make([]visit, 5)}
	if got := addUp([]*caller{c}, guard{entered: 3, left: 3}, time.Second); got.Violations != 2 {
		t.Errorf("%d violations, want 2", got.Violations)
	}
}

func TestFailureIsNoted(t *testing.T) {
	t.Parallel()
	broken := func(context.Context) (kinds.Hold, error) { return nil, errors.New("broken") }
	got := meet(t.Context(), job{Times: 3}, append(mutexes(1), broken))
	if got.All != 3 || !strings.Contains(got.Error, "1 of 2 callers failed, one with: lock: broken") {
		t.Errorf("%+v", got)
	}
}

// visitsAt makes visits from what happened when, in milliseconds.
func visitsAt(times ...[3]int) (visits []visit) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	for _, t := range times {
		visits = append(visits, visit{at(t[0]), at(t[1]), at(t[2])})
	}
	return visits
}

func TestIdle(t *testing.T) {
	t.Parallel()
	// 1 ms and 3 ms while another caller waited, then 50 ms while none did.
	got := idle(visitsAt([3]int{0, 0, 10}, [3]int{1, 11, 20}, [3]int{2, 23, 100}, [3]int{100, 150, 160}))
	if !slices.Equal(got, []float64{1, 3}) {
		t.Errorf("%v, want 1 and 3", got)
	}
}

func TestOvertaken(t *testing.T) {
	t.Parallel()
	inOrder := visitsAt([3]int{0, 0, 10}, [3]int{3, 10, 20}, [3]int{2, 20, 30}) // the last two came at once
	if got := overtaken(inOrder); got != 0 {
		t.Errorf("in order %d are overtaken, want 0", got)
	}
	if got := overtaken(visitsAt([3]int{0, 0, 10}, [3]int{8, 10, 20}, [3]int{9, 20, 30}, [3]int{1, 30, 40})); got != 2 {
		t.Errorf("%d are overtaken, want 2", got)
	}
}

// TestServerTimeIsThatOfCommandsSent leaves out the commands that scripts call, whose time is in that of the scripts.
func TestServerTimeIsThatOfCommandsSent(t *testing.T) {
	t.Parallel()
	const stats = "# Commandstats\r\n" +
		"cmdstat_evalsha:calls=20,usec=120,usec_per_call=6.00,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_set:calls=10,usec=11,usec_per_call=1.10,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_eval:calls=1,usec=80,usec_per_call=80.00,rejected_calls=0,failed_calls=0\r\n"
	got := worked(stats, []string{"evalsha", "eval", "ping"})
	if got != 200*time.Microsecond {
		t.Errorf("Redis worked for %s, want 200us", got)
	}
	s, err := tally{Waits: latency.New(), All: 10, Allocations: 450, Server: got}.sample()
	if err != nil || s[serverTime] != 20 || s[allocations] != 45 {
		t.Errorf("%v (%v), want 20 us and 45 allocations", s, err)
	}
	s, err = tally{Waits: latency.New(), All: 10}.sample()
	if _, known := s[serverTime]; known || err != nil {
		t.Errorf("%v (%v): nobody has told the server's time", s, err)
	}
}
