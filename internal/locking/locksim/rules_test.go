package locksim_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/locking"
	"inventory/internal/locking/locksim"
)

// trusted is how long a hold relies on a lease, from its request on.
const trusted = lease - lease/100 - 2*time.Millisecond

// every is a lock of each kind that has a state of its own.
var every = []string{"a", "fair:a", "write:a", "read:a"}

// lasted fails the test unless a hold has ended just when a lease from that moment can no longer be relied on, in virtual time.
func lasted(t *testing.T, grip *locksim.Grip, from time.Time) {
	t.Helper()
	if took := time.Since(from); took > trusted || took < trusted-latency {
		t.Errorf("the hold ended after %s, want %s", took, trusted)
	}
	if cause := context.Cause(grip.Hold.Context()); !errors.Is(cause, locking.ErrLost) {
		t.Errorf("cause %v", cause)
	}
}

// The answer to an acquire takes half of the lease: the hold has the other half.
func TestLeaseCountsFromTheQuestion(t *testing.T) {
	for _, name := range every {
		scripted(t, func(t *testing.T, w *locksim.World) {
			a := once(w).Actor()
			acquisition := locksim.Acquisition{Names: []string{name}, Lease: lease}
			ok(t, must(t, a, a.Ctx, acquisition).Unlock(a.Ctx)) // the script is known now
			w.On(func(_ *locksim.Request, f *locksim.Fate) { f.Reply = lease / 2 })
			start := time.Now()
			grip := must(t, a, a.Ctx, acquisition)
			<-grip.Hold.Context().Done()
			lasted(t, grip, start)
			_ = grip.Unlock(a.Ctx) // it was lost
		})
	}
}

// The answer to a renewal takes long, and no other answer arrives: the hold has the rest of that lease.
func TestRenewedLeaseCountsFromTheQuestion(t *testing.T) {
	for _, name := range every {
		scripted(t, func(t *testing.T, w *locksim.World) {
			c := once(w)
			a := c.Actor()
			grip := must(t, a, a.Ctx, locksim.Acquisition{Names: []string{name}})
			soon(t, lease, "it is renewed, and so the script is known", func() bool { return c.Sent(renewOf(name)) == 1 })
			time.Sleep(10 * latency)
			asked := make(chan time.Time, 1)
			w.On(func(_ *locksim.Request, f *locksim.Fate) {
				select {
				case asked <- time.Now():
					f.Reply = lease / 5
				default:
					f.Lost = true
				}
			})
			<-grip.Hold.Context().Done()
			lasted(t, grip, <-asked)
			_ = grip.Unlock(a.Ctx) // it was lost, and nothing arrives
		})
	}
}

// The watchdog keeps a lock while it is held.
func TestWatchdogKeepsTheLock(t *testing.T) {
	for _, name := range every {
		scripted(t, func(t *testing.T, w *locksim.World) {
			a, b := once(w).Actor(), once(w).Actor()
			grip := must(t, a, a.Ctx, locksim.Acquisition{Names: []string{name}})
			rival := locksim.Acquisition{Names: []string{strings.Replace(name, "read:", "write:", 1)}, Wait: 10 * lease}
			if _, err := b.Lock(b.Ctx, rival); !errors.Is(err, locking.ErrBusy) {
				t.Errorf("%s: while it is renewed: %v", name, err)
			}
			ok(t, grip.Hold.Context().Err())
			ok(t, grip.Unlock(a.Ctx))
		})
	}
}

func renewOf(name string) string {
	if strings.HasPrefix(name, "read:") {
		return "fifo_renew"
	}
	return "renew"
}

// swift runs a history on a network that is fast enough for a lock to pass inside a process without a script.
func swift(t *testing.T, play func(t *testing.T, w *locksim.World)) {
	t.Helper()
	busytest.Virtual(t, func(t *testing.T) {
		w := locksim.New(t, 1, locksim.Weather{Latency: 2 * time.Microsecond}, 0)
		w.Name = t.Name()
		defer w.End()
		play(t, w)
	})
}

// queueUp lets new owners of a process wait for a lock, one after the other, and returns their holds.
func queueUp(t *testing.T, c *locksim.Client, n int) <-chan *locksim.Grip {
	t.Helper()
	grips := make(chan *locksim.Grip, n)
	for range n {
		a := c.Actor()
		go func() {
			grip, err := a.Lock(a.Ctx, alone)
			if err != nil {
				t.Error(err)
			}
			grips <- grip
		}()
		time.Sleep(100 * time.Microsecond) // it waits in line
	}
	return grips
}

// A lock passes inside a process without a script: the next hold has the rest of the last script's lease.
func TestLeaseIsHandedOnAsItIs(t *testing.T) {
	swift(t, func(t *testing.T, w *locksim.World) {
		c := once(w)
		warm(t, c)
		a := c.Actor()
		grip := must(t, a, a.Ctx, alone)
		next := queueUp(t, c, 3)
		time.Sleep(5 * time.Millisecond)
		ok(t, grip.Unlock(a.Ctx)) // by a script, which reserves tokens
		grip = <-next
		scripts := c.Sent("acquire")
		time.Sleep(500 * time.Microsecond)
		left := grip.Hold.Remaining()
		ok(t, grip.Unlock(a.Ctx))
		grip = <-next
		if c.Sent("acquire") != scripts {
			t.Fatal("it took a script")
		}
		if now := grip.Hold.Remaining(); now != left {
			t.Errorf("the next one has %s, and the last one had %s", now, left)
		}
		ok(t, grip.Unlock(a.Ctx))
		ok(t, (<-next).Unlock(a.Ctx))
	})
}

// An acquire reserves tokens for the waiters here, but its answer takes long: the lease is too old for the lock to pass
// inside the process without a script.
func TestOldLeaseIsHandedOnByAScript(t *testing.T) {
	swift(t, func(t *testing.T, w *locksim.World) {
		c, other := once(w), once(w)
		warm(t, c, other)
		b := other.Actor()
		rival := must(t, b, b.Ctx, alone)
		next := queueUp(t, c, 3)
		time.Sleep(10 * time.Millisecond) // the first of them is subscribed
		var slowed atomic.Bool
		w.On(func(q *locksim.Request, f *locksim.Fate) {
			if q.Client == c && q.Verb == "acquire" && !slowed.Swap(true) {
				f.Reply = lease / 2
			}
		})
		ok(t, rival.Unlock(b.Ctx))
		grip := <-next
		time.Sleep(100 * time.Microsecond) // the next one has tried without success
		before := c.Sent("acquire")
		ok(t, grip.Unlock(b.Ctx))
		ok(t, (<-next).Unlock(b.Ctx))
		if c.Sent("acquire") == before {
			t.Error("it passes on without a script")
		}
		ok(t, (<-next).Unlock(b.Ctx))
	})
}

// The server does not give out again what a process takes from its reserve, also if the server's clock was set back
// since; and without a reserve, the process gives out nothing.
func TestReservedTokensAreNotMintedAgain(t *testing.T) {
	for early := range 3 {
		swift(t, func(t *testing.T, w *locksim.World) {
			c, other := once(w), once(w)
			warm(t, c, other)
			a, b := c.Actor(), other.Actor()
			grip := must(t, a, a.Ctx, alone)
			next := queueUp(t, c, 1+early)
			w.At(0, locksim.Step(-time.Second))
			time.Sleep(5 * time.Millisecond)
			last := grip.Hold.Token()
			ok(t, grip.Unlock(a.Ctx)) // by a script, which reserves tokens for the waiters
			more := queueUp(t, c, 1)
			for range 1 + early {
				grip = <-next
				if grip.Hold.Token() <= last {
					t.Errorf("token %d after %d", grip.Hold.Token(), last)
				}
				last = grip.Hold.Token()
				ok(t, grip.Unlock(a.Ctx))
			}
			grip = <-more
			last = max(last, grip.Hold.Token())
			ok(t, grip.Unlock(a.Ctx))
			if grip = must(t, b, b.Ctx, alone); grip.Hold.Token() <= last {
				t.Errorf("the server mints %d, and %d was given out", grip.Hold.Token(), last)
			}
			ok(t, grip.Unlock(b.Ctx))
		})
	}
}

// A token that was raised is above those in reserve: none of them is given out any more.
func TestReserveEndsWhenATokenIsRaised(t *testing.T) {
	swift(t, func(t *testing.T, w *locksim.World) {
		c := once(w)
		warm(t, c)
		a := c.Actor()
		grip := must(t, a, a.Ctx, alone)
		_, err := grip.Hold.TokenAbove(a.Ctx, 0) // the script is known now
		ok(t, err)
		next := queueUp(t, c, 3)
		time.Sleep(5 * time.Millisecond)
		ok(t, grip.Unlock(a.Ctx)) // by a script, which reserves tokens
		grip = <-next
		raised, err := grip.Hold.TokenAbove(a.Ctx, grip.Hold.Token()+1000)
		ok(t, err)
		ok(t, grip.Unlock(a.Ctx))
		for range 2 {
			grip = <-next
			if grip.Hold.Token() <= raised {
				t.Errorf("token %d after %d", grip.Hold.Token(), raised)
			}
			ok(t, grip.Unlock(a.Ctx))
		}
	})
}

// An owner that holds a lock does not wait for one that comes before it.
func TestMultiLockNeverWaitsBackwards(t *testing.T) {
	for _, name := range every {
		scripted(t, func(t *testing.T, w *locksim.World) {
			a, b := once(w).Actor(), once(w).Actor()
			rival := must(t, b, b.Ctx, locksim.Acquisition{Names: []string{strings.Replace(name, "read:", "write:", 1)}})
			late := must(t, a, a.Ctx, locksim.Acquisition{Names: []string{name + "b"}})
			start := time.Now()
			_, err := a.Lock(a.Ctx, locksim.Acquisition{Names: []string{name, name + "b"}, Wait: time.Second})
			if took := time.Since(start); !errors.Is(err, locking.ErrBusy) || took > 10*latency {
				t.Errorf("%s: %v after %s", name, err, took)
			}
			ok(t, late.Unlock(a.Ctx))
			ok(t, rival.Unlock(b.Ctx))
		})
	}
}

// A MultiLock with a fixed lease keeps the parts that it has taken while it waits for the rest, and the lease of all
// begins when it has them.
func TestMultiLockRenewsWhatItHasTaken(t *testing.T) {
	for _, name := range every {
		scripted(t, func(t *testing.T, w *locksim.World) {
			a, b, thief := once(w).Actor(), once(w).Actor(), once(w).Actor()
			writer := strings.Replace(name, "read:", "write:", 1)
			rival := must(t, b, b.Ctx, locksim.Acquisition{Names: []string{writer + "b"}})
			time.AfterFunc(2*lease+lease/6, func() {
				if _, err := thief.Lock(thief.Ctx, locksim.Acquisition{Names: []string{writer}, Try: true}); !errors.Is(err, locking.ErrBusy) {
					t.Errorf("%s: the first part is not kept: %v", name, err)
				}
			})
			time.AfterFunc(3*lease+lease/6, func() { _ = rival.Unlock(b.Ctx) })
			both := must(t, a, a.Ctx, locksim.Acquisition{Names: []string{name, name + "b"}, Lease: lease})
			if left := both.Hold.Remaining(); left < trusted-10*latency {
				t.Errorf("%s: %s left", name, left)
			}
			<-both.Hold.Context().Done() // nothing renews it any more
			if err := both.Unlock(a.Ctx); !errors.Is(err, locking.ErrLost) {
				t.Errorf("%s: unlock: %v", name, err)
			}
		})
	}
}

// A part that a MultiLock loses while it waits for the rest is missing at the end.
func TestMultiLockLosesAPartWhileItWaits(t *testing.T) {
	scripted(t, func(t *testing.T, w *locksim.World) {
		a, b := once(w).Actor(), once(w).Actor()
		rival := must(t, b, b.Ctx, locksim.Acquisition{Names: []string{"ab"}})
		time.AfterFunc(lease, func() {
			_, err := b.Client.Locks.Mutex("a", locking.Group("a")).ForceUnlock(b.Ctx)
			if err != nil {
				t.Error(err)
			}
		})
		time.AfterFunc(3*lease, func() { _ = rival.Unlock(b.Ctx) })
		if _, err := a.Lock(a.Ctx, locksim.Acquisition{Names: []string{"a", "ab"}}); !errors.Is(err, locking.ErrLost) {
			t.Errorf("it ends with %v", err)
		}
	})
}

// A waiter in the server's queue asks again when an answer is lost. Afterwards neither the lost attempt nor a late copy
// of it holds the lock, however the wait ends.
func TestLostAnswerToAWaiter(t *testing.T) {
	for _, name := range []string{"fair:a", "write:a"} {
		for _, late := range []bool{false, true} { // the attempt has taken the lock; or it arrives later
			scripted(t, func(t *testing.T, w *locksim.World) {
				c := w.Client(locksim.Habit{Lease: time.Minute, Retries: -1})
				a, b := c.Actor(), once(w).Actor()
				acquisition := locksim.Acquisition{Names: []string{name}}
				holder := must(t, b, b.Ctx, acquisition)
				ctx, cancel := context.WithCancel(a.Ctx)
				gone := make(chan struct{})
				go func() {
					defer close(gone)
					grip, err := a.Lock(ctx, acquisition)
					if late != (err == nil) {
						t.Errorf("the waiter ends with %v", err)
					}
					if err == nil {
						_ = grip.Unlock(a.Ctx)
					}
				}()
				time.Sleep(50 * latency) // it queues, and is subscribed
				lost := false
				w.On(func(q *locksim.Request, f *locksim.Fate) {
					if q.Client == c && q.Verb == "fifo_acquire" && !lost {
						lost, f.Mute, f.CutAfter = true, !late, 5*latency
						if late {
							f.Delay, f.CutAfter = 2*time.Second, latency
						}
					}
				})
				ok(t, holder.Unlock(b.Ctx))
				time.Sleep(50 * latency)
				if !late {
					cancel()
				}
				<-gone
				cancel()
				time.Sleep(3 * time.Second)
				ok(t, must(t, b, b.Ctx, locksim.Acquisition{Names: acquisition.Names, Try: true}).Unlock(b.Ctx))
			})
		}
	}
}

// An attempt is granted and its answer is lost. A copy of it arrives, and its caller asks again, while another caller
// waits: all get the same answer, and no caller is overtaken.
func TestCopyOfAGrantOvertakesNobody(t *testing.T) {
	scripted(t, func(t *testing.T, w *locksim.World) {
		w.Peaceful = true // the checker checks the order
		c, b, d := once(w), once(w).Actor(), once(w).Actor()
		a := c.Actor()
		acquisition := locksim.Acquisition{Names: []string{"write:a"}}
		holder := must(t, b, b.Ctx, acquisition)
		var waiting sync.WaitGroup
		for _, who := range []*locksim.Actor{a, d} {
			waiting.Go(func() {
				if grip, err := who.Lock(who.Ctx, acquisition); err == nil {
					ok(t, grip.Unlock(who.Ctx))
				} else if who == d {
					t.Error(err)
				}
			})
			time.Sleep(50 * latency) // it waits in line
		}
		lost := false
		w.On(func(q *locksim.Request, f *locksim.Fate) {
			if q.Client == c && q.Verb == "fifo_acquire" && !lost {
				lost = true
				f.Mute, f.CutAfter, f.Copies = true, 20*latency, []time.Duration{5 * latency}
			}
		})
		ok(t, holder.Unlock(b.Ctx))
		waiting.Wait()
	})
}
