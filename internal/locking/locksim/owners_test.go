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

// slow delays scripts: acquisitions, releases, and requests for higher tokens.
func slow(w *locksim.World) {
	w.On(func(q *locksim.Request, f *locksim.Fate) {
		switch {
		case q.Verb == "acquire":
			f.Delay = 100 * time.Millisecond
		case q.Verb != "renew" && strings.HasPrefix(strings.ToLower(q.Words[0][0]), "eval"):
			f.Delay = 60 * time.Millisecond
		}
	})
}

// A goroutine re-enters the lock of an owner while a second one requests a token and a third one unlocks. By the time
// of the request, the owner holds nothing. Its traces must not touch what the owner gets after that, and it waits like
// any other caller.
func TestReentryThatComesTooLate(t *testing.T) {
	for _, again := range []bool{false, true} {
		scripted(t, func(t *testing.T, w *locksim.World) {
			c, q := w.Client(locksim.Habit{Retries: -1}), w.Client(locksim.Habit{Retries: -1})
			warm(t, c, q)
			a, x, rival := c.Actor(), c.Actor(), q.Actor()
			first := must(t, a, a.Ctx, alone)
			_, err := first.Hold.TokenAbove(a.Ctx, 0)
			ok(t, err)
			var all sync.WaitGroup
			other := make(chan *locksim.Grip, 1)
			all.Go(func() { other <- must(t, x, x.Ctx, alone) })
			time.Sleep(5 * latency) // it waits in line
			slow(w)
			all.Go(func() { _, _ = first.Hold.TokenAbove(a.Ctx, 0) })
			time.Sleep(10 * time.Millisecond)
			all.Go(func() { ok(t, first.Unlock(a.Ctx)) })
			time.Sleep(10 * time.Millisecond)
			mine := make(chan *locksim.Grip, 2)
			ask := func() {
				all.Go(func() {
					grip, err := a.Lock(a.Ctx, alone)
					if err != nil {
						t.Error(err)
					}
					mine <- grip
				})
			}
			ask()
			theirs := <-other
			if again {
				ask()
			}
			time.Sleep(5 * latency)
			freed := time.Now()
			all.Go(func() { ok(t, theirs.Unlock(x.Ctx)) })
			grip := <-mine
			if took := time.Since(freed); took > 500*time.Millisecond {
				t.Errorf("it got the lock after %s", took)
			}
			time.Sleep(50 * time.Millisecond)
			if _, err := rival.Lock(rival.Ctx, locksim.Acquisition{Names: alone.Names, Try: true}); !errors.Is(err, locking.ErrBusy) {
				t.Errorf("another process while it is held: %v", err)
			}
			if again {
				all.Go(func() {
					if second := <-mine; second != nil {
						ok(t, second.Unlock(a.Ctx))
					}
				})
			}
			if grip != nil {
				ok(t, grip.Unlock(a.Ctx))
			}
			all.Wait()
		})
	}
}

// The outer of two holds is released first, and then at once the inner one, which has a short lease. The next owner in
// the same process gets its own lease, and not the one that the server should cut.
func TestShortLeaseIsNotHandedOn(t *testing.T) {
	swift(t, func(t *testing.T, w *locksim.World) {
		c, rival := w.Client(locksim.Habit{Retries: -1}), w.Client(locksim.Habit{Retries: -1}).Actor()
		warm(t, c)
		before, holder := c.Actor(), c.Actor()
		grip := must(t, before, before.Ctx, alone)
		first := make(chan *locksim.Grip)
		go func() { first <- must(t, holder, holder.Ctx, alone) }()
		time.Sleep(100 * time.Microsecond) // it waits in line
		next := queueUp(t, c, 3)
		time.Sleep(5 * time.Millisecond)
		ok(t, grip.Unlock(before.Ctx)) // by a script, which reserves tokens
		outer := <-first
		inner := must(t, holder, outer.Hold.Context(), locksim.Acquisition{Names: alone.Names, Lease: 20 * time.Millisecond})
		ok(t, outer.Unlock(holder.Ctx))
		ok(t, inner.Unlock(holder.Ctx))
		grip = <-next
		time.Sleep(30 * time.Millisecond)
		if _, err := rival.Lock(rival.Ctx, locksim.Acquisition{Names: alone.Names, Try: true}); !errors.Is(err, locking.ErrBusy) {
			t.Errorf("another process while it is held: %v", err)
		}
		ok(t, grip.Unlock(holder.Ctx))
		for range 2 {
			ok(t, (<-next).Unlock(holder.Ctx))
		}
	})
}

// A hold of an owner lapses, and the owner locks again while others wait. Unlocking the first hold then does not end
// the second.
func TestUnlockOfALapsedHold(t *testing.T) {
	for _, name := range every {
		scripted(t, func(t *testing.T, w *locksim.World) {
			c, rival := w.Client(locksim.Habit{Retries: -1}), w.Client(locksim.Habit{Retries: -1}).Actor()
			a := c.Actor()
			acquisition := locksim.Acquisition{Names: []string{name}, Lease: time.Minute}
			ok(t, must(t, a, a.Ctx, acquisition).Unlock(a.Ctx))
			lapsed := must(t, a, a.Ctx, locksim.Acquisition{Names: []string{name}, Lease: lease})
			<-lapsed.Hold.Context().Done()
			time.Sleep(lease / 10)
			other := locksim.Acquisition{Names: []string{strings.Replace(name, "read:", "write:", 1)}, Lease: time.Minute}
			busy := must(t, rival, rival.Ctx, other)
			got := make(chan *locksim.Grip, 1)
			go func() { got <- must(t, a, a.Ctx, acquisition) }()
			time.Sleep(10 * latency)
			var all sync.WaitGroup
			for range 2 {
				b := c.Actor()
				all.Go(func() { ok(t, must(t, b, b.Ctx, acquisition).Unlock(b.Ctx)) })
				time.Sleep(10 * latency)
			}
			ok(t, busy.Unlock(rival.Ctx))
			healthy := <-got
			if err := lapsed.Unlock(a.Ctx); !errors.Is(err, locking.ErrLost) {
				t.Errorf("%s: the lapsed one: %v", name, err)
			}
			time.Sleep(10 * latency)
			ok(t, context.Cause(healthy.Hold.Context()))
			try := locksim.Acquisition{Names: []string{strings.Replace(name, "read:", "write:", 1)}, Try: true}
			if _, err := rival.Lock(rival.Ctx, try); !errors.Is(err, locking.ErrBusy) {
				t.Errorf("%s: another process while it is held: %v", name, err)
			}
			ok(t, healthy.Unlock(a.Ctx))
			all.Wait()
		})
	}
}

// Two holds of an owner are unlocked while the server stands still: the lock is free when the server continues.
func TestTwoUnlocksOfAServerThatStandsStill(t *testing.T) {
	for _, name := range every {
		scripted(t, func(t *testing.T, w *locksim.World) {
			c, rival := w.Client(locksim.Habit{Retries: -1, Deadlines: true}), w.Client(locksim.Habit{Retries: -1}).Actor()
			a := c.Actor()
			acquisition := locksim.Acquisition{Names: []string{name}, Lease: time.Minute}
			outer := must(t, a, a.Ctx, acquisition)
			inner := must(t, a, outer.Hold.Context(), acquisition)
			const stands = 4 * time.Second
			start := time.Now()
			w.At(0, locksim.Pause(stands))
			var all sync.WaitGroup
			for _, grip := range []*locksim.Grip{outer, inner} {
				all.Go(func() {
					if err := grip.Unlock(a.Ctx); err != nil && !errors.Is(err, locking.ErrNoAnswer) {
						t.Errorf("%s: unlock: %v", name, err)
					}
				})
			}
			time.Sleep(stands - time.Since(start) + 200*time.Millisecond)
			other := locksim.Acquisition{Names: []string{strings.Replace(name, "read:", "write:", 1)}, Wait: 10 * time.Second}
			asked := time.Now()
			ok(t, must(t, rival, rival.Ctx, other).Unlock(rival.Ctx))
			if took := time.Since(asked); took > 4*time.Second {
				t.Errorf("%s: free after %s", name, took)
			}
			all.Wait()
		})
	}
}

// A renewal is under way when its hold is unlocked. It arrives later, and does not extend a shorter hold that is left.
func TestRenewalAfterTheRelease(t *testing.T) {
	for _, name := range every {
		scripted(t, func(t *testing.T, w *locksim.World) {
			c, rival := w.Client(locksim.Habit{Retries: -1, Lease: 3 * time.Second}), once(w).Actor()
			a := c.Actor()
			outer := must(t, a, a.Ctx, locksim.Acquisition{Names: []string{name}})
			soon(t, 2*time.Second, "the script is known", func() bool { return c.Sent(renewOf(name)) == 1 })
			var late atomic.Bool
			w.On(func(q *locksim.Request, f *locksim.Fate) {
				if q.Client == c && q.Verb == renewOf(name) {
					late.Store(true)
					f.Delay = lease
				}
			})
			time.Sleep(900 * time.Millisecond)
			inner := must(t, a, outer.Hold.Context(), locksim.Acquisition{Names: []string{name}, Lease: 2 * lease})
			soon(t, time.Second, "a renewal is on its way", late.Load)
			ok(t, outer.Unlock(a.Ctx))
			<-inner.Hold.Context().Done() // it is never unlocked
			lapsed := time.Now()
			acquisition := locksim.Acquisition{Names: []string{strings.Replace(name, "read:", "write:", 1)}, Wait: 10 * time.Second}
			ok(t, must(t, rival, rival.Ctx, acquisition).Unlock(rival.Ctx))
			if took := time.Since(lapsed); took > time.Second {
				t.Errorf("%s: free after %s", name, took)
			}
			_ = inner.Unlock(a.Ctx) // it was lost
		})
	}
}

// A hold is unlocked while a MultiLock of its owner restarts the leases of its parts: the release leaves no less than
// that on the server.
func TestReleaseBesideARenewalOfAMultiLock(t *testing.T) {
	for _, part := range []string{"a", "fair:a", "write:a"} {
		scripted(t, func(t *testing.T, w *locksim.World) {
			c, rival := once(w), once(w).Actor()
			a := c.Actor()
			busy := must(t, rival, rival.Ctx, locksim.Acquisition{Names: []string{"b"}, Lease: 10 * time.Second})
			outer := must(t, a, a.Ctx, locksim.Acquisition{Names: []string{part}})
			soon(t, lease, "the script is known", func() bool { return c.Sent(renewOf(part)) > 0 })
			var complete, renewed atomic.Bool
			w.On(func(q *locksim.Request, f *locksim.Fate) {
				if q.Client == c && q.Verb == renewOf(part) && complete.Load() {
					renewed.Store(true)
					f.Reply = 40 * time.Millisecond
				}
			})
			var all sync.WaitGroup
			all.Go(func() {
				both := must(t, a, a.Ctx, locksim.Acquisition{Names: []string{part, "b"}, Lease: time.Second})
				<-both.Hold.Context().Done() // it is never unlocked
				_ = both.Unlock(a.Ctx)       // it was lost
			})
			time.Sleep(600 * time.Millisecond)
			complete.Store(true)
			ok(t, busy.Unlock(rival.Ctx))
			soon(t, time.Second, "the leases begin anew", renewed.Load)
			time.Sleep(10 * time.Millisecond) // the server has it
			ok(t, outer.Unlock(a.Ctx))
			next := must(t, rival, rival.Ctx, locksim.Acquisition{Names: []string{part}, Wait: 10 * time.Second})
			ok(t, next.Unlock(rival.Ctx))
			all.Wait()
		})
	}
}

// A re-entry is under way when the last hold is unlocked, and then fails: the lock is released at the server.
func TestReentryThatComesToNothing(t *testing.T) {
	scripted(t, func(t *testing.T, w *locksim.World) {
		c, rival := w.Client(locksim.Habit{Retries: -1}), w.Client(locksim.Habit{Retries: -1}).Actor()
		warm(t, c)
		a := c.Actor()
		second, both := locksim.Acquisition{Names: []string{"ab"}, Try: true}, locksim.Acquisition{Names: []string{"a", "ab"}, Try: true}
		busy := must(t, rival, rival.Ctx, alone)
		grip := must(t, a, a.Ctx, second)
		w.On(func(q *locksim.Request, f *locksim.Fate) {
			if q.Client == c && q.Verb == "acquire" {
				f.Delay = 50 * time.Millisecond
			}
		})
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := a.Lock(a.Ctx, both); !errors.Is(err, locking.ErrBusy) {
				t.Errorf("both: %v", err)
			}
		})
		time.Sleep(10 * time.Millisecond)
		ok(t, grip.Unlock(a.Ctx))
		all.Wait()
		time.Sleep(10 * latency)
		ok(t, must(t, rival, rival.Ctx, second).Unlock(rival.Ctx))
		ok(t, busy.Unlock(rival.Ctx))
	})
}

// The last hold is unlocked while a re-entry is under way, which the server has already granted: the re-entry keeps the
// lock, and no other caller gets it, neither here nor elsewhere.
func TestReentryUnderWay(t *testing.T) {
	for _, waits := range []bool{false, true} {
		scripted(t, func(t *testing.T, w *locksim.World) {
			c, rival := w.Client(locksim.Habit{Retries: -1}), w.Client(locksim.Habit{Retries: -1}).Actor()
			warm(t, c)
			a, b := c.Actor(), c.Actor()
			outer := must(t, a, a.Ctx, alone)
			var all sync.WaitGroup
			if waits {
				all.Go(func() { ok(t, must(t, b, b.Ctx, alone).Unlock(b.Ctx)) })
				time.Sleep(10 * latency)
			}
			w.On(func(q *locksim.Request, f *locksim.Fate) {
				if q.Client == c && q.Verb == "renew" {
					f.Reply = 50 * time.Millisecond
				}
			})
			got := make(chan *locksim.Grip, 1)
			go func() { got <- must(t, a, a.Ctx, alone) }()
			time.Sleep(10 * time.Millisecond)
			ok(t, outer.Unlock(a.Ctx))
			inner := <-got
			if inner.Hold.Token() != outer.Hold.Token() {
				t.Errorf("token %d inside of %d", inner.Hold.Token(), outer.Hold.Token())
			}
			if _, err := rival.Lock(rival.Ctx, locksim.Acquisition{Names: alone.Names, Try: true}); !errors.Is(err, locking.ErrBusy) {
				t.Errorf("another process while it is held: %v", err)
			}
			ok(t, inner.Hold.Context().Err())
			ok(t, inner.Unlock(a.Ctx))
			all.Wait()
		})
	}
}

// Goroutines that share an owner ask at the same time for a lock that it does not have: they get one grant.
func TestSiblingsAtOnce(t *testing.T) {
	for _, name := range every {
		scripted(t, func(t *testing.T, w *locksim.World) {
			a := once(w).Actor()
			acquisition := locksim.Acquisition{Names: []string{name}}
			ok(t, must(t, a, a.Ctx, acquisition).Unlock(a.Ctx))
			grips := make(chan *locksim.Grip, 3)
			for range cap(grips) {
				go func() { grips <- must(t, a, a.Ctx, acquisition) }()
			}
			all := []*locksim.Grip{<-grips, <-grips, <-grips}
			for _, grip := range all {
				ok(t, grip.Hold.Context().Err())
				if grip.Hold.Token() != all[0].Hold.Token() || grip.Hold.Count() != len(all) {
					t.Errorf("%s: token %d and %d, count %d", name, grip.Hold.Token(), all[0].Hold.Token(), grip.Hold.Count())
				}
			}
			for _, grip := range all {
				ok(t, grip.Unlock(a.Ctx))
			}
		})
	}
}

// Readers of one process are renewed together, while a writer of another one waits for longer than a lease.
func TestManyReadersAreRenewed(t *testing.T) {
	const many = 50
	scripted(t, func(t *testing.T, w *locksim.World) {
		c, rival := once(w), once(w).Actor()
		var grips []*locksim.Grip
		for range many {
			a := c.Actor()
			grips = append(grips, must(t, a, a.Ctx, locksim.Acquisition{Names: []string{"read:a"}}))
		}
		writer := locksim.Acquisition{Names: []string{"write:a"}, Wait: 3 * lease}
		if _, err := rival.Lock(rival.Ctx, writer); !errors.Is(err, locking.ErrBusy) {
			t.Errorf("a writer: %v", err)
		}
		for _, grip := range grips {
			ok(t, grip.Hold.Context().Err())
			ok(t, grip.Unlock(t.Context()))
		}
		ok(t, must(t, rival, rival.Ctx, writer).Unlock(rival.Ctx))
	})
}

// A hold lives while its process renews it, and at most one lease after that.
func TestWatchdog(t *testing.T) {
	for _, name := range []string{"a", "fair:a", "write:a"} {
		scripted(t, func(t *testing.T, w *locksim.World) {
			c, rival := once(w), once(w).Actor()
			a := c.Actor()
			grip := must(t, a, a.Ctx, locksim.Acquisition{Names: []string{name}})
			if _, err := rival.Lock(rival.Ctx, locksim.Acquisition{Names: []string{name}, Wait: 5 * lease}); !errors.Is(err, locking.ErrBusy) {
				t.Errorf("%s, while it is renewed: %v", name, err)
			}
			ok(t, grip.Hold.Context().Err())
			ok(t, c.Locks.Close()) // the process ends
			ended := time.Now()
			next := must(t, rival, rival.Ctx, locksim.Acquisition{Names: []string{name}, Wait: 5 * lease})
			if took := time.Since(ended); took > lease+100*time.Millisecond {
				t.Errorf("%s: free after %s", name, took)
			}
			if cause := context.Cause(grip.Hold.Context()); !errors.Is(cause, locking.ErrLost) {
				t.Errorf("%s: the hold ended with %v", name, cause)
			}
			ok(t, next.Unlock(rival.Ctx))
		})
	}
}

// A reader whose process ends is gone after its lease, while a reader of another process continues.
func TestRWCrashedReaderIsNotKeptAlive(t *testing.T) {
	scripted(t, func(t *testing.T, w *locksim.World) {
		crashing, living, rival := once(w), once(w).Actor(), once(w).Actor()
		read, write := locksim.Acquisition{Names: []string{"read:a"}}, locksim.Acquisition{Names: []string{"write:a"}}
		crashed := crashing.Actor()
		must(t, crashed, crashed.Ctx, read)
		reader := must(t, living, living.Ctx, read)
		ok(t, crashing.Locks.Close())
		time.Sleep(2 * lease)
		ok(t, reader.Hold.Context().Err())
		start := time.Now()
		ok(t, reader.Unlock(living.Ctx))
		ok(t, must(t, rival, rival.Ctx, write).Unlock(rival.Ctx))
		if took := time.Since(start); took > 100*time.Millisecond {
			t.Errorf("the crashed reader kept a writer out for %s after its lease", took)
		}
	})
}

// A process whose callers always want the lock lets others have it.
func TestHandoffYields(t *testing.T) {
	swift(t, func(t *testing.T, w *locksim.World) {
		busy, lone := w.Client(locksim.Habit{Retries: -1}), w.Client(locksim.Habit{Retries: -1}).Actor()
		var over atomic.Bool
		var callers sync.WaitGroup
		for range 8 {
			a := busy.Actor()
			callers.Go(func() {
				for !over.Load() {
					grip := must(t, a, a.Ctx, alone)
					time.Sleep(10 * time.Microsecond)
					ok(t, grip.Unlock(a.Ctx))
				}
			})
		}
		defer callers.Wait()
		defer over.Store(true)
		for range 8 {
			turn := alone
			turn.Wait = 20 * time.Millisecond
			ok(t, must(t, lone, lone.Ctx, turn).Unlock(lone.Ctx))
		}
	})
}
