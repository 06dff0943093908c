package locking

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
)

// sides runs a test with a FairMutex and with the writing side of an RWMutex, which make the same promises.
func sides(t *testing.T, on place, test func(w *world, of func(l *Locks) *fifo)) {
	t.Helper()
	t.Parallel()
	for kind, of := range map[string]func(l *Locks, name string) *fifo{
		"fair":  func(l *Locks, name string) *fifo { return l.FairMutex(name).fifo },
		"write": func(l *Locks, name string) *fifo { return l.RWMutex(name).Writer().fifo },
	} {
		t.Run(kind, func(t *testing.T) {
			on(t, func(w *world) {
				test(w, func(l *Locks) *fifo { return of(l, w.name) })
			})
		})
	}
}

// waiting returns how many waiters queue at the server for either side.
func (w *world) waiting(rdb *redis.Client, f *fifo) int64 {
	w.t.Helper()
	n := int64(0)
	for _, queue := range []int{3, 4} {
		some, err := rdb.ZCard(w.ctx(), f.keys[queue]).Result()
		w.ok(err)
		n += some
	}
	return n
}

// left fails the test if a lock without holders and waiters has left a key.
func (w *world) left(rdb *redis.Client, f *fifo) {
	w.t.Helper()
	w.soon("nothing is left", func() bool {
		for _, key := range f.keys {
			if w.exists(rdb, key) != 0 {
				return false
			}
		}
		return true
	})
}

// line starts a waiter for each lock, one after the other in the server's queue, and returns in which order they enter.
// Each unlocks after work.
func (w *world) line(rdb *redis.Client, locks []*fifo, work func(i int, h *Hold)) (wait func() []int) {
	w.t.Helper()
	var mu sync.Mutex
	var entered []int
	var wg sync.WaitGroup
	before := w.waiting(rdb, locks[0])
	for i, f := range locks {
		wg.Go(func() {
			h, err := f.Lock(w.ctx())
			if err != nil {
				w.t.Errorf("waiter %d: %v", i, err)
				return
			}
			mu.Lock()
			entered = append(entered, i)
			mu.Unlock()
			work(i, h)
		})
		w.soon("it queues", func() bool { return w.waiting(rdb, f) == before+int64(i)+1 })
	}
	return func() []int {
		wg.Wait()
		return entered
	}
}

func (w *world) unlocks(_ int, h *Hold) { w.ok(h.Unlock(w.ctx())) }

func inOrder(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

func TestFifoCycle(t *testing.T) {
	sides(t, each, func(w *world, of func(*Locks) *fifo) {
		rdb, ctx := w.client(), w.ctx()
		f := of(w.locks())
		for range 3 {
			begin := time.Now()
			h := w.must(f.Lock(ctx))
			state, err := rdb.HGetAll(ctx, f.stateKey).Result()
			w.ok(err)
			if state[h.holder()] != "1" || state["token"] != fmt.Sprint(h.Token()) || len(state) != 2 {
				w.t.Errorf("state %v of owner %s", state, h.Owner())
			}
			w.lives(rdb, f.stateKey, defaultWatchdogLease, begin)
			w.ok(h.Unlock(ctx))
			w.ok(h.Unlock(ctx)) // once more does nothing
			w.left(rdb, f)
			if !errors.Is(h.Context().Err(), context.Canceled) {
				w.t.Error("the context outlives the hold")
			}
		}
		if _, err := f.locks.FairMutex("").Lock(ctx); !errors.Is(err, ErrEmptyName) {
			w.t.Error(err)
		}
	})
}

func TestFifoParallelReentriesShareAGrant(t *testing.T) {
	sides(t, each, func(w *world, of func(*Locks) *fifo) {
		rdb, ctx := w.client(), w.ctx()
		f := of(w.locks())
		outer := w.must(f.Lock(ctx))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 10 {
					h, err := f.Lock(outer.Context())
					if err != nil {
						w.t.Error(err)
						return
					}
					w.unlocks(0, h)
				}
			})
		}
		wg.Wait()
		if count := rdb.HGet(ctx, f.stateKey, outer.holder()).Val(); count != "1" {
			w.t.Errorf("count %s", count)
		}
		w.ok(outer.Unlock(ctx))
		w.left(rdb, f)
	})
}

// All waiters of one owner enter with the first of them, not one after the other.
func TestFifoSiblingsEnterTogether(t *testing.T) {
	sides(t, each, func(w *world, of func(*Locks) *fifo) {
		rdb, ctx := w.client(), w.ctx()
		f, other := of(w.locks()), of(w.locks())
		blocker := w.must(other.Lock(ctx))
		family := WithOwner(ctx)
		holds := make(chan *Hold, 2)
		for i := range 2 {
			go func() {
				h, err := f.Lock(family)
				if err != nil {
					w.t.Error(err)
				}
				holds <- h
			}()
			w.soon("it queues", func() bool { return w.waiting(rdb, f) == int64(i)+1 })
		}
		w.ok(blocker.Unlock(ctx))
		first, second := <-holds, <-holds
		if first.Token() != second.Token() {
			w.t.Errorf("two tokens: got %v, want %v", first.Token(), second.Token())
		}
		w.ok(first.Unlock(ctx))
		w.ok(second.Unlock(ctx))
		w.left(rdb, f)
	})
}

func TestFirstComeLockExcludesOwnersOfAllProcesses(t *testing.T) {
	sides(t, each, func(w *world, of func(*Locks) *fifo) {
		const processes, callers, rounds = 4, 4, 6
		ctx := w.ctx()
		counter, last := 0, int64(0) // not atomic: the lock is all that guards them
		var wg sync.WaitGroup
		for range processes {
			f := of(w.locks())
			for range callers {
				wg.Go(func() {
					for range rounds {
						h, err := f.Lock(ctx)
						if err != nil {
							w.t.Error(err)
							return
						}
						counter++
						if h.Token() <= last {
							w.t.Errorf("token %d after %d", h.Token(), last)
						}
						last = h.Token()
						w.unlocks(0, h)
					}
				})
			}
		}
		wg.Wait()
		if counter != processes*callers*rounds {
			w.t.Errorf("%d entries", counter)
		}
		w.left(w.client(), of(w.locks()))
	})
}

func TestFirstComeLockLetsInWhoCameFirst(t *testing.T) {
	sides(t, each, func(w *world, of func(*Locks) *fifo) {
		const many = 15
		rdb, ctx := w.client(), w.ctx()
		processes := []*Locks{w.locks(), w.locks(), w.locks()}
		first := w.must(of(processes[0]).Lock(ctx))
		var line []*fifo
		for i := range many {
			line = append(line, of(processes[i%len(processes)]))
		}
		order := w.line(rdb, line, w.unlocks)
		w.ok(first.Unlock(ctx))
		if got := order(); !slices.Equal(got, inOrder(many)) {
			w.t.Errorf("entered in the order %v", got)
		}
		w.left(rdb, line[0])
	})
}

// A caller that unlocks and comes back at once gets a position behind all others.
func TestFifoReleaserQueuesBehind(t *testing.T) {
	sides(t, each, func(w *world, of func(*Locks) *fifo) {
		rdb, ctx := w.client(), w.ctx()
		f, other := of(w.locks()), of(w.locks())
		h := w.must(f.Lock(ctx))
		var inside atomic.Int32
		order := w.line(rdb, []*fifo{other, f, other}, func(_ int, h *Hold) {
			inside.Add(1)
			w.unlocks(0, h)
		})
		w.ok(h.Unlock(ctx))
		again := w.must(f.Lock(ctx))
		if inside.Load() != 3 {
			w.t.Errorf("it overtook %d of 3", 3-inside.Load())
		}
		w.ok(again.Unlock(ctx))
		order()
	})
}

func TestFifoTryLockDoesNotQueue(t *testing.T) {
	sides(t, virtual, func(w *world, of func(*Locks) *fifo) {
		rdb, ctx := w.client(), w.ctx()
		f := of(w.locks())
		h := w.must(f.Lock(ctx))
		other := of(w.locks())
		for _, try := range []func() (*Hold, error){
			func() (*Hold, error) { return other.TryLock(ctx) },
			func() (*Hold, error) { return other.Lock(ctx, Wait(0)) },
		} {
			if _, err := try(); !errors.Is(err, ErrBusy) {
				w.t.Error(err)
			}
			if n := w.waiting(rdb, f); n != 0 {
				w.t.Errorf("%d wait", n)
			}
		}
		w.ok(h.Unlock(ctx))
		// The lock is free, but another waiter will come soon: it has not received its wake-up yet.
		d := &desk{world: w, rdb: rdb, keys: f.byRole(), life: policy.WaiterLife}
		d.taken("write", "x")
		d.queued("write", "y")
		d.release("write", "x")
		if _, err := other.TryLock(ctx); !errors.Is(err, ErrBusy) {
			w.t.Errorf("somebody queues: got %v, want ErrBusy", err)
		}
		d.leave("y")
		w.ok(w.must(other.TryLock(ctx)).Unlock(ctx))
	})
}

// byRole returns the keys of a lock for the desk.
func (f *fifo) byRole() map[string]string {
	keys := map[string]string{"clock": f.clock(), "tombstone": f.tombstone(1 << 60)}
	for i, role := range []string{"state", "readers", "tokens", "writing", "reading", "beats", "pulse"} {
		keys[role] = f.keys[i]
	}
	return keys
}

// Eight waiters whose holders never unlock all enter, in order, each when the lease before it ends, in virtual time.
func TestFifoWaitersEnterAsLeasesEnd(t *testing.T) {
	sides(t, virtual, func(w *world, of func(*Locks) *fifo) {
		const lease = 200 * time.Millisecond
		rdb, ctx := w.client(), w.ctx()
		first := w.must(of(w.locks()).Lock(ctx))
		var mu sync.Mutex
		var entered []int
		var wg sync.WaitGroup
		for i := range 8 {
			f := of(w.locks())
			wg.Go(func() {
				if _, err := f.Lock(ctx, Lease(lease)); err != nil {
					w.t.Error(err)
				}
				mu.Lock()
				entered = append(entered, i)
				mu.Unlock()
			})
			w.soon("it queues", func() bool { return w.waiting(rdb, f) == int64(i)+1 })
		}
		w.ok(rdb.PExpire(ctx, first.one().grant.lock.stateKey, lease).Err()) // all are in the queue; now its lease may run out
		start := time.Now()
		wg.Wait()
		if took := time.Since(start); took > (1+8)*lease+4*time.Second {
			w.t.Errorf("it took %s", took)
		}
		if !slices.Equal(entered, inOrder(8)) {
			w.t.Errorf("entered in the order %v", entered)
		}
	})
}

// Waiters of a dead process are passed over at their deadlines, in virtual time, and the last one enters.
func TestFifoWaitersOfADeadProcessArePassedOver(t *testing.T) {
	sides(t, virtual, func(w *world, of func(*Locks) *fifo) {
		rdb, ctx := w.client(), w.ctx()
		f := of(w.locks())
		h := w.must(f.Lock(ctx))
		d := &desk{world: w, rdb: rdb, keys: f.byRole(), life: policy.WaiterLife}
		for _, dead := range []string{"1", "2", "3", "4"} { // they get no more heartbeats
			d.queued("write", dead)
		}
		died := time.Now()
		order := w.line(rdb, []*fifo{of(w.locks())}, w.unlocks)
		w.ok(h.Unlock(ctx))
		order()
		if took := time.Since(died); took < 2*time.Second || took > policy.WaiterLife+2*policy.Soon {
			w.t.Errorf("it entered after %s", took)
		}
		w.left(rdb, f)
	})
}

// Nobody else waits, and who wants the lock tries seldom: for the server, each time may be the end of a pause. The dead do not keep
// it out for a minute, until their keys expire, and the living keep their places. The test runs in virtual time.
func TestFifoRareTriesPassTheDeadOver(t *testing.T) {
	sides(t, virtual, func(w *world, of func(*Locks) *fifo) {
		const pause = 2500 * time.Millisecond // longer than heartbeats ever take
		rdb, ctx := w.client(), w.t.Context()
		f := of(w.locks())
		d := &desk{world: w, rdb: rdb, keys: f.byRole(), life: policy.WaiterLife}
		h := w.must(f.Lock(ctx))
		d.queued("write", "dead")
		died := time.Now()
		w.ok(h.Unlock(ctx))
		for h = nil; h == nil; time.Sleep(pause) {
			h, _ = f.TryLock(ctx)
		}
		if took := time.Since(died) - pause; took < policy.WaiterLife || took > policy.WaiterLife+2*pause {
			w.t.Errorf("it entered after %s", took)
		}
		w.ok(h.Unlock(ctx))
		w.left(rdb, f)
	})
}

// However many came and went before, a waiter is passed over 3 s after its process died, and not later.
func TestFifoDeadlinesDoNotDrift(t *testing.T) {
	sides(t, virtual, func(w *world, of func(*Locks) *fifo) {
		rdb, ctx := w.client(), w.ctx()
		f := of(w.locks())
		h := w.must(f.Lock(ctx))
		var wg sync.WaitGroup
		for range 5 {
			for range 10 {
				wg.Go(func() {
					if _, err := f.Lock(ctx, Wait(20*time.Millisecond)); !errors.Is(err, ErrBusy) && !errors.Is(err, ErrNoAnswer) {
						w.t.Error(err)
					}
				})
			}
			wg.Wait()
		}
		w.soon("all have left", func() bool { return w.waiting(rdb, f) == 0 })
		d := &desk{world: w, rdb: rdb, keys: f.byRole(), life: policy.WaiterLife}
		d.queued("write", "dead")
		order := w.line(rdb, []*fifo{of(w.locks()), f}, w.unlocks)
		beat := rdb.ZScore(ctx, f.keys[5], "P:dead").Val()
		if left := time.Until(time.UnixMilli(int64(beat))); left > policy.WaiterLife {
			w.t.Errorf("a deadline is %s away", left)
		}
		w.ok(h.Unlock(ctx))
		order()
		w.left(rdb, f)
	})
}

func TestFifoCancelledWaiterIsNeverAdmitted(t *testing.T) {
	sides(t, each, func(w *world, of func(*Locks) *fifo) {
		rdb, ctx := w.client(), w.ctx()
		h := w.must(of(w.locks()).Lock(ctx))
		f := of(w.locks())
		waiting, cancel := context.WithCancelCause(ctx)
		reason := errors.New("enough")
		failed := make(chan error)
		go func() {
			_, err := f.Lock(waiting)
			failed <- err
		}()
		w.soon("it queues", func() bool { return w.waiting(rdb, f) == 1 })
		cancel(reason)
		err := <-failed
		if !errors.Is(err, context.Canceled) || !errors.Is(err, reason) || !errors.Is(err, ErrBusy) && !errors.Is(err, ErrNoAnswer) {
			w.t.Errorf("error %v", err)
		}
		w.soon("it has left", func() bool { return w.waiting(rdb, f) == 0 })
		w.ok(h.Unlock(ctx))
		if _, err := f.Lock(waiting); !errors.Is(err, context.Canceled) {
			w.t.Errorf("with a dead context: got %v, want context.Canceled", err)
		}
		w.left(rdb, f)
	})
}

// A waiter that gives up while it is being handed the lock passes it on, without a wait in virtual time.
func TestFifoGivingUpWakesTheNext(t *testing.T) {
	sides(t, virtual, func(w *world, of func(*Locks) *fifo) {
		rdb, ctx := w.client(), w.ctx()
		for i := range 20 {
			f, impatient, patient := of(w.locks()), of(w.locks()), of(w.locks())
			h := w.must(f.Lock(ctx))
			leaving, cancel := context.WithCancel(ctx)
			gone := make(chan *Hold)
			go func() {
				h, _ := impatient.Lock(leaving)
				gone <- h
			}()
			w.soon("it queues", func() bool { return w.waiting(rdb, f) == 1 })
			order := w.line(rdb, []*fifo{patient}, w.unlocks)
			time.AfterFunc(time.Duration(i)*near/4, cancel) // during the release, or its wake-up, or the answer to that
			start := time.Now()
			w.ok(h.Unlock(ctx))
			if h := <-gone; h != nil { // it was quicker
				w.unlocks(0, h)
			}
			order()
			if took := time.Since(start); took > 700*time.Millisecond {
				w.t.Errorf("the next one entered after %s", took)
			}
		}
	})
}

func TestFifoWaitThatRunsOutIsErrBusy(t *testing.T) {
	sides(t, virtual, func(w *world, of func(*Locks) *fifo) {
		rdb, ctx := w.client(), w.ctx()
		h := w.must(of(w.locks()).Lock(ctx))
		f := of(w.locks())
		for _, wait := range []time.Duration{0, time.Millisecond, 300 * time.Millisecond} {
			took, err := w.refused(func() (*Hold, error) { return f.Lock(ctx, Wait(wait)) })
			if !errors.Is(err, ErrBusy) || took < wait || took > wait+500*time.Millisecond {
				w.t.Errorf("wait of %s: %v after %s", wait, err, took)
			}
		}
		w.ok(h.Unlock(ctx))
		w.left(rdb, f)
	})
}

func TestFifoCloseEndsWaiting(t *testing.T) {
	sides(t, each, func(w *world, of func(*Locks) *fifo) {
		rdb, ctx := w.client(), w.ctx()
		h := w.must(of(w.locks()).Lock(ctx))
		l := w.locks()
		f := of(l)
		failed := make(chan error)
		go func() {
			_, err := f.Lock(ctx)
			failed <- err
		}()
		w.soon("it queues", func() bool { return w.waiting(rdb, f) == 1 })
		closed := make(chan error)
		go func() { closed <- l.Close() }()
		if err := <-failed; !errors.Is(err, ErrClosed) {
			w.t.Errorf("the waiter: got %v, want ErrClosed", err)
		}
		w.ok(<-closed)
		if w.waiting(rdb, f) != 0 {
			w.t.Error("it still queues")
		}
		w.ok(h.Unlock(ctx))
		w.left(rdb, f)
	})
}

// A lost wake-up costs a poll.
func TestFifoLostWakeUpCostsAPoll(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]func(m *memory){
		"no subscription":   (*memory).refuseListeners,
		"subscription lost": func(*memory) {},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(w *world) {
				rdb, ctx := w.client(), w.ctx()
				breaks(w.memory)
				f := w.locks().FairMutex(w.name).fifo
				h := w.must(f.Lock(ctx))
				wait := w.line(rdb, []*fifo{w.locks().FairMutex(w.name).fifo, w.locks().FairMutex(w.name).fifo}, w.unlocks)
				w.memory.cutListeners()
				start := time.Now()
				w.ok(h.Unlock(ctx))
				if got := wait(); !slices.Equal(got, inOrder(2)) {
					w.t.Errorf("entered in the order %v", got)
				}
				if took := time.Since(start); took > 3*policy.Poll {
					w.t.Errorf("both entered after %s", took)
				}
			})
		})
	}
}

// All of many contenders of several processes queue, and all enter.
func TestFifoManyContendersAllEnter(t *testing.T) {
	each(t, func(w *world) {
		const processes, contenders = 5, 100
		ctx, step := w.steps()
		f := w.locks().FairMutex(w.name)
		first, rdb := w.must(f.Lock(ctx)), w.client()
		counter := 0
		var wg sync.WaitGroup
		for range processes {
			f := w.locks().FairMutex(w.name)
			for range contenders / processes {
				wg.Go(func() {
					h := w.must(f.Lock(ctx))
					counter++
					step()
					w.unlocks(0, h)
				})
			}
		}
		for n := range contenders {
			w.soon("another one queues", func() bool { return w.waiting(rdb, f.fifo) > int64(n) })
			step()
		}
		w.unlocks(0, first)
		wg.Wait()
		if counter != contenders {
			w.t.Errorf("%d entries", counter)
		}
		w.left(rdb, f.fifo)
	})
}

// A pause of the server empties no queue, changes no order and raises no error.
func TestFifoPauseOfTheServerKeepsTheQueue(t *testing.T) {
	virtual(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		keeps := func(o *redis.Options) { o.ContextTimeoutEnabled = true }
		var line []*fifo
		for i := range 6 {
			if i%2 == 0 {
				line = append(line, w.locks().FairMutex(w.name).fifo)
			} else {
				line = append(line, w.locksOn(w.client(keeps)).FairMutex(w.name).fifo)
			}
		}
		h := w.must(w.locks().FairMutex(w.name).Lock(ctx))
		order := w.line(rdb, line, w.unlocks)
		w.memory.Pause()
		time.Sleep(policy.WaiterLife + 2*time.Second) // the test needs this time to pass
		w.memory.Resume()
		w.ok(h.Unlock(ctx))
		if got := order(); !slices.Equal(got, inOrder(len(line))) {
			w.t.Errorf("entered in the order %v", got)
		}
		w.left(rdb, line[0])
	})
}

// The commands of a caller: a cycle has two, and a contended one at most four.
func TestFifoCycleHasTwoCommands(t *testing.T) {
	virtual(t, func(w *world) {
		ctx := w.ctx()
		l, own := w.tapped()
		for _, f := range []*fifo{l.FairMutex(w.name).fifo, l.RWMutex(w.name).Writer().fifo, l.RWMutex(w.name).Reader().fifo} {
			w.ok(w.must(f.Lock(ctx)).Unlock(ctx)) // the scripts are known now
			before := own.count()
			w.ok(w.must(f.Lock(ctx)).Unlock(ctx))
			if n := own.count() - before; n != 2 {
				w.t.Errorf("a cycle of %s takes %d commands", f.stateKey, n)
			}
		}

		const clients, rounds = 16, 10
		var taps []*tap
		var wg sync.WaitGroup
		name := w.name + rand.Text()
		for range clients {
			l, its := w.tapped()
			taps = append(taps, its)
			wg.Go(func() {
				for range rounds {
					h, err := l.FairMutex(name).Lock(ctx)
					if err != nil {
						w.t.Error(err)
						return
					}
					time.Sleep(time.Millisecond) // work
					w.unlocks(0, h)
				}
			})
		}
		wg.Wait()
		commands := 0
		for _, its := range taps {
			commands += its.count()
		}
		if per := float64(commands) / (clients * rounds); per > 4 {
			w.t.Errorf("%.2f commands for an acquisition", per)
		}
	})
}

// A process waits for many locks of a server that stands still. Its heartbeats spend one time-out on that server and
// not one for each batch: otherwise its waiters at other nodes would be dropped as dead.
func TestSilentServerKeepsNoOtherWaiterFromItsHeartbeat(t *testing.T) {
	virtual(t, func(w *world) {
		l := w.locks()
		for i := range 4 * batch {
			queue(l.FairMutex(fmt.Sprint(w.name, i)), fmt.Sprint(i))
		}
		w.memory.Pause()
		start := time.Now()
		next := l.beatOnce()
		if took := time.Since(start); took > policy.Heartbeat+policy.Heartbeat/2 || next != policy.Soon {
			w.t.Errorf("after %s: next after %s", took, next)
		}
		if looked := woken(l); len(looked) > 0 {
			w.t.Errorf("%v look", looked)
		}
		w.memory.Resume()
	})
}
