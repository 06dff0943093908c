package locksim_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/locking"
	"inventory/internal/locking/locksim"
)

const (
	lease   = 300 * time.Millisecond
	latency = time.Millisecond
)

// scripted runs a planned history without random faults. Its end has the same checks as that of a random one, and
// nothing but clocks may be left.
func scripted(t *testing.T, play func(t *testing.T, w *locksim.World)) {
	t.Helper()
	busytest.Virtual(t, func(t *testing.T) {
		w := locksim.New(t, 1, locksim.Weather{Latency: latency}, 0)
		w.Name = t.Name()
		defer w.End() // also if play gives up: what it has begun must end
		play(t, w)
	})
}

// once is a client that sends each script once.
func once(w *locksim.World) *locksim.Client {
	return w.Client(locksim.Habit{Lease: lease, Retries: -1})
}

// again is a client that sends what was not answered again.
func again(w *locksim.World) *locksim.Client { return w.Client(locksim.Habit{Lease: lease}) }

// must returns a hold that must be granted.
func must(t *testing.T, a *locksim.Actor, ctx context.Context, v locksim.Acquisition) *locksim.Grip {
	t.Helper()
	grip, err := a.Lock(ctx, v)
	if err != nil {
		t.Fatalf("%s: %v", v, err)
	}
	return grip
}

// ok fails the test on an error.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// warm lets a process send each script once, so that the server knows the scripts and connections are open.
func warm(t *testing.T, clients ...*locksim.Client) {
	t.Helper()
	for _, c := range clients {
		a := c.Actor()
		ok(t, must(t, a, a.Ctx, alone).Unlock(a.Ctx))
	}
}

var alone = locksim.Acquisition{Names: []string{"a"}}

// soon waits in virtual time.
func soon(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

func TestAcquireArrivesAfterItsCancel(t *testing.T) {
	for mine, rivals := range map[string]string{"a": "a", "fair:a": "fair:a", "write:a": "read:a", "read:a": "write:a"} {
		scripted(t, func(t *testing.T, w *locksim.World) {
			c, rival := once(w), once(w)
			a, b := c.Actor(), rival.Actor()
			acquisition, try := locksim.Acquisition{Names: []string{mine}}, locksim.Acquisition{Names: []string{rivals}, Try: true}
			ok(t, must(t, a, a.Ctx, acquisition).Unlock(a.Ctx))
			ok(t, must(t, b, b.Ctx, try).Unlock(b.Ctx))
			late := false
			w.On(func(q *locksim.Request, f *locksim.Fate) {
				if q.Client == c && strings.HasSuffix(q.Verb, "acquire") && !late {
					late = true
					f.Delay, f.CutAfter = lease, time.Millisecond // the client learns at once that the connection broke
				}
			})
			if grip, err := a.Lock(a.Ctx, acquisition); err == nil {
				t.Fatalf("granted: %v", grip)
			}
			time.Sleep(lease + lease/3) // the late acquire has arrived, and its lease has not run out
			ok(t, must(t, b, b.Ctx, try).Unlock(b.Ctx))
		})
	}
}

// A release that is lost again and again is repeated in the background, long before the lease runs out.
func TestLostReleaseIsRepeated(t *testing.T) {
	for _, name := range []string{"a", "fair:a", "write:a", "read:a"} {
		scripted(t, func(t *testing.T, w *locksim.World) {
			c := w.Client(locksim.Habit{Lease: time.Minute, Retries: -1})
			a := c.Actor()
			grip := must(t, a, a.Ctx, locksim.Acquisition{Names: []string{name}})
			lost := 0
			w.On(func(q *locksim.Request, f *locksim.Fate) {
				if q.Client == c && lost < 4 {
					lost++
					f.Lost, f.CutAfter = true, latency
				}
			})
			if err := grip.Unlock(a.Ctx); err == nil {
				t.Error("the release is confirmed")
			}
			rival := once(w).Actor()
			acquisition := locksim.Acquisition{Names: []string{strings.Replace(name, "read", "write", 1)}, Wait: 3 * time.Second}
			ok(t, must(t, rival, rival.Ctx, acquisition).Unlock(rival.Ctx))
		})
	}
}

// The head of a first-come queue has not learned that the lock is free, and gives up. The next waiter learns it.
func TestLeavingWaiterWakesTheNext(t *testing.T) {
	scripted(t, func(t *testing.T, w *locksim.World) {
		acquisition := locksim.Acquisition{Names: []string{"fair:a"}}
		var who []*locksim.Actor
		for range 3 {
			c := w.Client(locksim.Habit{Lease: time.Minute, Retries: -1})
			who = append(who, c.Actor())
			ok(t, must(t, who[len(who)-1], who[len(who)-1].Ctx, acquisition).Unlock(c.Actor().Ctx))
		}
		grip := must(t, who[0], who[0].Ctx, acquisition)
		var all sync.WaitGroup
		ctx, leave := context.WithCancel(who[1].Ctx)
		defer leave()
		all.Go(func() {
			if grip, err := who[1].Lock(ctx, acquisition); err == nil {
				t.Errorf("the one who leaves has the lock: %v", grip)
			}
		})
		time.Sleep(50 * latency)
		var left time.Time
		all.Go(func() {
			next := must(t, who[2], who[2].Ctx, acquisition)
			if gap := time.Since(left); gap > 50*latency {
				t.Errorf("the next has heard of it after %s", gap)
			}
			ok(t, next.Unlock(who[2].Ctx))
		})
		time.Sleep(50 * latency)
		for _, a := range who {
			w.At(0, locksim.Deaf(a.Client, 12*latency))
		}
		time.Sleep(latency)
		ok(t, grip.Unlock(who[0].Ctx))
		time.Sleep(12 * latency)
		left = time.Now()
		leave()
		all.Wait()
	})
}

func TestReleaseOvertakenByItsOwnGhost(t *testing.T) {
	scripted(t, func(t *testing.T, w *locksim.World) {
		c := again(w)
		warm(t, c)
		w.On(func(q *locksim.Request, f *locksim.Fate) {
			if q.Verb == "acquire" && q.Nth == 1 {
				f.Delay, f.CutAfter = lease/3, time.Millisecond // the client sends it again
			}
		})
		a := c.Actor()
		grip := must(t, a, a.Ctx, alone)
		ok(t, grip.Unlock(a.Ctx))
		if c.Sent("acquire") < 3 {
			t.Fatal("the acquire was not sent again")
		}
		time.Sleep(lease / 2)
		if held := w.Held("a"); held != nil {
			t.Errorf("the ghost of a released acquire holds the lock: %v", held)
		}
	})
}

func TestGrantToADeadWaiter(t *testing.T) {
	scripted(t, func(t *testing.T, w *locksim.World) {
		holder, dead, alive := once(w), once(w), once(w)
		warm(t, holder, dead, alive)
		h := holder.Actor()
		grip := must(t, h, h.Ctx, alone)
		var all sync.WaitGroup
		first := dead.Actor()
		all.Go(func() {
			if grip, err := first.Lock(first.Ctx, alone); err == nil {
				t.Errorf("the dead process has the lock: %v", grip)
			}
		})
		soon(t, time.Second, "it queues", func() bool { return w.Queued("a") == 1 })
		var freed time.Time
		second := alive.Actor()
		all.Go(func() {
			grip := must(t, second, second.Ctx, alone)
			if gap := time.Since(freed); gap > 1100*time.Millisecond { // the reservation, and a poll
				t.Errorf("the lock was idle for %s", gap)
			}
			ok(t, grip.Unlock(second.Ctx))
		})
		soon(t, time.Second, "both queue", func() bool { return w.Queued("a") == 2 })
		w.At(0, locksim.Kill(dead))
		time.Sleep(10 * time.Millisecond)
		freed = time.Now()
		ok(t, grip.Unlock(h.Ctx))
		all.Wait()
	})
}

func TestParallelReentryWithReplays(t *testing.T) {
	scripted(t, func(t *testing.T, w *locksim.World) {
		c := again(w)
		warm(t, c)
		sent := make(map[string]bool)
		var mu sync.Mutex
		replay := func(q *locksim.Request, f *locksim.Fate) {
			if q.Verb != "renew" && q.Verb != "release" {
				return
			}
			f.Copies = []time.Duration{3 * latency, 7 * latency, 20 * latency, 50 * latency}
			mu.Lock()
			defer mu.Unlock()
			what := strings.Join(q.Words[0], " ")
			if !sent[what] && len(sent)%2 == 1 {
				f.Mute, f.CutAfter = true, 2*latency // and the client sends it again itself
			}
			sent[what] = true
		}
		a := c.Actor()
		outer := must(t, a, a.Ctx, alone)
		w.On(replay)
		for range 3 {
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					inner := must(t, a, outer.Hold.Context(), alone)
					if inner.Hold.Token() != outer.Hold.Token() {
						t.Errorf("token %d inside of %d", inner.Hold.Token(), outer.Hold.Token())
					}
					time.Sleep(latency)
					ok(t, inner.Unlock(a.Ctx))
				})
			}
			all.Wait()
		}
		time.Sleep(60 * latency)
		if held := w.Held("a"); len(held) != 1 || held[outer.Hold.Owner()] != 1 {
			t.Errorf("held by %v after all but one have been unlocked", held)
		}
		ok(t, outer.Unlock(a.Ctx))
		time.Sleep(60 * latency)
		if held := w.Held("a"); held != nil {
			t.Errorf("held by %v after the last", held)
		}
	})
}

// An owner releases a lock for which others of its process wait. The answer is lost: it was done, but the
// process does not know. No two owners may have it, and the waiter gets it.
func TestAnswerLostToTheReleaseForAWaiter(t *testing.T) {
	for _, arrives := range []bool{true, false} {
		scripted(t, func(t *testing.T, w *locksim.World) {
			for _, c := range []*locksim.Client{once(w), again(w)} {
				warm(t, c)
				first := c.Actor()
				grip := must(t, first, first.Ctx, alone)
				var all sync.WaitGroup
				for range 3 {
					a := c.Actor()
					all.Go(func() {
						inner := must(t, a, a.Ctx, alone)
						time.Sleep(5 * latency)
						_ = inner.Unlock(a.Ctx) // one of them learns that it is not confirmed
					})
				}
				time.Sleep(5 * latency) // they wait in line
				lost := 0
				w.On(func(q *locksim.Request, f *locksim.Fate) {
					if q.Client == c && q.Verb == "release" && lost < 2 {
						lost++
						f.Lost, f.Mute, f.CutAfter = !arrives, arrives, 2*latency
					}
				})
				_ = grip.Unlock(first.Ctx)
				all.Wait()
				if lost == 0 {
					t.Error("no answer was lost")
				}
			}
		})
	}
}

// A release of one of two holds is delayed, and renewals overtake it. It must not undo them.
func TestReleaseOvertakenByRenewals(t *testing.T) {
	scripted(t, func(t *testing.T, w *locksim.World) {
		c, rival := once(w), once(w)
		warm(t, c, rival)
		a, b := c.Actor(), rival.Actor()
		outer := must(t, a, a.Ctx, alone)
		inner := must(t, a, outer.Hold.Context(), alone)
		time.Sleep(lease / 4)
		arrives := time.Now().Add(2 * lease)
		w.On(func(q *locksim.Request, f *locksim.Fate) {
			switch {
			case q.Client != c:
			case q.Verb == "release":
				f.Delay = 2 * lease
			case q.Verb == "renew":
				f.Lost = time.Now().After(arrives.Add(-lease / 10)) // the last one was a moment before
			}
		})
		var all sync.WaitGroup
		all.Go(func() { ok(t, inner.Unlock(a.Ctx)) })
		all.Go(func() { // it enters when the outer hold is lost, and not before
			try := locksim.Acquisition{Names: alone.Names, Try: true}
			grip, err := b.Lock(b.Ctx, try)
			for ; err != nil; grip, err = b.Lock(b.Ctx, try) {
				time.Sleep(latency)
			}
			ok(t, grip.Unlock(b.Ctx))
		})
		<-outer.Hold.Context().Done()
		if time.Now().Before(arrives) {
			t.Error("the outer hold was lost too early")
		}
		all.Wait()
	})
}

// A lock that was taken in the process's own name is re-entered, and an earlier renewal arrives after that. The hold
// continues.
func TestRenewalOvertakenByAReentry(t *testing.T) {
	scripted(t, func(t *testing.T, w *locksim.World) {
		first, c := once(w), once(w)
		warm(t, first, c)
		h := first.Actor()
		before := must(t, h, h.Ctx, alone)
		w.On(func(q *locksim.Request, f *locksim.Fate) {
			switch {
			case q.Client != c:
			case q.Verb == "renew":
				f.Delay = 10 * latency
			case q.Verb == "acquire":
				f.Reply = 20 * latency
			}
		})
		var all sync.WaitGroup
		for range 3 { // enough for the process to take the lock in its own name
			a := c.Actor()
			all.Go(func() {
				outer := must(t, a, a.Ctx, alone)
				renewals := c.Sent("renew")
				soon(t, lease, "it is renewed", func() bool { return c.Sent("renew") > renewals })
				inner := must(t, a, outer.Hold.Context(), alone)
				time.Sleep(lease)
				if err := outer.Hold.Context().Err(); err != nil {
					t.Errorf("the outer hold was lost: %v", context.Cause(outer.Hold.Context()))
				}
				ok(t, inner.Unlock(a.Ctx))
				ok(t, outer.Unlock(a.Ctx))
			})
		}
		soon(t, time.Second, "they queue", func() bool { return w.Queued("a") == 1 })
		time.Sleep(10 * latency)
		ok(t, before.Unlock(h.Ctx))
		all.Wait()
	})
}

// A try is sent twice; the second copy finds the lock busy, and the first arrives when it is free.
func TestRefusedTryArrivesAgain(t *testing.T) {
	for _, name := range []string{"a", "fair:a", "write:a"} {
		scripted(t, func(t *testing.T, w *locksim.World) {
			c, holder := again(w), once(w)
			a, h := c.Actor(), holder.Actor()
			try := locksim.Acquisition{Names: []string{name}, Try: true}
			ok(t, must(t, a, a.Ctx, try).Unlock(a.Ctx))
			grip := must(t, h, h.Ctx, try)
			late := false
			w.On(func(q *locksim.Request, f *locksim.Fate) {
				if q.Client == c && strings.HasSuffix(q.Verb, "acquire") && !late {
					late = true
					f.Delay, f.CutAfter = lease/2, latency
				}
			})
			if _, err := a.Lock(a.Ctx, try); !errors.Is(err, locking.ErrBusy) {
				t.Errorf("the try: %v", err)
			}
			ok(t, grip.Unlock(h.Ctx))
			time.Sleep(lease/2 + lease/10)
			ok(t, must(t, h, h.Ctx, try).Unlock(h.Ctx))
		})
	}
}

// A lock that was taken in the process's own name is re-entered, and the answer is lost. The outer hold continues
// anyway, and its end frees the lock.
func TestAnswerLostToAReentry(t *testing.T) {
	for _, arrives := range []bool{true, false} {
		scripted(t, func(t *testing.T, w *locksim.World) {
			first, c := once(w), once(w)
			warm(t, first, c)
			h := first.Actor()
			before := must(t, h, h.Ctx, alone)
			var all sync.WaitGroup
			for range 3 { // enough for the process to take the lock in its own name
				a := c.Actor()
				all.Go(func() {
					outer := must(t, a, a.Ctx, alone)
					if inner, err := a.Lock(outer.Hold.Context(), alone); err == nil {
						ok(t, inner.Unlock(a.Ctx))
					}
					time.Sleep(2 * lease)
					if err := outer.Hold.Context().Err(); err != nil {
						t.Errorf("the outer hold was lost: %v", context.Cause(outer.Hold.Context()))
					}
					ok(t, outer.Unlock(a.Ctx))
				})
			}
			soon(t, time.Second, "they queue", func() bool { return w.Queued("a") == 1 })
			time.Sleep(10 * latency)
			lost := false
			w.On(func(q *locksim.Request, f *locksim.Fate) {
				if q.Client == c && q.Verb == "renew" && !lost {
					lost = true
					f.Lost, f.Mute, f.CutAfter = !arrives, arrives, 2*latency
				}
			})
			ok(t, before.Unlock(h.Ctx))
			all.Wait()
			if !lost {
				t.Error("no re-entry was lost")
			}
		})
	}
}

// The key of a holder vanishes: another owner may get the lock, with a higher token, and the holder is told within a lease.
func TestHolderOfAVanishedKeyIsTold(t *testing.T) {
	for name, key := range map[string]string{"a": "m:a", "fair:a": "f:a", "write:a": "rw:a", "read:a": "rwr:a"} {
		scripted(t, func(t *testing.T, w *locksim.World) {
			a, b := once(w).Actor(), once(w).Actor()
			grip := must(t, a, a.Ctx, locksim.Acquisition{Names: []string{name}})
			w.At(0, locksim.Vanish(key))
			time.Sleep(latency)
			rival := must(t, b, b.Ctx, locksim.Acquisition{Names: []string{strings.Replace(name, "read:", "write:", 1)}})
			if rival.Hold.Token() <= grip.Hold.Token() {
				t.Errorf("%s: token %d after %d", name, rival.Hold.Token(), grip.Hold.Token())
			}
			<-grip.Hold.Context().Done()
			if err := context.Cause(grip.Hold.Context()); !errors.Is(err, locking.ErrLost) {
				t.Errorf("%s: %v", name, err)
			}
			ok(t, rival.Unlock(b.Ctx))
			_ = grip.Unlock(a.Ctx) // it was lost
			if excused := w.Excused(); len(excused) != 1 {
				t.Errorf("%s: excused %q", name, excused)
			}
		})
	}
}

// The tokens of the readers vanish after a fixed lease has begun. A reader that joins it notes so, and leaves no key without expiry.
func TestVanishedTokensOfReadersExpireAgain(t *testing.T) {
	scripted(t, func(t *testing.T, w *locksim.World) {
		a := once(w).Actor()
		both := must(t, a, a.Ctx, locksim.Acquisition{Names: []string{"read:a", "read:ab"}, Lease: time.Second})
		w.At(0, locksim.Vanish("rwc:a"))
		time.Sleep(latency)
		inner := must(t, a, a.Ctx, locksim.Acquisition{Names: []string{"read:a"}})
		ok(t, inner.Unlock(a.Ctx))
		ok(t, both.Unlock(a.Ctx))
	})
}
