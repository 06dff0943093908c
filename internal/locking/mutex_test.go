package locking

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

func TestMutexCycle(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		for range 3 {
			begin := time.Now()
			h := w.must(m.Lock(ctx))
			state, err := rdb.HGetAll(ctx, m.stateKey).Result()
			w.ok(err)
			if state[h.holder()] != "1" || len(state) != 2 || state["token"] == "" {
				w.t.Errorf("state %v of owner %s", state, h.Owner())
			}
			w.lives(rdb, m.stateKey, defaultWatchdogLease, begin)
			w.ok(h.Unlock(ctx))
			w.ok(h.Unlock(ctx)) // once more does nothing
			if w.exists(rdb, m.stateKey, m.queueKey) != 0 {
				w.t.Error("the release left something")
			}
			if !errors.Is(h.Context().Err(), context.Canceled) {
				w.t.Error("the context outlives the hold")
			}
		}
	})
}

func TestMutexIsReentrant(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		other := w.locks().Mutex(w.name)
		outer := w.must(m.Lock(ctx))
		inner := w.must(m.Lock(outer.Context()))
		if outer.Token() != inner.Token() || outer.Owner() != inner.Owner() {
			w.t.Error("re-entry is another grant")
		}
		for _, step := range []struct {
			count int
			next  func() error
		}{{2, func() error { return inner.Unlock(ctx) }}, {1, func() error { return outer.Unlock(ctx) }}, {0, nil}} {
			if count := outer.Count(); count != step.count || w.exists(rdb, m.stateKey) != int64(min(count, 1)) {
				w.t.Errorf("count %d, want %d", count, step.count)
			}
			if step.next == nil {
				continue
			}
			if _, err := other.TryLock(ctx); !errors.Is(err, ErrBusy) {
				w.t.Errorf("another owner: got %v, want ErrBusy", err)
			}
			w.ok(step.next())
		}
		w.ok(w.must(other.TryLock(ctx)).Unlock(ctx))
	})
}

func TestMutexExcludesOwnersOfAllProcesses(t *testing.T) {
	each(t, func(w *world) {
		const processes, callers, rounds = 4, 4, 12
		ctx := w.ctx()
		counter, last := 0, int64(0) // not atomic: the lock is all that guards them
		var wg sync.WaitGroup
		for range processes {
			m := w.locks().Mutex(w.name)
			for range callers {
				wg.Go(func() {
					for range rounds {
						h, err := m.Lock(ctx)
						if err != nil {
							w.t.Error(err)
							return
						}
						counter++
						if h.Token() <= last {
							w.t.Errorf("token %d after %d", h.Token(), last)
						}
						last = h.Token()
						w.ok(h.Unlock(ctx))
					}
				})
			}
		}
		wg.Wait()
		if counter != processes*callers*rounds {
			w.t.Errorf("%d entries", counter)
		}
		probe := w.locks().Mutex(w.name)
		rdb := w.client()
		w.soon("nothing is left", func() bool { return w.exists(rdb, probe.stateKey, probe.queueKey) == 0 })
	})
}

func TestAbandonedHoldExpires(t *testing.T) {
	virtual(t, func(w *world) {
		const lease = 300 * time.Millisecond
		work, cancel := context.WithCancel(w.ctx())
		h := w.must(w.locks(WatchdogLease(lease)).Mutex(w.name).Lock(work))
		cancel()
		w.must(w.locks().Mutex(w.name).Lock(w.ctx(), Wait(2*lease+time.Second)))
		if err := h.Unlock(w.ctx()); !errors.Is(err, ErrLost) {
			w.t.Errorf("unlock: got %v, want ErrLost", err)
		}
	})
}

func TestReentryKeepsEachDeadline(t *testing.T) {
	virtual(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		left := func() time.Duration {
			ttl, err := rdb.PTTL(ctx, m.stateKey).Result()
			w.ok(err)
			return ttl
		}
		outer := w.must(m.Lock(ctx))
		short := w.must(m.Lock(outer.Context(), Lease(300*time.Millisecond)))
		<-short.Context().Done()
		w.ok(outer.Context().Err())
		if left() < 25*time.Second {
			w.t.Errorf("a shorter lease has shortened the lock to %s", left())
		}
		if err := short.Unlock(ctx); !errors.Is(err, ErrLost) {
			w.t.Errorf("unlock of the lapsed one: got %v, want ErrLost", err)
		}
		long := w.must(m.Lock(outer.Context(), Lease(time.Hour)))
		if left() < 50*time.Minute {
			w.t.Errorf("a longer lease has not: %s", left())
		}
		w.ok(long.Unlock(ctx))
		w.ok(outer.Unlock(ctx))
	})
}

func TestParallelReentriesShareAGrant(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		outer := w.must(m.Lock(ctx))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 10 {
					w.ok(w.must(m.Lock(outer.Context())).Unlock(ctx))
				}
			})
		}
		wg.Wait()
		if count, err := rdb.HGet(ctx, m.stateKey, outer.holder()).Int(); count != 1 || err != nil {
			w.t.Errorf("count %d (%v)", count, err)
		}
		w.ok(outer.Unlock(ctx))
		if w.exists(rdb, m.stateKey) != 0 {
			w.t.Error("the lock is not free")
		}
	})
}

// Calls of an owner that wait behind another owner would wait for themselves, if each had to wait for its turn.
func TestWaitingSiblingsEnterTogether(t *testing.T) {
	each(t, func(w *world) {
		ctx := w.ctx()
		m := w.locks().Mutex(w.name)
		blocker := w.must(m.Lock(ctx))
		family := WithOwner(ctx)
		holds := make(chan *Hold, 3)
		var wg sync.WaitGroup
		for i, who := range []context.Context{family, ctx, family} {
			wg.Go(func() {
				h, err := m.Lock(who)
				if err != nil {
					w.t.Error(err)
					return
				}
				if i == 1 {
					w.ok(h.Unlock(ctx)) // the stranger
					return
				}
				holds <- h
			})
			w.soon("it waits", func() bool { return inLine(m) == i+1 })
		}
		w.ok(blocker.Unlock(ctx))
		first, second := <-holds, <-holds // both before the stranger
		w.ok(first.Unlock(ctx))
		w.ok(second.Unlock(ctx))
		wg.Wait()
	})
}

func TestCancelledWaiterIsNeverAdmitted(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		h := w.must(w.locks().Mutex(w.name).Lock(ctx))
		m := w.locks().Mutex(w.name)
		waiting, cancel := context.WithCancelCause(ctx)
		reason := errors.New("enough")
		failed := make(chan error)
		go func() {
			_, err := m.Lock(waiting)
			failed <- err
		}()
		w.soon("it is queued", func() bool { return w.queued(rdb, m) == 1 })
		cancel(reason)
		err := <-failed
		if !errors.Is(err, context.Canceled) || !errors.Is(err, reason) {
			w.t.Errorf("error %v", err)
		}
		// It queued before it received the server's answer "busy"; the end may have come in between.
		if !errors.Is(err, ErrBusy) && !errors.Is(err, ErrNoAnswer) {
			w.t.Errorf("error %v", err)
		}
		w.soon("the queue is empty", func() bool { return w.exists(rdb, m.queueKey) == 0 })
		w.ok(h.Unlock(ctx))
		if _, err := m.Lock(waiting); !errors.Is(err, context.Canceled) {
			w.t.Errorf("with a dead context: got %v, want context.Canceled", err)
		}
		if w.exists(rdb, m.stateKey) != 0 {
			w.t.Error("something is left")
		}
	})
}

// The context ends while the grant is on its way back.
func TestGrantThatComesTooLateIsGivenBack(t *testing.T) {
	each(t, func(w *world) {
		rdb := w.client()
		l, tap := w.tapped()
		for script, one := range map[*scripts.Script]interface {
			Locker
			single
		}{scripts.Acquire: l.Mutex(w.name), scripts.FifoAcquire: l.FairMutex(w.name)} {
			w.ok(w.must(one.Lock(w.ctx())).Unlock(w.ctx())) // the script is known now
			ctx, cancel := context.WithCancel(w.ctx())
			var mu sync.Mutex
			granted := false
			tap.on(script, func(_ redis.Cmder, next func() error) error {
				err := next()
				mu.Lock()
				defer mu.Unlock()
				if granted = err == nil; granted {
					cancel()
				}
				return err
			})
			for range 20 { // both come at once, in no fixed order
				if h, err := one.Lock(ctx); err == nil || h != nil || !errors.Is(err, context.Canceled) {
					w.t.Fatalf("admitted: got %v, want context.Canceled, no hold", err)
				}
			}
			mu.Lock()
			if !granted {
				w.t.Error("it was not granted at all")
			}
			mu.Unlock()
			w.soon("the lock is free", func() bool { return w.exists(rdb, one.self().stateKey) == 0 })
		}
	})
}

// The answer takes so long that the lease may have run out when it comes.
func TestAnswerThatComesTooLateGrantsNothing(t *testing.T) {
	virtual(t, func(w *world) {
		const lease = 100 * time.Millisecond
		rdb, ctx := w.client(), w.ctx()
		rdbSlow, tap := w.client(func(o *redis.Options) { o.ContextTimeoutEnabled = true }), &tap{}
		rdbSlow.AddHook(tap)
		l := w.locksOn(rdbSlow)
		for script, one := range map[*scripts.Script]interface {
			Locker
			single
		}{scripts.Acquire: l.Mutex(w.name), scripts.FifoAcquire: l.FairMutex(w.name)} {
			w.ok(w.must(one.Lock(ctx)).Unlock(ctx)) // the script is known now
			tap.on(script, func(_ redis.Cmder, next func() error) error {
				err := next()
				time.Sleep(lease) // the network
				return err
			})
			if h, err := one.Lock(ctx, Lease(lease)); h != nil || !errors.Is(err, ErrNoAnswer) {
				w.t.Errorf("%s: admitted: got %v, want ErrNoAnswer, no hold", one.self().kind.is(), err)
			}
			w.soon("nothing is left", func() bool { return w.exists(rdb, one.self().stateKey) == 0 })
		}
	})
}

func TestWaitThatRunsOutIsErrBusy(t *testing.T) {
	virtual(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		w.must(w.locks().Mutex(w.name).Lock(ctx))
		m := w.locks().Mutex(w.name)
		for _, wait := range []time.Duration{0, time.Millisecond, 200 * time.Millisecond} {
			took, err := w.refused(func() (*Hold, error) { return m.Lock(ctx, Wait(wait)) })
			if !errors.Is(err, ErrBusy) || took < wait || took > wait+2*time.Second {
				w.t.Errorf("wait of %s: %v after %s", wait, err, took)
			}
		}
		w.soon("the queue is empty", func() bool { return w.exists(rdb, m.queueKey) == 0 })
	})
}

// A process that unlocks and locks again at once must not starve a waiter. The lock is kept for the waiter for half a second of
// virtual time.
func TestReleaserDoesNotOvertakeAWaiter(t *testing.T) {
	virtual(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m, other := w.locks().Mutex(w.name), w.locks().Mutex(w.name)
		h := w.must(m.Lock(ctx))
		admitted := make(chan int64, 1)
		go func() {
			h, err := other.Lock(ctx)
			if err != nil {
				w.t.Error(err)
				close(admitted)
				return
			}
			w.ok(h.Unlock(ctx))
			admitted <- h.Token()
		}()
		w.soon("it is queued", func() bool { return w.queued(rdb, m) == 1 })
		w.ok(h.Unlock(ctx))
		again, err := m.TryLock(ctx)
		if err == nil { // only after the waiter has been and gone
			defer func() { w.ok(again.Unlock(ctx)) }()
			if token := <-admitted; again.Token() < token {
				w.t.Errorf("the releaser has overtaken the waiter: got %v, want at least %v", again.Token(), token)
			}
			return
		}
		<-admitted
	})
}

func TestQueueSkipsTheDead(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m, other := w.locks().Mutex(w.name), w.locks().Mutex(w.name)
		h := w.must(m.Lock(ctx))
		w.ok(rdb.ZAdd(ctx, m.queueKey, redis.Z{Score: 1, Member: "DEAD"}, redis.Z{Score: 2, Member: "DEADTOO"}).Err())
		admitted := make(chan time.Time, 1)
		go func() {
			if _, err := other.Lock(ctx); err != nil {
				w.t.Error(err)
			}
			admitted <- time.Now()
		}()
		w.soon("it is queued", func() bool { return w.queued(rdb, m) == 3 })
		w.ok(h.Unlock(ctx))
		<-admitted
		if w.exists(rdb, m.queueKey) != 0 {
			w.t.Error("the dead still queue")
		}
	})
}

// A reservation whose waiters have gone ends soon, and the next process gets the lock.
func TestUnwantedReservationEndsByItself(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m, other := w.locks().Mutex(w.name), w.locks().Mutex(w.name)
		h := w.must(w.locks().Mutex(w.name).Lock(ctx))
		waiting, leave := context.WithCancel(ctx)
		defer leave()
		left := make(chan error, 1)
		go func() { left <- second(m.Lock(waiting)) }()
		w.soon("it listens and is queued", func() bool { return m.locks.subscription.Hears() && w.queued(rdb, m) == 1 })
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			w.t.Fatal(err)
		}
		w.soon("it has left", func() bool { return w.exists(rdb, m.queueKey) == 0 })
		// As if the release had come just before m's process left.
		w.ok(rdb.Del(ctx, m.stateKey).Err())
		w.ok(rdb.HSet(ctx, m.stateKey, "claim", m.locks.process).Err())
		admitted := make(chan error, 1)
		go func() {
			_, err := other.Lock(ctx)
			admitted <- err
		}()
		w.soon("it is queued", func() bool { return w.queued(rdb, m) == 1 })
		if n := rdb.Publish(ctx, wakeChannel(m.locks.process), m.stateKey).Val(); n != 1 {
			w.t.Fatalf("%d listen", n)
		}
		w.ok(rdb.PExpire(ctx, m.stateKey, policy.Reservation).Err()) // not before all this has happened, on a busy machine
		w.ok(<-admitted)
		_ = h
	})
}

func TestTokensGrow(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name, Group(w.name))
		last := int64(0)
		next := func() {
			h := w.must(m.Lock(ctx))
			if h.Token() <= last {
				w.t.Errorf("token %d after %d", h.Token(), last)
			}
			last = h.Token()
			w.ok(h.Unlock(ctx))
		}
		next()
		next()
		ahead := time.Now().Add(time.Hour).UnixMicro() // the server's clock was set back since
		w.ok(rdb.Set(ctx, m.clock(), ahead, 0).Err())
		last = ahead
		next()
		next()
		if ttl := rdb.TTL(ctx, m.clock()).Val(); ttl < 29*24*time.Hour {
			w.t.Errorf("the clock lives for %s", ttl)
		}
		w.ok(rdb.Del(ctx, m.clock()).Err()) // forgotten
		last = time.Now().Add(-time.Minute).UnixMicro()
		next()
	})
}

// The server's clock stands still.
func TestTokensGrowWithinAMicrosecond(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	server.SetTime(time.Now())
	w := &world{t: t, addr: server.Addr(), name: t.Name()}
	l := w.locks()
	for _, m := range []Locker{l.Mutex(w.name), l.FairMutex(w.name), l.RWMutex(w.name).Reader()} {
		server.FlushAll()
		last := int64(0)
		for range 3 {
			h := w.must(m.Lock(w.ctx()))
			if h.Token() <= last {
				t.Errorf("token %d after %d", h.Token(), last)
			}
			last = h.Token()
			w.ok(h.Unlock(w.ctx()))
		}
	}
}

// Only the process for which a lock is reserved gets it, and it is in the queue no more.
func TestReservationIsKept(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		w.ok(rdb.HSet(ctx, m.stateKey, "claim", "P").Err())
		w.ok(rdb.ZAdd(ctx, m.queueKey, redis.Z{Score: 1, Member: "P"}).Err())
		keys := []string{m.clock(), m.tombstone(1), m.stateKey, m.queueKey}
		for i, process := range []string{"Q", "P"} {
			answer, err := rdb.Eval(ctx, scripts.Acquire.Source.(string), keys, i+1, 60000, process+":a", scripts.QueueMayBeIn, 0).Result()
			w.ok(err)
			if _, granted := answer.(string); granted != (process == "P") {
				w.t.Errorf("%s is answered %v", process, answer)
			}
		}
		if order := rdb.ZRange(ctx, m.queueKey, 0, -1).Val(); !slices.Equal(order, []string{"Q"}) {
			w.t.Errorf("the queue is %v", order)
		}
	})
}

// A process that leaves the queue gives up its own reservation, and not that of another process.
func TestReservationForAnotherIsKept(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		for process, left := range map[string]int64{"Q": 1, "P": 0} {
			w.ok(rdb.HSet(ctx, m.stateKey, "claim", "P").Err())
			w.ok(rdb.Eval(ctx, scripts.Release.Source.(string), []string{m.stateKey, m.queueKey}, 0, policy.ReservationMS, process+":", scripts.QueueLeave).Err())
			if w.exists(rdb, m.stateKey) != left {
				w.t.Errorf("%s has given it up: %t", process, left == 1)
			}
		}
	})
}

// A process that queues gets the last position, also when the server's clock was set back, and keeps it.
func TestQueueKeepsItsOrder(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		w.must(m.Lock(ctx))
		ahead := float64(time.Now().Add(time.Hour).UnixMicro())
		w.ok(rdb.ZAdd(ctx, m.queueKey, redis.Z{Score: ahead, Member: "P"}).Err())
		keys := []string{m.clock(), m.tombstone(1), m.stateKey, m.queueKey}
		for i, process := range []string{"Q", "R", "Q"} {
			w.ok(rdb.Eval(ctx, scripts.Acquire.Source.(string), keys, i+1, 60000, process+":a", scripts.QueueEnter, 0).Err())
		}
		if order := rdb.ZRange(ctx, m.queueKey, 0, -1).Val(); !slices.Equal(order, []string{"P", "Q", "R"}) {
			w.t.Errorf("the queue is %v", order)
		}
	})
}

// A release that leaves a hold does not extend the expiry: only renewals do.
func TestReleaseIsNoRenewal(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		l := w.locks()
		for _, one := range []interface {
			Locker
			single
		}{l.Mutex(w.name), l.FairMutex(w.name)} {
			outer := w.must(one.Lock(ctx))
			inner := w.must(one.Lock(outer.Context()))
			state := one.self().stateKey
			w.ok(rdb.PExpire(ctx, state, 20*time.Second).Err())
			w.ok(inner.Unlock(ctx))
			if ttl := rdb.PTTL(ctx, state).Val(); ttl > 20*time.Second {
				w.t.Errorf("%s lives for %s", state, ttl)
			}
			w.ok(outer.Unlock(ctx))
		}
	})
}

// An inner hold takes nothing from the outer one's lease, and adds nothing to it: the lock is the outer hold's until the very
// moment that it was promised, whatever the inner one is and however it ends.
func TestReleaseLeavesAFullLease(t *testing.T) {
	for name, renewed := range map[string]bool{"fixed": false, "renewed until its context ends": true} {
		t.Run(name, func(t *testing.T) { virtual(t, func(w *world) { w.leavesTheWholeLease(renewed) }) })
	}
}

func (w *world) leavesTheWholeLease(renewed bool) {
	const lease = 3 * time.Second
	ctx, rdb := w.t.Context(), w.client()
	l := w.locks(WatchdogLease(lease))
	rival := w.must(w.locks(WatchdogLease(time.Minute)).Mutex("busy").Lock(ctx))
	for _, one := range []interface {
		Locker
		single
	}{l.Mutex(w.name), l.FairMutex(w.name), l.RWMutex(w.name).Reader(), l.RWMutex(w.name).Writer()} {
		state := one.self().stateKey
		end := func(h *Hold) time.Time {
			if one.self().kind.is() == KindRead {
				return time.UnixMilli(int64(rdb.ZScore(ctx, state, h.holder()).Val()))
			}
			return time.Now().Add(rdb.PTTL(ctx, state).Val())
		}
		several := MultiLock(l.Mutex("other"), one)
		for name, inner := range map[string]func(outer *Hold){
			"shorter":         func(outer *Hold) { w.ok(w.must(one.Lock(outer.Context(), Lease(lease/3))).Unlock(ctx)) },
			"longer":          func(outer *Hold) { w.ok(w.must(one.Lock(outer.Context(), Lease(2*lease))).Unlock(ctx)) },
			"equal":           func(outer *Hold) { w.ok(w.must(one.Lock(outer.Context(), Lease(lease))).Unlock(ctx)) },
			"of several":      func(outer *Hold) { w.ok(w.must(several.Lock(outer.Context())).Unlock(ctx)) },
			"of several, own": func(outer *Hold) { w.ok(w.must(several.Lock(outer.Context(), Lease(lease/2))).Unlock(ctx)) },
			"in vain": func(outer *Hold) {
				if _, err := MultiLock(one, l.Mutex("busy")).TryLock(outer.Context()); !errors.Is(err, ErrBusy) {
					w.t.Errorf("%s: got %v, want ErrBusy", one.Name(), err)
				}
			},
		} {
			work, leave := context.WithCancel(ctx)
			opts := []LockOption{Lease(lease)}
			if renewed {
				opts = nil
			}
			outer := w.must(one.Lock(work, opts...))
			inside := context.WithoutCancel(outer.Context())
			if leave(); renewed {
				l.renewDue(lease) // not this one
			}
			promised := end(outer)
			time.Sleep(lease / 2)
			inner(&Hold{ctx: inside})
			if left := end(outer); left.Before(promised) {
				w.t.Errorf("%s, inner hold %s: the lease of the outer hold ends %s later than promised", one.self().kind.is(), name, left.Sub(promised))
			}
			time.Sleep(time.Until(promised.Add(20 * time.Millisecond)))
			if w.exists(rdb, state) != 0 {
				w.t.Errorf("%s, inner hold %s: it is held when the lease of the outer hold is over", one.self().kind.is(), name)
			}
			_ = outer.Unlock(ctx)
			time.Sleep(3 * lease)
		}
	}
	w.ok(rival.Unlock(ctx))
}

// A renewal that was sent before a hold was granted does not shorten it.
func TestRenewalSentBeforeAHoldDoesNotShortenIt(t *testing.T) {
	each(t, func(w *world) {
		h := w.must(w.locks().Mutex(w.name).Lock(w.ctx()))
		h.one().locks.renewed(h.one().grant, time.Now().Add(time.Second))
		if left := h.Remaining(); left < 20*time.Second {
			w.t.Errorf("%s left", left)
		}
	})
}

// A renewal extends the holds that are renewed, and not another hold of the same owner with a lease of its own.
func TestRenewalLeavesFixedLeasesAlone(t *testing.T) {
	each(t, func(w *world) {
		l := w.locks()
		outer := w.must(l.Mutex(w.name).Lock(w.ctx()))
		inner := w.must(l.Mutex(w.name).Lock(outer.Context(), Lease(5*time.Second)))
		before := inner.Remaining()
		if !l.renewDue(busytest.Patience) {
			w.t.Error("no answer")
		}
		if left := inner.Remaining(); left > before {
			w.t.Errorf("%s left, after %s", left, before)
		}
	})
}

func TestEveryKeyExpires(t *testing.T) {
	w, _ := private(t)
	rdb, ctx := w.client(), w.ctx()
	m := w.locks().Mutex(w.name)
	h := w.must(m.Lock(ctx))
	other := w.locks().Mutex(w.name)
	done := make(chan error, 1)
	go func() {
		h, err := other.Lock(ctx)
		if err == nil {
			w.ok(h.Unlock(ctx))
		}
		done <- err
	}()
	w.soon("it is queued", func() bool { return w.queued(rdb, m) == 1 })
	all := func() {
		keys, err := rdb.Keys(ctx, "*").Result()
		w.ok(err)
		for _, key := range keys {
			if ttl := rdb.PTTL(ctx, key).Val(); ttl == -1 {
				t.Errorf("%s has no TTL", key)
			}
		}
	}
	all()
	ahead, err := h.TokenAbove(ctx, time.Now().Add(time.Hour).UnixMicro())
	w.ok(err)
	all()
	w.ok(rdb.Eval(ctx, scripts.Level.Source.(string), []string{m.clock(), m.stateKey}, h.holder(), ahead+1).Err())
	all()
	w.ok(h.Unlock(ctx))
	all()
	w.ok(<-done)
	all()
}

func TestCloseEndsWaiting(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		h := w.must(w.locks().Mutex(w.name).Lock(ctx))
		l := w.locks()
		m := l.Mutex(w.name)
		failed := make(chan error)
		go func() {
			_, err := m.Lock(ctx)
			failed <- err
		}()
		w.soon("it is queued", func() bool { return w.queued(rdb, m) == 1 })
		go func() { w.ok(l.Close()) }()
		if err := <-failed; !errors.Is(err, ErrClosed) {
			w.t.Errorf("the waiter: got %v, want ErrClosed", err)
		}
		w.ok(l.Close())
		if _, err := m.TryLock(ctx); !errors.Is(err, ErrClosed) {
			w.t.Errorf("afterwards: got %v, want ErrClosed", err)
		}
		if w.exists(rdb, m.queueKey) != 0 {
			w.t.Error("it still queues")
		}
		w.soon("the server has noticed that it no longer listens", func() bool {
			return rdb.PubSubNumSub(ctx, wakeChannel(l.process)).Val()[wakeChannel(l.process)] == 0
		})
		w.ok(h.Unlock(ctx))
	})
}

// A second Unlock does nothing, also after Close.
func TestSecondUnlockDoesNothing(t *testing.T) {
	virtual(t, func(w *world) {
		ctx, l := w.ctx(), w.locks()
		holds := []*Hold{
			w.must(l.Mutex(w.name).Lock(ctx)), w.must(MultiLock(l.Mutex(w.name+"a"), l.FairMutex(w.name)).Lock(ctx)),
			w.must(RedLock(w.name+"r", l).Lock(ctx)),
		}
		late := w.must(l.Mutex(w.name + "b").Lock(ctx))
		for _, h := range holds {
			w.ok(h.Unlock(ctx))
		}
		w.ok(l.Close())
		for _, h := range holds {
			w.ok(h.Unlock(ctx))
		}
		if err := late.Unlock(ctx); !errors.Is(err, ErrClosed) {
			w.t.Errorf("unlocked after Close: got %v, want ErrClosed", err)
		}
		w.ok(late.Unlock(ctx))
	})
}

func TestArgumentsWithoutSenseAreRefused(t *testing.T) {
	each(t, func(w *world) {
		ctx := w.ctx()
		l := w.locks()
		if _, err := l.Mutex("").Lock(ctx); !errors.Is(err, ErrEmptyName) {
			w.t.Error(err)
		}
		if _, err := MultiLock(l.Mutex("a"), l.Mutex("")).TryLock(ctx); !errors.Is(err, ErrEmptyName) {
			w.t.Error(err)
		}
		for _, opt := range []LockOption{Lease(0), Lease(-1), Lease(time.Millisecond), Lease(1 << 62), Wait(-1)} {
			if _, err := l.Mutex(w.name).Lock(ctx, opt); !errors.Is(err, ErrInvalid) {
				w.t.Error(err)
			}
		}
		if _, err := New(w.client(), WatchdogLease(time.Microsecond)); !errors.Is(err, ErrInvalid) {
			w.t.Error(err)
		}
		if _, err := New(nil); !errors.Is(err, ErrInvalid) {
			w.t.Error(err)
		}
		w.ok(w.must(w.locks(Observe(nil)).Mutex(w.name).Lock(ctx)).Unlock(ctx))
	})
}

func TestOwnerTravelsInTheContext(t *testing.T) {
	each(t, func(w *world) {
		ctx := WithOwner(w.ctx())
		if WithOwner(ctx) != ctx {
			w.t.Errorf("WithOwner replaces the owner: got %v, want %v", WithOwner(ctx), ctx)
		}
		m := w.locks().Mutex(w.name)
		h := w.must(m.Lock(ctx))
		if again := w.must(m.Lock(ctx)); again.Owner() != h.Owner() {
			w.t.Errorf("the owner of the context is not the owner of the hold: got %v, want %v", again.Owner(), h.Owner())
		}
		if _, err := m.TryLock(NewOwner(h.Context())); !errors.Is(err, ErrBusy) {
			w.t.Errorf("a new owner: got %v, want ErrBusy", err)
		}
		// Attempts are numbered by each Locks, so the same owner at another one counts as another.
		if _, err := w.locks().Mutex(w.name).TryLock(ctx); !errors.Is(err, ErrBusy) {
			w.t.Errorf("through other Locks: got %v, want ErrBusy", err)
		}
	})
}

// Callers of one owner that try at the same time all get a free lock: they do not block each other.
func TestSiblingsThatTryAtOnceAllGetTheLock(t *testing.T) {
	virtual(t, func(w *world) {
		l := w.locks()
		r := l.RWMutex(w.name)
		for _, m := range []Locker{l.Mutex(w.name), l.FairMutex(w.name), r.Reader(), RedLock(w.name+"red", l), MultiLock(l.Mutex(w.name + "a"))} {
			for name, lock := range map[string]func(context.Context) (*Hold, error){
				"TryLock": func(ctx context.Context) (*Hold, error) { return m.TryLock(ctx) },
				"Wait(0)": func(ctx context.Context) (*Hold, error) { return m.Lock(ctx, Wait(0)) },
			} {
				ctx := WithOwner(w.ctx())
				var all sync.WaitGroup
				var holds [8]*Hold
				var errs [len(holds)]error
				for i := range holds {
					all.Go(func() { holds[i], errs[i] = lock(ctx) })
				}
				all.Wait()
				for i, err := range errs {
					if err == nil {
						err = holds[i].Unlock(ctx)
					}
					if err != nil {
						w.t.Errorf("%T, %s: %v", m, name, err)
					}
				}
			}
		}
	})
}

// leaving returns a free mutex of a server that does not answer, in whose queue a waiter still is that has given up.
func (w *world) leaving() *Mutex {
	w.t.Helper()
	ctx := w.ctx()
	const lease = 500 * time.Millisecond
	w.must(w.locks().Mutex(w.name).Lock(ctx, Lease(lease)))
	m := w.locks().Mutex(w.name)
	gaveUp := make(chan error, 1)
	go func() {
		_, err := m.Lock(ctx, Wait(100*time.Millisecond))
		gaveUp <- err
	}()
	synctest.Wait()
	time.Sleep(50 * time.Millisecond) // it is in the queue
	w.memory.Pause()
	if err := <-gaveUp; !errors.Is(err, ErrBusy) {
		w.t.Errorf("the waiter: got %v, want ErrBusy", err)
	}
	time.Sleep(lease)
	return m
}

// A waiter that has given up beside a silent server stays in the line until the server was asked to forget it. It is no other
// owner in the way of a try.
func TestTryIsNotBusyBehindAWaiterThatLeaves(t *testing.T) {
	virtual(t, func(w *world) {
		m := w.leaving()
		w.memory.Resume()
		w.ok(w.must(m.TryLock(w.ctx())).Unlock(w.ctx()))
	})
}

// Nor is the lock busy for one who waits behind it: nobody knows who has the lock.
func TestWaitIsNotBusyBehindAWaiterThatLeaves(t *testing.T) {
	virtual(t, func(w *world) {
		m := w.leaving()
		const wait = 100 * time.Millisecond
		start := time.Now()
		_, err := m.Lock(w.ctx(), Wait(wait))
		w.unknown("lock", err)
		if took := time.Since(start); took > wait+policy.Grace {
			t.Errorf("it took %s", took)
		}
		w.memory.Resume()
		w.ok(w.must(m.Lock(w.ctx())).Unlock(w.ctx()))
	})
}

// A client may be a value of any type.
func TestClientMayBeAValue(t *testing.T) {
	virtual(t, func(w *world) {
		type named struct {
			*redis.Client
			names []string
		}
		l := w.locksOn(named{w.client(), []string{"a"}}, WatchdogLease(time.Second))
		h := w.must(l.Mutex(w.name).Lock(w.ctx()))
		time.Sleep(2 * time.Second)
		w.ok(h.Unlock(w.ctx()))
	})
}
