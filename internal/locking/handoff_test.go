package locking

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/keyexpiry"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// inLine returns how many callers of a process wait for a lock.
func inLine(m *Mutex) int {
	m.locks.mu.Lock()
	defer m.locks.mu.Unlock()
	if st := m.locks.states[m.stateKey]; st != nil {
		return len(st.waiters)
	}
	return 0
}

// A successor is a caller that waits in line, and the hold that it will get.
type successor struct {
	hold chan *Hold
	err  chan error
}

// lineUp lets n callers wait behind a hold, one after the other.
func (w *world) lineUp(m *Mutex, n int, opts ...LockOption) []successor {
	w.t.Helper()
	successors := make([]successor, n)
	before := inLine(m)
	for i := range successors {
		successors[i] = successor{make(chan *Hold, 1), make(chan error, 1)}
		ctx := w.ctx()
		go func() {
			h, err := m.Lock(ctx, opts...)
			successors[i].hold <- h
			successors[i].err <- err
		}()
		w.soon("it waits", func() bool { return inLine(m) == before+i+1 })
	}
	return successors
}

// Inside a process the lock passes in the order of the line, under growing tokens, with few commands.
func TestHandoffKeepsTheOrderOfTheLine(t *testing.T) {
	virtual(t, func(w *world) {
		l, tap := w.tapped()
		m := l.Mutex(w.name)
		first := w.must(m.Lock(w.ctx()))
		successors := w.lineUp(m, 40)
		last := first.Token()
		w.ok(first.Unlock(w.ctx()))
		for i, successor := range successors {
			h := w.must(<-successor.hold, <-successor.err)
			if h.Token() <= last {
				w.t.Fatalf("successor %d has token %d after %d", i, h.Token(), last)
			}
			last = h.Token()
			if i < len(successors)-1 {
				select {
				case <-successors[i+1].hold:
					w.t.Fatal("two hold the lock")
				default:
				}
			}
			w.ok(h.Unlock(w.ctx()))
		}
		if n := len(tapArgs(tap, scripts.Acquire)); n != 2 { // the first one was alone
			w.t.Errorf("%d acquisitions at the server", n)
		}
		if n := len(tapArgs(tap, scripts.Release)); n != 2 {
			w.t.Errorf("%d releases at the server", n)
		}
	})
}

// Reserved tokens are not given out again, and are not from the future: they are past times that no token has used.
func TestReservedTokensAreMintedOnce(t *testing.T) {
	each(t, func(w *world) {
		rdb := w.client()
		m := w.locks().Mutex(w.name, Group(w.name))
		clock := w.name + " clock" // other tests may have the bucket too
		last, attempt := int64(0), 0
		hand := func() (token, spare int64) {
			w.t.Helper()
			attempt++
			w.ok(rdb.Del(w.ctx(), m.stateKey).Err())
			text, err := rdb.Eval(w.ctx(), scripts.Acquire.Source.(string), []string{clock, w.name + " tombstone", m.stateKey, m.queueKey},
				attempt, 60000, fmt.Sprint("P:*", attempt), scripts.QueueIgnore, scripts.Reserve-1).Text()
			w.ok(err)
			tokens, err := scripts.ReadTokens(text)
			w.ok(err)
			token, spare = tokens.First, tokens.Reserved
			if token <= last {
				w.t.Errorf("token %d after %d", token, last)
			}
			last = token + spare
			if booked, err := rdb.Get(w.ctx(), clock).Int64(); err != nil || booked != last {
				w.t.Errorf("%d are reserved after %d, and the clock is %d (%v)", spare, token, booked, err)
			}
			if now := rdb.Time(w.ctx()).Val().UnixMicro(); last > now && spare > 0 {
				w.t.Errorf("token %d is reserved, and it is only %d", last, now)
			}
			return token, spare
		}
		if _, spare := hand(); spare != 0 {
			w.t.Errorf("%d tokens are taken from a time that the server may have forgotten", spare)
		}
		w.soon("time passes", func() bool { return rdb.Time(w.ctx()).Val().UnixMicro() > last+2*scripts.Reserve })
		if _, spare := hand(); spare != scripts.Reserve-1 {
			w.t.Errorf("%d tokens are reserved", spare)
		}
		for ahead := range int64(60) { // the last one was just now
			last = rdb.Time(w.ctx()).Val().UnixMicro() + 10*ahead
			w.ok(rdb.Set(w.ctx(), clock, last, time.Minute).Err())
			hand()
		}
		last = time.Now().Add(time.Hour).UnixMicro() // the server's clock was set back since
		w.ok(rdb.Set(w.ctx(), clock, last, time.Minute).Err())
		for range 3 {
			if token, spare := hand(); spare != 0 || token != last {
				w.t.Errorf("token %d and %d more", token, spare)
			}
		}
	})
}

// While several wait, the server knows the process as the holder, and counts its re-entries.
func TestReentryCountsWhileTheProcessHoldsTheLock(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		first := w.must(m.Lock(ctx))
		successors := w.lineUp(m, 3)
		w.ok(first.Unlock(ctx))
		h := w.must(<-successors[0].hold, <-successors[0].err)
		state := rdb.HGetAll(ctx, m.stateKey).Val()
		nameless := slices.IndexFunc(keysOf(state), func(f string) bool { return strings.HasPrefix(f, m.locks.process+":*") })
		if len(state) != 2 || nameless < 0 {
			w.t.Fatalf("state %v", state)
		}
		inner := w.must(m.Lock(h.Context()))
		if inner.Token() != h.Token() {
			w.t.Errorf("token %d inside of %d", inner.Token(), h.Token())
		}
		if n := h.Count(); n != 2 || m.Count(h.Context()) != 2 || m.Count(ctx) != 0 {
			w.t.Errorf("count %d", n)
		}
		w.ok(inner.Unlock(ctx))
		w.ok(h.Unlock(ctx))
		for _, successor := range successors[1:] {
			next := w.must(<-successor.hold, <-successor.err)
			if next.Token() <= h.Token() {
				w.t.Errorf("token %d after %d", next.Token(), h.Token())
			}
			w.ok(next.Unlock(ctx))
		}
		if w.exists(rdb, m.stateKey, m.queueKey) != 0 {
			w.t.Error("something is left")
		}
	})
}

func keysOf(fields map[string]string) []string { return slices.Sorted(maps.Keys(fields)) }

// A process that always wants the lock lets others have it.
func TestHandoffYields(t *testing.T) {
	each(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.ctx())
		busy, lone := w.locks().Mutex(w.name), w.locks().Mutex(w.name)
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for {
					h, err := busy.Lock(ctx)
					if err != nil {
						return
					}
					_ = h.Unlock(ctx)
				}
			})
		}
		for range 20 { // in the simulation each comes within a bound
			w.ok(w.must(lone.Lock(w.ctx())).Unlock(w.ctx()))
		}
		cancel()
		callers.Wait()
	})
}

// A release and a forced unlock reserve the lock for the process that is first in the queue, and wake it.
func TestFreedLockIsReservedForTheFirst(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		for _, step := range []struct {
			script *scripts.Script
			args   []any
		}{
			{scripts.Release, []any{2, policy.ReservationMS, "P:a", scripts.QueueStay}},
			{scripts.Force, []any{policy.ReservationMS, int64(math.MaxInt64), "P:a"}},
		} {
			first := "Q" + w.name // another client listens to its channel
			sub := rdb.Subscribe(ctx, wakeChannel(first))
			_, err := sub.Receive(ctx)
			w.ok(err)
			w.ok(rdb.Del(ctx, m.stateKey, m.queueKey).Err())
			w.ok(rdb.HSet(ctx, m.stateKey, "P:a", 1, "token", 1).Err())
			w.ok(rdb.ZAdd(ctx, m.queueKey, redis.Z{Score: 1, Member: first}, redis.Z{Score: 2, Member: "R"}).Err())
			tx := rdb.TxPipeline() // a reservation does not last for long
			tx.Eval(ctx, step.script.Source.(string), []string{m.stateKey, m.queueKey}, step.args...)
			state, ttl, queue := tx.HGetAll(ctx, m.stateKey), tx.PTTL(ctx, m.stateKey), tx.ZRange(ctx, m.queueKey, 0, -1)
			_, err = tx.Exec(ctx)
			w.ok(err)
			if len(state.Val()) != 1 || state.Val()["claim"] != first || ttl.Val() <= 0 || ttl.Val() > time.Second {
				w.t.Errorf("the state is %v, for %s", state.Val(), ttl.Val())
			}
			if order := fmt.Sprint(queue.Val()); order != "[R]" {
				w.t.Errorf("the queue is %s, want [R]", order)
			}
			if message, err := sub.ReceiveMessage(ctx); err != nil || message.Payload != m.stateKey {
				w.t.Errorf("it is told %v (%v)", message, err)
			}
			w.ok(sub.Close())
		}
	})
}

// A waiter with a lease of its own gets that lease, and not the rest of another's.
func TestHandoffKeepsLeases(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		first := w.must(m.Lock(ctx))
		successors := append(w.lineUp(m, 1), w.lineUp(m, 1, Lease(time.Minute))...)
		successors = append(successors, w.lineUp(m, 1)...)
		w.ok(first.Unlock(ctx))
		begin := time.Now()
		w.ok(w.must(<-successors[0].hold, <-successors[0].err).Unlock(ctx)) // it had tokens in reserve
		h := w.must(<-successors[1].hold, <-successors[1].err)
		w.lives(rdb, m.stateKey, time.Minute, begin)
		if left := h.Remaining(); left > time.Minute || time.Now().Add(left).Before(begin.Add(trust(time.Minute))) {
			w.t.Errorf("the hold has %s left", left)
		}
		w.ok(h.Unlock(ctx))
		w.ok(w.must(<-successors[2].hold, <-successors[2].err).Unlock(ctx))
	})
}

// A re-entry with a longer lease makes the lock live for longer at the server than the next waiter wants: a reserved token alone
// does not do.
func TestHandoffEndsTheLongerLeaseOfAReentry(t *testing.T) {
	virtual(t, func(w *world) {
		const lease = 50 * time.Millisecond
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		before := w.must(m.Lock(ctx))
		successors := w.lineUp(m, 3, Lease(lease))
		w.ok(before.Unlock(ctx))
		outer := w.must(<-successors[0].hold, <-successors[0].err)
		inner := w.must(m.Lock(context.WithoutCancel(outer.Context()), Lease(time.Minute)))
		w.ok(outer.Unlock(ctx))
		w.ok(inner.Unlock(ctx))
		h := w.must(<-successors[1].hold, <-successors[1].err)
		if ttl := rdb.PTTL(ctx, m.stateKey).Val(); ttl > lease {
			w.t.Errorf("the lock lives for %s, want %s at most", ttl, lease)
		}
		w.ok(h.Unlock(ctx))
		w.ok(w.must(<-successors[2].hold, <-successors[2].err).Unlock(ctx))
	})
}

// holdLong holds a lock for so long that it does not pass inside the process.
func (w *world) holdLong(h *Hold) {
	w.t.Helper()
	w.soon("its script is a while ago", func() bool { return h.one().grant.came.Add(handoffFor).Before(time.Now()) })
}

// Reserved tokens are short-lived: a waiter that comes after a long hold gets a lease of its own.
func TestHandoffAfterALongHoldBeginsALease(t *testing.T) {
	virtual(t, func(w *world) {
		ctx := w.ctx()
		l, tap := w.tapped()
		m := l.Mutex(w.name)
		first := w.must(m.Lock(ctx))
		successors := w.lineUp(m, 3)
		w.ok(first.Unlock(ctx))
		h := w.must(<-successors[0].hold, <-successors[0].err)
		before := len(tapArgs(tap, scripts.Acquire))
		w.holdLong(h)
		w.ok(h.Unlock(ctx))
		next := w.must(<-successors[1].hold, <-successors[1].err)
		if n := len(tapArgs(tap, scripts.Acquire)) - before; n != 1 {
			w.t.Errorf("%d acquisitions at the server", n)
		}
		w.ok(next.Unlock(ctx))
		w.ok(w.must(<-successors[2].hold, <-successors[2].err).Unlock(ctx))
	})
}

// A hold that has ended is not handed off, even before its end was noticed; nor is one that was lost.
func TestNoSuccessorOfALostHold(t *testing.T) {
	virtual(t, func(w *world) {
		ctx := w.ctx()
		m := w.locks().Mutex(w.name)
		outer := w.must(m.Lock(ctx))
		successors := w.lineUp(m, 1)
		lapsed := w.must(m.Lock(outer.Context(), Lease(100*time.Millisecond)))
		<-lapsed.Context().Done()
		successor := func(h *Hold) *waiter {
			m.locks.mu.Lock()
			defer m.locks.mu.Unlock()
			now, g := time.Now(), h.one().grant
			g.next, g.last, g.begun, g.came = 1, 2, now, now
			return m.locks.successorLocked(h.one(), now)
		}
		if successor(lapsed) != nil {
			w.t.Error("the one that has lapsed has a successor")
		}
		w.soon("the other one has one", func() bool { return successor(outer) != nil })
		m.locks.mu.Lock()
		deadline := outer.one().deadline
		outer.one().deadline = time.Now()
		m.locks.mu.Unlock()
		if successor(outer) != nil {
			w.t.Error("a hold whose time is over has a successor")
		}
		m.locks.mu.Lock()
		outer.one().deadline = deadline
		m.locks.mu.Unlock()
		m.locks.loseGrant(outer.one().grant)
		if successor(outer) != nil {
			w.t.Error("a hold that was lost has a successor")
		}
		w.ok(w.client().Del(ctx, m.stateKey).Err()) // as it would be
		_ = outer.Unlock(ctx)
		w.ok(w.must(<-successors[0].hold, <-successors[0].err).Unlock(ctx))
	})
}

// A waiter that is asking the server may get the lock there, so it is not handed the lock.
func TestNoSuccessorOnARoundTrip(t *testing.T) {
	t.Parallel()
	w := &world{t: t, addr: shared, name: t.Name()}
	m := w.locks().Mutex(w.name)
	asking := &waiter{lease: time.Minute, asking: true}
	now := time.Now()
	h := &singleHold{deadline: now.Add(time.Minute)}
	h.grant = &grant{lock: &m.lock, next: 1, last: 2, duration: time.Minute, begun: now, came: now, holds: []*singleHold{h}}
	m.locks.mu.Lock()
	defer m.locks.mu.Unlock()
	st := m.locks.stateOfLocked(m.stateKey)
	st.waiters, st.grant = []*waiter{asking}, h.grant
	if m.locks.successorLocked(h, now) != nil {
		t.Error("it is the successor")
	}
	if asking.asking = false; m.locks.successorLocked(h, now) != asking {
		t.Errorf("it is not, when it is back: got %v, want %v", m.locks.successorLocked(h, now), asking)
	}
	st.waiters, st.grant = nil, nil
}

// A caller that wants the lock twice is handed it twice.
func TestHandoffGivesTwoHoldsToWhoWantsTwo(t *testing.T) {
	each(t, func(w *world) {
		ctx := w.ctx()
		m := w.locks().Mutex(w.name)
		first := w.must(m.Lock(ctx))
		got := make(chan *Hold, 1)
		go func() { got <- w.must(MultiLock(m, m).Lock(ctx)) }()
		w.soon("it waits", func() bool { return inLine(m) == 1 })
		w.ok(first.Unlock(ctx))
		h := <-got
		if count := h.Parts()[0].Count(); count != 2 {
			w.t.Errorf("it has %d", count)
		}
		w.ok(h.Unlock(ctx))
	})
}

// The next owner after a long hold has a whole lease.
func TestNextOwnerAfterALongHoldHasAWholeLease(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		first := w.must(m.Lock(ctx))
		successors := w.lineUp(m, 1)
		w.ok(rdb.PExpire(ctx, m.stateKey, 20*time.Second).Err()) // it has been held for a while
		w.holdLong(first)
		w.ok(first.Unlock(ctx))
		next := w.must(<-successors[0].hold, <-successors[0].err)
		if ttl := rdb.PTTL(ctx, m.stateKey).Val(); ttl+keyexpiry.Early < next.Remaining() {
			w.t.Errorf("the lock lives for %s, and the next one has %s", ttl, next.Remaining())
		}
		w.ok(next.Unlock(ctx))
	})
}

// A lock that is lost on its way to the next owner does not arrive.
func TestHandoffOfALostLeaseDoesNotArrive(t *testing.T) {
	t.Parallel()
	w := &world{t: t, addr: shared, name: t.Name()}
	m := w.locks().Mutex(w.name)
	acq := &acquisition{}
	w.ok(acq.begins(w.ctx(), false, nil))
	p := &target{lock: &m.lock}
	p.waiter = &waiter{handed: &grant{lock: &m.lock, owner: acq.owner, joining: 1, gone: true, duration: time.Minute, begun: time.Now()}}
	m.locks.mu.Lock()
	defer m.locks.mu.Unlock()
	if m.locks.acceptLocked(acq, p) || m.locks.grantOfLocked(m.stateKey, acq.owner) != nil || p.hold != nil {
		t.Error("it has arrived")
	}
}

// A lock that was handed off while its lease was still good, and is taken when it no longer is, is given back.
func TestHandoffTakenTooLateIsGivenBack(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		h := w.must(m.Lock(ctx))
		acq := &acquisition{}
		w.ok(acq.begins(ctx, false, nil))
		p := &target{lock: &m.lock}
		m.locks.mu.Lock()
		g := h.one().grant
		g.begun, g.holds, g.joining = time.Now().Add(-trust(g.duration)), nil, 1
		p.waiter = &waiter{handed: g}
		if m.locks.acceptLocked(acq, p) || m.locks.grantOfLocked(m.stateKey, acq.owner) != nil || p.hold != nil {
			w.t.Error("it has arrived")
		}
		m.locks.mu.Unlock()
		w.soon("the lock is free", func() bool { return w.exists(rdb, m.stateKey) == 0 })
	})
}

// The answer to a release is lost, whether or not the server has done it: the next waiter gets the lock soon, and a
// late copy changes nothing.
func TestReleaseWithoutAnAnswerLetsTheNextIn(t *testing.T) {
	each(t, func(w *world) {
		for _, waiting := range []int{1, 3} {
			for _, arrives := range []bool{true, false} {
				rdb, ctx := w.client(), w.ctx()
				l, tap := w.tapped()
				m := l.Mutex(w.name)
				w.ok(rdb.ScriptLoad(ctx, scripts.Release.Source.(string)).Err())
				first := w.must(m.Lock(ctx))
				successors := w.lineUp(m, waiting)
				var copyOf []any
				var once sync.Once
				tap.on(scripts.Release, func(cmd redis.Cmder, next func() error) error {
					lost := false
					once.Do(func() {
						lost = true
						written(cmd)
						copyOf = cmd.Args()
						if arrives {
							w.ok(next())
						}
						cmd.SetErr(errLost)
					})
					if lost {
						return errLost
					}
					return next()
				})
				w.holdLong(first)
				if err := first.Unlock(ctx); !errors.Is(err, errLost) {
					w.t.Errorf("unlock: %v", err)
				}
				last := first.Token()
				for i, successor := range successors {
					h := w.must(<-successor.hold, <-successor.err)
					if h.Token() <= last {
						w.t.Errorf("token %d after %d", h.Token(), last)
					}
					last = h.Token()
					if i == 0 {
						before := rdb.HGetAll(ctx, m.stateKey).Val()
						w.late(rdb, copyOf)
						if after := rdb.HGetAll(ctx, m.stateKey).Val(); after["token"] != before["token"] || len(after) != len(before) {
							w.t.Errorf("a late copy makes %v of %v", after, before)
						}
					}
					w.ok(h.Unlock(ctx))
				}
				w.late(rdb, copyOf)
				if w.exists(rdb, m.stateKey, m.queueKey) != 0 {
					w.t.Error("something is left")
				}
			}
		}
	})
}

// The waiter that should get the lock leaves during the release: the lock is free, and no owner has it.
func TestSuccessorThatLeavesFreesTheLock(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		l, tap := w.tapped()
		m := l.Mutex(w.name)
		first := w.must(m.Lock(ctx))
		leaving, leave := context.WithCancel(ctx)
		left := make(chan error, 1)
		go func() {
			_, err := m.Lock(leaving)
			left <- err
		}()
		w.soon("it waits", func() bool { return inLine(m) == 1 })
		var once sync.Once
		tap.on(scripts.Release, func(_ redis.Cmder, next func() error) error {
			once.Do(func() {
				leave()
				if err := <-left; !errors.Is(err, context.Canceled) {
					w.t.Errorf("who leaves gets %v", err)
				}
			})
			return next()
		})
		w.holdLong(first)
		w.ok(first.Unlock(ctx))
		w.soon("the lock is free", func() bool { return w.exists(rdb, m.stateKey, m.queueKey) == 0 })
		w.ok(w.must(m.TryLock(ctx)).Unlock(ctx))
	})
}

// A holder whose lock the server has forgotten learns of it when it unlocks, and the next one gets the lock.
func TestUnlockOfAForgottenLockIsALoss(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		first := w.must(m.Lock(ctx))
		successors := w.lineUp(m, 1)
		w.ok(rdb.Del(ctx, m.stateKey).Err())
		w.holdLong(first)
		if err := first.Unlock(ctx); !errors.Is(err, ErrLost) {
			w.t.Errorf("unlock: got %v, want ErrLost", err)
		}
		w.ok(w.must(<-successors[0].hold, <-successors[0].err).Unlock(ctx))
	})
}

// A process that has never waited for a server is not subscribed yet. When another one has had its turn, it need not poll. The
// test runs in virtual time.
func TestProcessThatDoesNotListenYetIsWokenAfterItsTurn(t *testing.T) {
	virtual(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m, other := w.locks().Mutex(w.name), w.locks().Mutex(w.name)
		first := w.must(m.Lock(ctx))
		successors := w.lineUp(m, 2)
		admitted := make(chan *Hold, 1)
		go func() { admitted <- w.must(other.Lock(ctx)) }()
		w.soon("the other queues", func() bool { return w.queued(rdb, m) == 1 })
		w.holdLong(first) // its turn comes
		if m.locks.subscription.Hears() {
			w.t.Fatal("it listens already")
		}
		w.ok(first.Unlock(ctx))
		w.ok((<-admitted).Unlock(ctx))
		start := time.Now()
		for _, successor := range successors {
			w.ok(w.must(<-successor.hold, <-successor.err).Unlock(ctx))
		}
		if took := time.Since(start); took > policy.Poll*3/4 {
			w.t.Errorf("the first ones to come back had to poll: %s", took)
		}
	})
}

// Nor does one that the process has lost and got again on the way, for another of its owners, whether that still has it or not.
func TestHandoffThatTheServerForgotDoesNotArrive(t *testing.T) {
	virtual(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		w.must(m.Lock(ctx))
		for _, still := range []bool{true, false} {
			w.ok(rdb.Del(ctx, m.stateKey).Err())
			h := w.must(m.TryLock(ctx))
			if !still {
				w.ok(h.Unlock(ctx))
			}
			acq := &acquisition{}
			w.ok(acq.begins(ctx, false, nil))
			p := &target{lock: &m.lock}
			p.waiter = &waiter{handed: &grant{lock: &m.lock, owner: acq.owner, joining: 1, duration: time.Minute, begun: time.Now()}}
			func() {
				m.locks.mu.Lock()
				defer m.locks.mu.Unlock()
				if m.locks.acceptLocked(acq, p) || p.hold != nil {
					w.t.Errorf("it has arrived, while another owner has it: %t", still)
				}
			}()
		}
	})
}
