package locksim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/locking"
	"inventory/internal/locking/locksim"
)

var (
	redAlone = locksim.Acquisition{Names: []string{"red:a"}}
	redTry   = locksim.Acquisition{Names: []string{"red:a"}, Try: true}
)

// onNodes is scripted on several servers. It returns the violations that had to be there.
func onNodes(t *testing.T, n int, play func(t *testing.T, w *locksim.World)) (excused []string) {
	t.Helper()
	busytest.Virtual(t, func(t *testing.T) {
		w := locksim.New(t, 1, locksim.Weather{Latency: latency}, make([]float64, n)...)
		w.Name = t.Name()
		play(t, w)
		w.End()
		excused = w.Excused()
	})
	return excused
}

// keepOut cuts a process off from some servers, until it continues without them.
func keepOut(w *locksim.World, c *locksim.Client, nodes []int) {
	for _, i := range nodes {
		w.AtNode(i, 0, locksim.Part(c, 2*lease))
	}
	time.Sleep(time.Microsecond)
}

// forget makes servers forget, at once.
func forget(w *locksim.World, nodes []int) {
	for _, i := range nodes {
		w.AtNode(i, 0, locksim.Flush)
	}
	time.Sleep(time.Microsecond)
}

// Both sides of the bound for exclusion. An owner holds the lock on the first k of n nodes, some of which forget it.
// Another owner gets it when k + q - n of them have, and then the checks see two owners of one lock.
func TestNodesThatForgetAHolder(t *testing.T) {
	for _, c := range []struct {
		n      int
		away   []int // the nodes beyond k
		forget []int
		breaks bool
	}{
		{n: 3, away: []int{2}},
		{n: 3, away: []int{2}, forget: []int{1}, breaks: true},
		{n: 3, forget: []int{1}},
		{n: 3, forget: []int{1, 2}, breaks: true},
		{n: 5, away: []int{3, 4}},
		{n: 5, away: []int{3, 4}, forget: []int{2}, breaks: true},
		{n: 5, away: []int{4}, forget: []int{0}},
		{n: 5, away: []int{4}, forget: []int{0, 3}, breaks: true},
		{n: 5, forget: []int{0, 3}},
		{n: 5, forget: []int{0, 2, 4}, breaks: true},
	} {
		t.Run(fmt.Sprintf("n=%d k=%d f=%d", c.n, c.n-len(c.away), len(c.forget)), func(t *testing.T) {
			excused := onNodes(t, c.n, func(t *testing.T, w *locksim.World) {
				holder, rival := once(w), once(w)
				a, b := holder.Actor(), rival.Actor()
				ok(t, must(t, b, b.Ctx, redAlone).Unlock(b.Ctx))
				keepOut(w, holder, c.away)
				grip := must(t, a, a.Ctx, redAlone)
				if k := len(grip.Hold.Parts()); k != c.n-len(c.away) {
					t.Fatalf("%d nodes have granted it", k)
				}
				forget(w, c.forget)
				second, err := b.Lock(b.Ctx, redTry)
				if (err == nil) != c.breaks || err != nil && !errors.Is(err, locking.ErrBusy) {
					t.Fatalf("the second owner: %v", err)
				}
				if c.breaks {
					ok(t, grip.Hold.Context().Err())
					soon(t, 2*lease, "the first hold ends", func() bool { return grip.Hold.Context().Err() != nil })
					if cause := context.Cause(grip.Hold.Context()); !errors.Is(cause, locking.ErrLost) {
						t.Errorf("the first hold ends: %v", cause)
					}
					ok(t, second.Unlock(b.Ctx))
				}
				_ = grip.Unlock(a.Ctx) // lost, or not: the world knows
			})
			if (len(excused) > 0) != c.breaks {
				t.Errorf("seen: %q", excused)
			}
		})
	}
}

// Both sides of the bound for tokens. The first k of n nodes have a token from the future, because the clock of the
// first node is ahead. Some forget it, and the next owner gets all nodes but the first ones.
func TestNodesThatForgetAToken(t *testing.T) {
	for _, c := range []struct {
		n       int
		away    []int // the nodes beyond k
		forget  []int
		missing []int // in the next quorum
		breaks  bool
	}{
		{n: 3, away: []int{2}, missing: []int{0}},
		{n: 3, away: []int{2}, forget: []int{1}, missing: []int{0}, breaks: true},
		{n: 3, forget: []int{1}, missing: []int{0}},
		{n: 3, forget: []int{1, 2}, missing: []int{0}, breaks: true},
		{n: 5, away: []int{3, 4}, missing: []int{0, 1}},
		{n: 5, away: []int{3, 4}, forget: []int{2}, missing: []int{0, 1}, breaks: true},
		{n: 5, forget: []int{2, 3}, missing: []int{0, 1}},
		{n: 5, forget: []int{2, 3, 4}, missing: []int{0, 1}, breaks: true},
	} {
		t.Run(fmt.Sprintf("n=%d k=%d f=%d", c.n, c.n-len(c.away), len(c.forget)), func(t *testing.T) {
			excused := onNodes(t, c.n, func(t *testing.T, w *locksim.World) {
				w.At(0, locksim.Step(time.Hour))
				time.Sleep(time.Microsecond)
				first, next := once(w), once(w)
				a, b := first.Actor(), next.Actor()
				keepOut(w, first, c.away)
				grip := must(t, a, a.Ctx, redAlone)
				token := grip.Hold.Token()
				if k := len(grip.Hold.Parts()); k != c.n-len(c.away) {
					t.Fatalf("%d nodes carry it", k)
				}
				ok(t, grip.Unlock(a.Ctx))
				time.Sleep(3 * lease) // late grants are given back
				forget(w, c.forget)
				keepOut(w, next, c.missing)
				grip = must(t, b, b.Ctx, redAlone)
				if grows := grip.Hold.Token() > token; grows == c.breaks {
					t.Errorf("token %d after %d", grip.Hold.Token(), token)
				}
				ok(t, grip.Unlock(b.Ctx))
			})
			if (len(excused) > 0) != c.breaks {
				t.Errorf("seen: %q", excused)
			}
		})
	}
}

// The first node does not receive an Unlock, and returns the token of that hold again when its owner comes back. No
// other node of the next quorum knows that token. The new hold has its own token anyway.
func TestTokenOfAnOwnerWhoComesAgain(t *testing.T) {
	onNodes(t, 3, func(t *testing.T, w *locksim.World) {
		w.At(0, locksim.Step(time.Hour)) // so that the first node's token is the highest
		time.Sleep(time.Microsecond)
		c := once(w)
		ok(t, must(t, c.Actor(), c.Actor().Ctx, redAlone).Unlock(t.Context()))
		var silent atomic.Int64
		w.On(func(q *locksim.Request, f *locksim.Fate) {
			if q.Node == int(silent.Load()) || q.Node == 0 && q.Verb == "release" {
				f.Lost, f.CutAfter = true, latency
			}
		})
		a := c.Actor()
		last := int64(0)
		for _, node := range []int64{2, 1} {
			silent.Store(node)
			grip := must(t, a, a.Ctx, redAlone)
			if token := grip.Hold.Token(); token <= last {
				t.Errorf("token %d after %d", token, last)
			}
			last = grip.Hold.Token()
			ok(t, grip.Unlock(a.Ctx))
		}
	})
}

// A node that does not accept the token is not part of the hold, and is given back; without a quorum that accepts it
// there is no hold.
func TestNodesThatDoNotTakeTheToken(t *testing.T) {
	for _, deaf := range [][]int{{0}, {0, 2}} {
		onNodes(t, 3, func(t *testing.T, w *locksim.World) {
			w.AtNode(1, 0, locksim.Step(time.Hour)) // so that the token is this node's
			time.Sleep(time.Microsecond)
			c := w.Client(locksim.Habit{Lease: time.Minute, Retries: -1})
			a := c.Actor()
			ok(t, must(t, a, a.Ctx, redAlone).Unlock(a.Ctx))
			w.On(func(q *locksim.Request, f *locksim.Fate) {
				if q.Verb == "level" && slices.Contains(deaf, q.Node) {
					f.Lost, f.CutAfter = true, latency
				}
			})
			a = c.Actor()
			grip, err := a.Lock(a.Ctx, redTry)
			if (err == nil) != (len(deaf) == 1) {
				t.Errorf("%d nodes do not take the token: %v", len(deaf), err)
			}
			soon(t, time.Second, "the first node is given back", func() bool { return w.Held("red:a") == nil })
			if err == nil {
				if k := len(grip.Hold.Parts()); k != 2 {
					t.Errorf("the hold has %d parts", k)
				}
				ok(t, grip.Unlock(a.Ctx))
			}
		})
	}
}

// A lock on nodes that answer too late for its lease is not granted, however many of them granted it.
func TestGrantThatTookItsLease(t *testing.T) {
	onNodes(t, 3, func(t *testing.T, w *locksim.World) {
		c := once(w)
		a := c.Actor()
		ok(t, must(t, a, a.Ctx, redAlone).Unlock(a.Ctx))
		w.On(func(q *locksim.Request, f *locksim.Fate) {
			if q.Verb == "acquire" || q.Verb == "level" {
				f.Reply = 30 * time.Millisecond
			}
		})
		acquisition := redTry
		acquisition.Lease = 35 * time.Millisecond
		if grip, err := a.Lock(a.Ctx, acquisition); err == nil {
			t.Errorf("granted with %s left", grip.Hold.Remaining())
			_ = grip.Unlock(a.Ctx)
		}
	})
}

// The attempt after a grant that took its whole lease starts again: it gets the lock, and the hold lives.
func TestAttemptAfterAGrantThatTookItsLease(t *testing.T) {
	onNodes(t, 3, func(t *testing.T, w *locksim.World) {
		c := once(w)
		a := c.Actor()
		ok(t, must(t, a, a.Ctx, redAlone).Unlock(a.Ctx))
		var levels atomic.Int32
		w.On(func(q *locksim.Request, f *locksim.Fate) {
			if q.Verb == "level" && levels.Add(1) <= 3 {
				f.Reply = 40 * time.Millisecond
			}
		})
		acquisition := redAlone
		acquisition.Lease = 35 * time.Millisecond
		grip := must(t, a, a.Ctx, acquisition)
		ok(t, grip.Hold.Context().Err())
		if levels.Load() <= 3 {
			t.Error("the first attempt was granted")
		}
		ok(t, grip.Unlock(a.Ctx))
	})
}

// The clocks of all nodes gain nearly one percent, so that a lease ends there early. The hold has ended by then, and
// the world sees no two owners when the next one gets the lock at once.
func TestHoldsAllowForDrift(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		w := locksim.New(t, 1, locksim.Weather{Latency: latency}, 0.009, 0.009, 0.009)
		w.Name = t.Name()
		a, b := once(w).Actor(), once(w).Actor()
		acquisition := redAlone
		acquisition.Lease = 10 * time.Second
		first := must(t, a, a.Ctx, acquisition)
		next := must(t, b, b.Ctx, redAlone)
		if err := first.Hold.Context().Err(); err == nil {
			t.Error("two hold the lock")
		}
		_ = first.Unlock(a.Ctx) // lost
		ok(t, next.Unlock(b.Ctx))
		w.End()
	})
}
