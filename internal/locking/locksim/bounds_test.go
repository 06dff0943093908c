package locksim_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/locking"
	"inventory/internal/locking/locksim"
)

// still starts a world whose server stands still for that long from the moment that stand is called.
func still(t *testing.T, play func(t *testing.T, w *locksim.World, stand func(time.Duration))) {
	t.Helper()
	scripted(t, func(t *testing.T, w *locksim.World) {
		play(t, w, func(d time.Duration) {
			w.At(0, locksim.Pause(d))
			time.Sleep(latency)
		})
	})
}

// bounded is a client whose waits end with their contexts.
func bounded(w *locksim.World) *locksim.Client {
	return w.Client(locksim.Habit{Retries: -1, Deadlines: true})
}

// within fails the test if something takes longer in virtual time.
func within(t *testing.T, limit time.Duration, what string, do func()) {
	t.Helper()
	start := time.Now()
	do()
	if took := time.Since(start); took > limit {
		t.Errorf("%s took %s", what, took)
	}
}

// A call waits no longer than its bound, even if another call of its owner waits for a server that stands still.
func TestWaitBesideASibling(t *testing.T) {
	for _, name := range every {
		still(t, func(t *testing.T, w *locksim.World, stand func(time.Duration)) {
			c := bounded(w)
			a := c.Actor()
			acquisition := locksim.Acquisition{Names: []string{name}}
			for _, held := range []bool{false, true} {
				ok(t, must(t, a, a.Ctx, acquisition).Unlock(a.Ctx))
				var outer *locksim.Grip
				if held {
					outer = must(t, a, a.Ctx, acquisition)
				}
				stand(7 * time.Second)
				var sibling sync.WaitGroup
				sibling.Go(func() {
					if grip, err := a.Lock(a.Ctx, acquisition); err == nil {
						ok(t, grip.Unlock(a.Ctx))
					}
				})
				time.Sleep(latency)
				within(t, 500*time.Millisecond, name, func() {
					if _, err := a.Lock(a.Ctx, locksim.Acquisition{Names: acquisition.Names, Wait: 200 * time.Millisecond}); err == nil {
						t.Error("granted")
					}
				})
				sibling.Wait()
				if outer != nil {
					ok(t, outer.Unlock(a.Ctx))
				}
				time.Sleep(10 * time.Second)
			}
		})
	}
}

// A MultiLock over many places keeps its bounds, however many parts it has.
func TestMultiLockOfAServerThatStandsStill(t *testing.T) {
	still(t, func(t *testing.T, w *locksim.World, stand func(time.Duration)) {
		c := bounded(w)
		a, other := c.Actor(), c.Actor()
		acquisition := locksim.Acquisition{Names: []string{"a", "b", "c", "d"}}
		ok(t, must(t, a, a.Ctx, acquisition).Unlock(a.Ctx))
		last := must(t, other, other.Ctx, locksim.Acquisition{Names: []string{"d"}})
		var all sync.WaitGroup
		all.Go(func() {
			within(t, 700*time.Millisecond, "Lock", func() {
				if _, err := a.Lock(a.Ctx, locksim.Acquisition{Names: acquisition.Names, Wait: 500 * time.Millisecond}); err == nil {
					t.Error("granted")
				}
			})
		})
		time.Sleep(100 * time.Millisecond) // it has three parts
		stand(4 * time.Second)
		all.Wait()
		time.Sleep(10 * time.Second)
		ok(t, last.Unlock(other.Ctx))
		grip := must(t, a, a.Ctx, acquisition)
		stand(4 * time.Second)
		within(t, 3100*time.Millisecond, "Unlock", func() {
			if err := grip.Unlock(a.Ctx); !errors.Is(err, locking.ErrNoAnswer) {
				t.Errorf("unlock: %v", err)
			}
		})
	})
}

// A fixed lease of a MultiLock counts from its last part.
func TestFixedLeaseOfAMultiLock(t *testing.T) {
	scripted(t, func(t *testing.T, w *locksim.World) {
		a := bounded(w).Actor()
		acquisition := locksim.Acquisition{Names: []string{"a", "b", "fair:c", "write:d"}, Lease: time.Second}
		ok(t, must(t, a, a.Ctx, acquisition).Unlock(a.Ctx))
		var slowed atomic.Bool
		w.On(func(q *locksim.Request, f *locksim.Fate) {
			if q.Verb == "acquire" && !slowed.Swap(true) {
				f.Reply = 700 * time.Millisecond
			}
		})
		grip := must(t, a, a.Ctx, acquisition)
		if left := grip.Hold.Remaining(); left < 970*time.Millisecond {
			t.Errorf("%s left", left)
		}
		ok(t, grip.Unlock(a.Ctx))
	})
}

// Many callers wait while the server stands still, and the process closes: it does not spend a time-out on each batch
// of them.
func TestCloseBeforeAServerThatStandsStill(t *testing.T) {
	for _, name := range []string{"a", "fair:a"} {
		still(t, func(t *testing.T, w *locksim.World, stand func(time.Duration)) {
			c, holder := bounded(w), bounded(w).Actor()
			grip := must(t, holder, holder.Ctx, locksim.Acquisition{Names: []string{name}, Lease: time.Minute})
			var all sync.WaitGroup
			for range 1100 {
				a := c.Actor()
				all.Go(func() {
					if grip, err := a.Lock(a.Ctx, locksim.Acquisition{Names: []string{name}}); err == nil {
						_ = grip.Unlock(a.Ctx)
						t.Error("granted")
					}
				})
				time.Sleep(latency / 2) // the pool of connections must be large enough: its timers are not made for bubbles
			}
			time.Sleep(time.Second)
			stand(40 * time.Second)
			within(t, 5*time.Second, "Close with waiters for "+name, func() { ok(t, c.Locks.Close()) })
			all.Wait()
			time.Sleep(41 * time.Second)
			ok(t, grip.Unlock(holder.Ctx))
		})
	}
}

// A waiter leaves while the server stands still for 4 s: that does not delay the next one.
func TestWaiterThatLeavesAServerThatStandsStill(t *testing.T) {
	for _, names := range [][]string{{"a"}, {"fair:a"}, {"write:a"}, {"a", "fair:b"}, {"fair:b", "a"}} {
		still(t, func(t *testing.T, w *locksim.World, stand func(time.Duration)) {
			holder, leaving, next := bounded(w).Actor(), bounded(w).Actor(), bounded(w).Actor()
			acquisition := locksim.Acquisition{Names: names, Lease: time.Minute}
			for _, a := range []*locksim.Actor{holder, leaving, next} {
				ok(t, must(t, a, a.Ctx, acquisition).Unlock(a.Ctx))
			}
			grip := must(t, holder, holder.Ctx, acquisition)
			ctx, leave := context.WithCancel(leaving.Ctx)
			var all sync.WaitGroup
			all.Go(func() {
				if _, err := leaving.Lock(ctx, acquisition); err == nil {
					t.Error("granted")
				}
			})
			time.Sleep(100 * time.Millisecond)
			got := make(chan time.Time, 1)
			all.Go(func() {
				grip := must(t, next, next.Ctx, acquisition)
				got <- time.Now()
				ok(t, grip.Unlock(next.Ctx))
			})
			time.Sleep(100 * time.Millisecond)
			stand(4 * time.Second)
			goes := time.Now().Add(4 * time.Second)
			leave()
			time.Sleep(time.Until(goes) + 50*time.Millisecond)
			freed := time.Now()
			ok(t, grip.Unlock(holder.Ctx))
			if took := (<-got).Sub(freed); took > 1500*time.Millisecond {
				t.Errorf("%s: the next one waits for %s", strings.Join(names, "+"), took)
			}
			all.Wait()
		})
	}
}

// A process far away gets its turn next to others that are near.
func TestProcessFarAway(t *testing.T) {
	scripted(t, func(t *testing.T, w *locksim.World) {
		far := bounded(w)
		warm(t, far)
		w.On(func(q *locksim.Request, f *locksim.Fate) {
			if q.Client == far {
				f.Delay, f.Reply = f.Delay+90*time.Millisecond, f.Reply+90*time.Millisecond
			}
		})
		var over atomic.Bool
		var all sync.WaitGroup
		cycle := func(a *locksim.Actor) (turns int) {
			for !over.Load() {
				grip := must(t, a, a.Ctx, alone)
				turns++
				time.Sleep(latency)
				ok(t, grip.Unlock(a.Ctx))
			}
			return turns
		}
		for range 6 {
			a := bounded(w).Actor()
			all.Go(func() { cycle(a) })
		}
		turns := 0
		all.Go(func() { turns = cycle(far.Actor()) })
		const seconds = 5
		time.Sleep(seconds * time.Second)
		over.Store(true)
		all.Wait()
		if turns < seconds {
			t.Errorf("%d turns in %d s", turns, seconds)
		}
	})
}

// A process that no wake-up reaches gets its turn beside one that locks again at once: its subscription is refused, or silent
// for ever, or never counted; and beside others of its kind.
func TestTurnsWithoutWakeUps(t *testing.T) {
	for name, breaks := range map[string]func(w *locksim.World, c *locksim.Client){
		"refused":  func(w *locksim.World, c *locksim.Client) { w.At(0, locksim.Refuse(c, time.Hour)) },
		"silent":   func(w *locksim.World, c *locksim.Client) { w.At(0, locksim.Deaf(c, time.Hour)) },
		"unheeded": func(w *locksim.World, _ *locksim.Client) { w.Miscounts = true },
	} {
		for _, all := range []bool{false, true} {
			scripted(t, func(t *testing.T, w *locksim.World) {
				greedy, other := bounded(w), bounded(w)
				breaks(w, other)
				if all {
					breaks(w, greedy)
				}
				time.Sleep(latency)
				var over atomic.Bool
				var running sync.WaitGroup
				cycle := func(a *locksim.Actor) (longest time.Duration) {
					for !over.Load() {
						start := time.Now()
						grip := must(t, a, a.Ctx, alone)
						longest = max(longest, time.Since(start))
						time.Sleep(20 * latency)
						ok(t, grip.Unlock(a.Ctx))
					}
					return longest
				}
				waited := make([]time.Duration, 2)
				for i, c := range []*locksim.Client{greedy, other} {
					running.Go(func() { waited[i] = cycle(c.Actor()) })
				}
				time.Sleep(4 * time.Second)
				over.Store(true)
				running.Wait()
				for i, longest := range waited {
					if longest > 1500*time.Millisecond {
						t.Errorf("%s, both: %t: process %d had to wait %s for a turn", name, all, i, longest)
					}
				}
			})
		}
	}
}

// A caller whose deadline passes while the server is silent gets that error, whichever comes first: the timer of its
// context, or the timer of the connection, which has the same deadline.
func TestCallerGetsItsOwnDeadlineAsError(t *testing.T) {
	for _, name := range every {
		for range 40 { // chance decides which timer is first
			scripted(t, func(t *testing.T, w *locksim.World) {
				a := bounded(w).Actor()
				w.On(func(q *locksim.Request, f *locksim.Fate) { f.Delay = time.Second })
				for _, names := range [][]string{{name}, {name, name + "b"}} {
					ctx, cancel := context.WithTimeout(a.Ctx, 300*time.Millisecond)
					if _, err := a.Lock(ctx, locksim.Acquisition{Names: names}); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%s: %v", names, err)
					}
					cancel()
				}
			})
		}
	}
}

// Another owner has two nodes of three. Candidates do not take the third from each other, so they ask seldom, and the release wakes one
// of them, in virtual time.
func TestCandidatesWithTooFewNodesAskSeldom(t *testing.T) {
	onNodes(t, 3, func(t *testing.T, w *locksim.World) {
		holder, c := bounded(w).Actor(), bounded(w)
		keepOut(w, holder.Client, []int{0})
		grip := must(t, holder, holder.Ctx, redAlone)
		time.Sleep(3 * lease) // the third node has got back what it granted too late
		const waiters = 20
		var all sync.WaitGroup
		first := make(chan time.Time, waiters)
		for range waiters {
			a := c.Actor()
			all.Go(func() {
				next := must(t, a, a.Ctx, redAlone)
				first <- time.Now()
				ok(t, next.Unlock(a.Ctx))
			})
		}
		time.Sleep(time.Second)
		if asked := c.Sent("acquire"); asked > 10*waiters {
			t.Errorf("%d waiters send %d commands in a second", waiters, asked)
		}
		freed := time.Now()
		ok(t, grip.Unlock(holder.Ctx))
		if took := (<-first).Sub(freed); took > 10*latency {
			t.Errorf("the next one waits for %s", took)
		}
		all.Wait()
	})
}
