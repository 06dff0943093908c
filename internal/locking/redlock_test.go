package locking

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// A fleet is several servers and a name that only this test uses.
type fleet struct {
	*world
	servers []*memory // in virtual time
	addrs   []string  // of real servers
}

// fleetOf runs a test against servers in virtual time.
func fleetOf(t *testing.T, n int, test func(t *testing.T, f *fleet)) {
	t.Helper()
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		f := &fleet{world: &world{t: t, name: t.Name(), virtual: true}}
		for i := range n { // at different distances: no two give the same token
			f.servers = append(f.servers, newMemory(t, time.Duration(1+i)*near))
		}
		test(t, f)
	})
}

// fleetOnRedis runs a test against the servers that the tests share.
func fleetOnRedis(t *testing.T, test func(t *testing.T, f *fleet)) {
	t.Helper()
	t.Parallel()
	f := &fleet{world: &world{t: t, name: t.Name() + rand.Text()}}
	for _, server := range three {
		f.addrs = append(f.addrs, server.Addr())
	}
	test(t, f)
}

// size is how many servers there are.
func (f *fleet) size() int { return len(f.servers) + len(f.addrs) }

// node returns a new client of one server.
func (f *fleet) node(i int, settings ...func(*redis.Options)) *redis.Client {
	w := &world{t: f.t}
	if len(f.addrs) > 0 {
		w.addr = f.addrs[i]
	} else {
		w.memory = f.servers[i]
	}
	return w.client(settings...)
}

// keepsDeadline makes a client keep deadlines, so that no call of it continues after its caller has left.
func keepsDeadline(o *redis.Options) { o.ContextTimeoutEnabled, o.MaxRetries = true, -1 }

// locks returns new Locks on all servers, like those of another process. Clients of servers that can stand still keep
// deadlines.
func (f *fleet) locks(opts ...Option) []*Locks {
	var settings []func(*redis.Options)
	if len(f.servers) > 0 {
		settings = append(settings, keepsDeadline)
	}
	all := make([]*Locks, f.size())
	for i := range all {
		rdb := f.node(i, settings...)
		_ = rdb.Ping(f.ctx()).Err() // the first command must not be late because it has to connect; some servers are down
		all[i] = f.locksOn(rdb, opts...)
	}
	return all
}

// red returns the lock in another process.
func (f *fleet) red(opts ...Option) *Red { return RedLock(f.name, f.locks(opts...)...) }

// tappedReds returns the lock with a tap on each server.
func (f *fleet) tappedReds(opts ...Option) (*Red, []*tap) {
	var all []*Locks
	var taps []*tap
	for i := range f.size() {
		rdb, p := f.node(i, keepsDeadline), &tap{}
		f.ok(rdb.Ping(f.ctx()).Err())
		rdb.AddHook(p)
		all, taps = append(all, f.locksOn(rdb, opts...)), append(taps, p)
	}
	return RedLock(f.name, all...), taps
}

// enter locks, and repeats that if the machine is too busy for the servers to answer in time.
func (f *fleet) enter(ctx context.Context, r *Red, opts ...LockOption) *Hold {
	f.t.Helper()
	h, err := r.Lock(ctx, opts...)
	for errors.Is(err, ErrNoAnswer) && ctx.Err() == nil {
		h, err = r.Lock(ctx, opts...)
	}
	return f.must(h, err)
}

// enterAll locks that many nodes, and repeats that if one of them is late.
func (f *fleet) enterAll(ctx context.Context, r *Red, nodes int) *Hold {
	f.t.Helper()
	h := f.enter(ctx, r)
	for len(h.Parts()) < nodes {
		f.ok(h.Unlock(ctx))
		h = f.enter(ctx, r)
	}
	return h
}

// busy fails the test unless another owner has the lock.
func (f *fleet) busy(ctx context.Context, r *Red, opts ...LockOption) {
	f.t.Helper()
	_, err := r.Lock(ctx, append([]LockOption{Wait(0)}, opts...)...)
	for errors.Is(err, ErrNoAnswer) && !errors.Is(err, ErrBusy) && ctx.Err() == nil {
		_, err = r.Lock(ctx, append([]LockOption{Wait(0)}, opts...)...)
	}
	if !errors.Is(err, ErrBusy) {
		f.t.Errorf("the lock is not busy: got %v, want ErrBusy", err)
	}
}

// states returns the lock's state on each server.
func (f *fleet) states(r *Red) []map[string]string {
	f.t.Helper()
	all := make([]map[string]string, f.size())
	for i := range all {
		state, err := f.node(i).HGetAll(f.ctx(), r.nodes[i].stateKey).Result()
		f.ok(err)
		all[i] = state
	}
	return all
}

// free fails the test if anything is left of the lock on these servers.
func (f *fleet) free(r *Red, nodes ...int) {
	f.t.Helper()
	for _, i := range nodes {
		rdb, m := f.node(i), r.nodes[i]
		f.soon(fmt.Sprintf("nothing is left on server %d", i), func() bool { return f.exists(rdb, m.stateKey, m.queueKey) == 0 })
	}
}

// slow delays everything on a server by that much.
func (p *tap) slow(script *scripts.Script, d time.Duration) {
	p.on(script, func(_ redis.Cmder, next func() error) error {
		time.Sleep(d)
		return next()
	})
}

func TestRedLockIsHeldOnAllNodesUnderOneToken(t *testing.T) {
	for _, n := range []int{1, 3, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			fleetOf(t, n, func(t *testing.T, f *fleet) {
				ctx, r, rival := f.ctx(), f.red(), f.red()
				last := int64(0)
				for range 3 {
					h := f.enterAll(ctx, r, n)
					if h.Token() <= last || len(h.Parts()) != n || h.Remaining() < 29*time.Second {
						t.Errorf("token %d after %d, %d parts, %s", h.Token(), last, len(h.Parts()), h.Remaining())
					}
					last = h.Token()
					for i, state := range f.states(r) {
						if state["token"] != fmt.Sprint(last) || state[h.Parts()[i].holder()] != "1" {
							t.Errorf("server %d says %v of token %d", i, state, last)
						}
					}
					f.busy(ctx, rival)
					f.ok(h.Unlock(ctx))
					f.ok(h.Unlock(ctx)) // once more does nothing
					if !errors.Is(h.Context().Err(), context.Canceled) || h.Remaining() != 0 || h.Count() != 0 {
						t.Error("the hold outlives its end")
					}
					for i, state := range f.states(r) {
						if len(state) != 0 {
							t.Errorf("server %d still has %v", i, state)
						}
					}
				}
			})
		})
	}
}

func TestRedLockWantsAQuorum(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		ctx, r, elsewhere := f.ctx(), f.red(), f.locks()
		taken := []*Hold{f.must(elsewhere[0].Mutex(f.name).Lock(ctx)), f.must(elsewhere[2].Mutex(f.name).Lock(ctx))}
		for _, wait := range []time.Duration{0, 60 * time.Millisecond} {
			f.busy(ctx, r, Wait(wait))
			f.free(r, 1)
		}
		if _, err := r.TryLock(ctx); !errors.Is(err, ErrBusy) {
			t.Errorf("two of three are taken: got %v, want ErrBusy", err)
		}
		f.free(r, 1)
		bounded, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		if _, err := r.Lock(bounded); !errors.Is(err, ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the context ended: got %v, want ErrBusy and context.DeadlineExceeded", err)
		}
		f.free(r, 1)

		f.ok(taken[0].Unlock(ctx))
		h := f.enterAll(ctx, r, 2)
		if len(h.Parts()) != 2 || f.states(r)[2][taken[1].holder()] != "1" {
			t.Errorf("one of three is taken: %d parts", len(h.Parts()))
		}
		f.ok(h.Unlock(ctx))
		f.free(r, 0, 1)
		f.ok(taken[1].Unlock(ctx))
	})
}

// A waiter enters at the release of the lock, not at its next try, in virtual time.
func TestRedLockWaiterIsWokenByRelease(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		ctx, r, rival, rdb := f.ctx(), f.red(), f.red(), f.node(0)
		for round := range 4 {
			h := f.enterAll(ctx, r, 3)
			got := make(chan *Hold, 1)
			go func() { got <- f.enter(ctx, rival) }()
			time.Sleep(10 * policy.LastCandidate) // its tries are rare by now
			f.soon("it is queued", func() bool { return f.queued(rdb, r.nodes[0]) == 1 })
			start := time.Now()
			f.ok(h.Unlock(ctx))
			next := <-got
			if took := time.Since(start); took > time.Millisecond && round > 0 { // the first time it is not subscribed yet
				t.Errorf("the waiter enters after %s", took)
			}
			if next.Token() <= h.Token() {
				t.Errorf("token %d after %d", next.Token(), h.Token())
			}
			f.ok(next.Unlock(ctx))
		}
		f.free(r, 0, 1, 2)
	})
}

func TestRedLockExcludesOwnersOfAllProcesses(t *testing.T) {
	t.Run("redis", func(t *testing.T) { fleetOnRedis(t, redLockExcludes) })
	t.Run("miniredis", func(t *testing.T) { fleetOf(t, 3, redLockExcludes) })
}

func redLockExcludes(t *testing.T, f *fleet) {
	const processes, callers, rounds = 4, 4, 2
	ctx, entered := f.steps()
	counter, last := 0, int64(0) // not atomic: the lock is all that guards them
	var wg sync.WaitGroup
	for i := range processes {
		all := f.locks()
		if i%2 == 1 { // the owners name the nodes in different orders
			all[0], all[2] = all[2], all[0]
		}
		r := RedLock(f.name, all...)
		for range callers {
			wg.Go(func() {
				for range rounds {
					h := f.enter(ctx, r)
					counter++
					entered()
					if h.Token() <= last {
						t.Errorf("token %d after %d", h.Token(), last)
					}
					last = h.Token()
					if err := h.Unlock(ctx); err != nil && !errors.Is(err, ErrNoAnswer) { // then it is repeated in the background
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if want := processes * callers * rounds; counter != want {
		t.Errorf("%d entries, want %d", counter, want)
	}
	f.free(f.red(), 0, 1, 2)
}

func TestRedLockIsReentrant(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		r := f.red()
		ctx := WithOwner(f.ctx())
		outer := f.enterAll(ctx, r, 3)
		f.servers[1].Kill()
		inner := f.enter(outer.Context(), r)
		third := f.enter(ctx, r, Lease(time.Minute))
		if inner.Token() != outer.Token() || third.Token() != outer.Token() || inner.Owner() != outer.Owner() {
			t.Errorf("tokens %d, %d, %d", outer.Token(), inner.Token(), third.Token())
		}
		if len(outer.Parts()) != 3 || len(inner.Parts()) != 2 {
			t.Errorf("%d and %d parts", len(outer.Parts()), len(inner.Parts()))
		}
		counts := func(want int) {
			t.Helper()
			if got := outer.Count(); got != want {
				t.Errorf("count %d, want %d", got, want)
			}
		}
		counts(3)
		f.ok(inner.Unlock(ctx))
		counts(2)
		f.ok(third.Unlock(ctx))
		counts(1)
		f.busy(NewOwner(ctx), r)
		f.ok(outer.Unlock(ctx)) // what it had on the dead server is a minority
		f.free(r, 0, 2)
		next := f.enter(ctx, r)
		if next.Token() <= outer.Token() {
			t.Errorf("token %d after %d", next.Token(), outer.Token())
		}
		f.ok(next.Unlock(ctx))
	})
}

// Goroutines that share an owner get the same grant, even if they overlap.
func TestRedLockGivesOneOwnersCallersOneGrant(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		r := f.red()
		for range 5 {
			ctx := WithOwner(f.ctx())
			holds := make([]*Hold, 6)
			var wg sync.WaitGroup
			for i := range holds {
				wg.Go(func() {
					holds[i] = f.enter(ctx, r)
				})
			}
			wg.Wait()
			for _, h := range holds {
				if h.Token() != holds[0].Token() || h.Count() != len(holds) {
					t.Errorf("token %d and %d, count %d", h.Token(), holds[0].Token(), h.Count())
				}
			}
			for _, h := range holds {
				wg.Go(func() {
					if err := h.Unlock(ctx); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			f.free(r, 0, 1, 2)
		}
	})
}

// A caller waits no longer than its bound for another call of the owner, in virtual time.
func TestRedLockWaitsForASiblingWithinItsBound(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		ctx, r := WithOwner(f.ctx()), f.red()
		h := f.must(r.Lock(ctx))
		for _, server := range f.servers {
			server.Pause()
		}
		var sibling sync.WaitGroup
		sibling.Go(func() {
			if _, err := h.TokenAbove(ctx, 1<<52); err == nil {
				t.Error("raised")
			}
		})
		synctest.Wait()
		start := time.Now()
		_, err := r.Lock(ctx, Wait(100*time.Millisecond))
		if took := time.Since(start); !errors.Is(err, ErrNoAnswer) || took > 200*time.Millisecond {
			t.Errorf("%v after %s", err, took)
		}
		sibling.Wait()
	})
}

func TestRedLockIsRenewed(t *testing.T) {
	const lease = time.Second
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		ctx, r := f.ctx(), f.red(WatchdogLease(lease))
		h := f.enter(ctx, r)
		f.busy(ctx, f.red(), Wait(3*lease))
		f.ok(h.Context().Err())
		f.ok(h.Unlock(ctx))
	})
}

func TestRedLockOfAFixedLeaseLapses(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		ctx, r, rival := f.ctx(), f.red(WatchdogLease(300*time.Millisecond)), f.red()
		h := f.enterAll(ctx, r, 3)
		f.ok(h.Unlock(ctx))
		h = f.enter(ctx, r, Lease(time.Second))
		start := time.Now().Add(h.Remaining() - trust(time.Second)) // of its attempt
		next := f.enter(ctx, rival)
		if took := time.Since(start); took < 900*time.Millisecond {
			t.Errorf("the next one enters after %s", took)
		}
		if left := h.Remaining(); left != 0 {
			t.Errorf("the first one has %s left when the next one enters", left)
		}
		<-h.Context().Done()
		if cause := context.Cause(h.Context()); !errors.Is(cause, ErrLost) {
			t.Errorf("cause %v", cause)
		}
		if err := h.Unlock(ctx); !errors.Is(err, ErrLost) {
			t.Errorf("unlock: got %v, want ErrLost", err)
		}
		f.ok(next.Context().Err())
		f.ok(next.Unlock(ctx))
	})
}

// A hold counts from the beginning of the attempt, not from the answer of a slow server.
func TestRedLockCountsWhatAnswersTake(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		ctx := f.ctx()
		r, taps := f.tappedReds()
		f.ok(f.enter(ctx, r).Unlock(ctx)) // the scripts are known now, so the call that is slow brings the lease
		for _, p := range taps[1:] {
			p.slow(scripts.Acquire, 80*time.Millisecond)
		}
		h := f.enter(ctx, r, Lease(10*time.Second))
		if left := h.Remaining(); left > trust(10*time.Second)-80*time.Millisecond {
			t.Errorf("%s left", left)
		}
		f.ok(h.Unlock(ctx))
		for _, p := range taps {
			p.slow(scripts.Level, 45*time.Millisecond)
		}
		if h, err := r.Lock(ctx, Lease(40*time.Millisecond)); err == nil {
			t.Errorf("granted with %s left, although its lease has run out", h.Remaining())
		}
		f.free(r, 0, 1, 2)
	})
}

// A node that answers after the quorum is given back.
func TestRedLockGivesLateNodesBack(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		ctx := f.ctx()
		r, taps := f.tappedReds()
		arrives := make(chan struct{})
		taps[1].on(scripts.Acquire, func(_ redis.Cmder, next func() error) error {
			<-arrives
			return next()
		})
		h := f.enter(ctx, r)
		if len(h.Parts()) != 2 {
			t.Errorf("%d parts", len(h.Parts()))
		}
		close(arrives)
		f.soon("the late one has been granted", func() bool { return len(tapArgs(taps[1], scripts.Acquire)) > 0 })
		f.free(r, 1)
		f.ok(h.Context().Err())
		f.ok(h.Unlock(ctx))
		f.free(r, 0, 1, 2)
	})
}

// A lost answer is not a part, and leaves nothing.
func TestRedLockCountsNoLostAnswer(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		ctx := f.ctx()
		r, taps := f.tappedReds()
		lose := func(cmd redis.Cmder, next func() error) error {
			written(cmd)
			if err := next(); err != nil {
				return err
			}
			cmd.SetErr(errLost)
			return errLost
		}
		for _, script := range []*scripts.Script{scripts.Acquire, scripts.Level} {
			f.ok(f.enterAll(ctx, r, 3).Unlock(ctx)) // the scripts are known now
			for _, p := range taps {
				p.on(script, lose)
			}
			if _, err := r.Lock(ctx); err == nil || errors.Is(err, ErrBusy) {
				t.Errorf("nobody answered: %v", err)
			}
			f.free(r, 0, 1, 2)
			for _, p := range taps[1:] {
				p.on(nil, nil)
			}
			h := f.enter(ctx, r)
			if n := len(h.Parts()); n < 2 || script == scripts.Acquire && n != 2 {
				t.Errorf("%d parts", n)
			}
			f.ok(h.Unlock(ctx))
			f.free(r, 0, 1, 2)
			taps[0].on(nil, nil)
		}
	})
}

func TestRedLockLosesItsQuorum(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		ctx, r := f.ctx(), f.red(WatchdogLease(time.Second))
		h := f.enterAll(ctx, r, 3)
		f.ok(f.node(1).Del(ctx, r.nodes[1].stateKey).Err())
		<-h.Parts()[1].Context().Done()
		f.ok(h.Context().Err()) // a quorum is left
		f.ok(f.node(0).Del(ctx, r.nodes[0].stateKey).Err())
		<-h.Context().Done()
		if cause := context.Cause(h.Context()); !errors.Is(cause, ErrLost) || h.Remaining() != 0 || h.Count() != 0 {
			t.Errorf("cause %v, %s left", cause, h.Remaining())
		}
		if _, err := h.TokenAbove(ctx, h.Token()); !errors.Is(err, ErrLost) {
			t.Errorf("a token for a lost hold: got %v, want ErrLost", err)
		}
		f.soon("the rest is not renewed", func() bool { return h.Parts()[2].Remaining() == 0 })
		if err := h.Unlock(ctx); !errors.Is(err, ErrLost) {
			t.Errorf("unlock: got %v, want ErrLost", err)
		}
		f.free(r, 0, 1, 2)
	})
}

// timed locks, and measures that in virtual time.
func (f *fleet) timed(ctx context.Context, r *Red) (h *Hold, took time.Duration) {
	f.t.Helper()
	start := time.Now()
	h = f.enter(ctx, r)
	return h, time.Since(start)
}

// Two of five may be down, slow or without memory, before the lock is taken and while it is held; three may not. The test runs in
// virtual time.
func TestRedLockBearsAMinority(t *testing.T) {
	busytest.Slow(t)
	fleetOf(t, 5, func(t *testing.T, f *fleet) {
		ctx, r := f.ctx(), f.red()
		h := f.enterAll(ctx, r, 5)
		f.servers[0].Pause()
		f.servers[1].Kill()
		f.ok(h.Context().Err())
		inner, took := f.timed(h.Context(), r)
		if took > policy.Node || inner.Token() != h.Token() {
			t.Errorf("re-entered after %s with token %d after %d", took, inner.Token(), h.Token())
		}
		f.ok(inner.Unlock(ctx))
		f.ok(h.Unlock(ctx))
		next, took := f.timed(ctx, f.red())
		if took > policy.Node || len(next.Parts()) != 3 || next.Token() <= h.Token() {
			t.Errorf("granted after %s, %d parts, token %d after %d", took, len(next.Parts()), next.Token(), h.Token())
		}
		if _, err := next.TokenAbove(ctx, next.Token()); err != nil {
			t.Errorf("a token from three of five: %v", err)
		}
		f.ok(next.Unlock(ctx))

		f.servers[2].Kill()
		start := time.Now()
		_, err := r.Lock(ctx)
		if took := time.Since(start); err == nil || errors.Is(err, ErrBusy) || took > 6*policy.Node {
			t.Errorf("three of five are gone, refused after %s: %v", took, err)
		}
		f.free(r, 3, 4)
	})
}

// A hold survives if a minority forgets it, and ends with the quorum.
func TestRedLockSurvivesAMinorityThatForgets(t *testing.T) {
	fleetOf(t, 5, func(t *testing.T, f *fleet) {
		ctx, r := f.ctx(), f.red(WatchdogLease(time.Second))
		h := f.enterAll(ctx, r, 5)
		for i := range 2 {
			f.ok(f.node(i).FlushAll(ctx).Err())
		}
		f.busy(ctx, f.red())
		for i := range 2 {
			<-h.Parts()[i].Context().Done()
		}
		f.ok(h.Context().Err())
		f.ok(f.node(4).FlushAll(ctx).Err())
		<-h.Context().Done()
		next := f.enter(ctx, f.red())
		if next.Token() <= h.Token() {
			t.Errorf("token %d after %d", next.Token(), h.Token())
		}
		if err := h.Unlock(ctx); !errors.Is(err, ErrLost) {
			t.Errorf("unlock: got %v, want ErrLost", err)
		}
		f.ok(next.Context().Err())
		f.ok(next.Unlock(ctx))
	})
}

// Exclusion holds while servers come and go, as long as none of them forgets anything: here they only stand still, one
// after the other.
func TestRedLockExcludesWhileServersStandStill(t *testing.T) {
	busytest.Slow(t)
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		ctx, stop := context.WithCancel(f.ctx())
		counter, entries := 0, make(chan struct{}, 1)
		var wg sync.WaitGroup
		for range 4 {
			r := f.red()
			wg.Go(func() {
				for ctx.Err() == nil {
					h, err := r.Lock(WithOwner(f.ctx()), Wait(busytest.Patience))
					if errors.Is(err, ErrNoAnswer) {
						continue // two stood still for a moment, as this caller saw it
					}
					if err != nil {
						t.Error(err)
						return
					}
					counter++
					select {
					case entries <- struct{}{}:
					default:
					}
					if err := h.Unlock(ctx); err != nil && !errors.Is(err, ErrNoAnswer) {
						t.Error(err)
					}
				}
			})
		}
		for i := range 6 {
			f.servers[i%3].Pause()
			for range 5 {
				busytest.Receive(t, "somebody enters", entries)
			}
			f.servers[i%3].Resume()
		}
		stop()
		wg.Wait()
		if counter < 30 {
			t.Errorf("%d entries", counter)
		}
		f.free(f.red(), 0, 1, 2)
	})
}

// Both sides of the bound for tokens: k of n nodes have the token, f forget it, and the next quorum is the worst one.
// The token is from the future, because otherwise the servers' clocks are past it whatever they forget.
func TestRedLockTokensGrow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, k    int
		forget  []int // of those that carry the token: the first k
		missing []int // in the next quorum
		grows   bool
	}{
		{n: 3, k: 2, forget: nil, missing: []int{0}, grows: true},
		{n: 3, k: 2, forget: []int{1}, missing: []int{0}, grows: false},
		{n: 3, k: 3, forget: []int{1}, missing: []int{0}, grows: true},
		{n: 3, k: 3, forget: []int{1, 2}, missing: []int{0}, grows: false},
		{n: 5, k: 3, forget: nil, missing: []int{0, 1}, grows: true},
		{n: 5, k: 3, forget: []int{2}, missing: []int{0, 1}, grows: false},
		{n: 5, k: 5, forget: []int{2, 3}, missing: []int{0, 1}, grows: true},
		{n: 5, k: 5, forget: []int{2, 3, 4}, missing: []int{0, 1}, grows: false},
	} {
		t.Run(fmt.Sprintf("n=%d k=%d f=%d", c.n, c.k, len(c.forget)), func(t *testing.T) {
			fleetOf(t, c.n, func(t *testing.T, f *fleet) {
				ctx, elsewhere := f.ctx(), f.locks()
				var busy []*Hold
				block := func(nodes ...int) {
					for _, i := range nodes {
						busy = append(busy, f.must(elsewhere[i].Mutex(f.name).Lock(ctx)))
					}
				}
				for i := c.k; i < c.n; i++ {
					block(i)
				}
				h := f.enterAll(ctx, f.red(), c.k)
				token, err := h.TokenAbove(ctx, h.Token()+time.Hour.Microseconds())
				f.ok(err)
				if len(h.Parts()) != c.k || token != h.Token() {
					t.Fatalf("%d nodes carry token %d of %d", len(h.Parts()), token, h.Token())
				}
				f.ok(h.Unlock(ctx))
				for _, other := range busy {
					f.ok(other.Unlock(ctx))
				}
				for _, i := range c.forget {
					f.servers[i].FlushAll()
				}
				block(c.missing...)
				next := f.enterAll(ctx, f.red(), c.n-len(c.missing))
				if len(next.Parts()) != c.n-len(c.missing) || next.Token() > token != c.grows {
					t.Errorf("token %d after %d, %d parts", next.Token(), token, len(next.Parts()))
				}
				f.ok(next.Unlock(ctx))
			})
		})
	}
}

func TestRedLockRaisesItsToken(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		ctx, r := f.ctx(), f.red()
		h := f.enterAll(ctx, r, 3)
		inner := f.enterAll(h.Context(), r, 3)
		first := h.Token()
		seen := first + time.Hour.Microseconds() // by a guard, when a clock ran ahead
		for _, n := range []int64{first - 1, seen, seen} {
			token, err := inner.TokenAbove(ctx, n)
			f.ok(err)
			if token <= n || token < first || token != h.Token() || token != inner.Token() {
				t.Errorf("above %d: %d, the holds have %d and %d", n, token, h.Token(), inner.Token())
			}
			for i, state := range f.states(r) {
				if state["token"] != fmt.Sprint(token) {
					t.Errorf("above %d: server %d has %s, not %d", n, i, state["token"], token)
				}
			}
		}
		for _, l := range r.locks {
			if !l.renewDue(time.Second) || h.Context().Err() != nil {
				t.Error("the raised hold is not renewed")
			}
		}
		f.ok(inner.Unlock(ctx))
		raised := h.Token()
		f.ok(h.Unlock(ctx))
		if _, err := h.TokenAbove(ctx, raised); !errors.Is(err, ErrLost) {
			t.Errorf("after the unlock: got %v, want ErrLost", err)
		}
		next := f.enter(ctx, f.red())
		if next.Token() <= raised {
			t.Errorf("token %d after %d", next.Token(), raised)
		}
		f.ok(next.Unlock(ctx))
	})
}

// Tokens grow also beyond the numbers to which scripts can add one.
func TestRedLockTokensGrowFromTheHighest(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		mine, r := WithOwner(f.ctx()), f.red()
		h := f.enter(mine, r)
		last, err := h.TokenAbove(mine, maxToken-1)
		f.ok(err)
		f.ok(h.Unlock(mine))
		for i := range 8 {
			ctx := mine
			if i%3 == 2 {
				ctx = f.ctx()
			}
			h := f.enter(ctx, r)
			if h.Token() <= last {
				t.Errorf("token %d after %d", h.Token(), last)
			}
			last = h.Token()
			f.ok(h.Unlock(ctx))
		}
	})
}

func TestRedLockReturnsErrBusyOnlyIfAQuorumAnswers(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		ctx, elsewhere := f.ctx(), f.locks()
		r, taps := f.tappedReds()
		down := func(cmd redis.Cmder, _ func() error) error {
			cmd.SetErr(errLost)
			return errLost
		}
		busy := f.must(elsewhere[0].Mutex(f.name).Lock(ctx))
		taps[1].on(scripts.Acquire, down)
		_, err := r.TryLock(ctx)
		for errors.Is(err, ErrNoAnswer) && ctx.Err() == nil { // a busy machine: the busy node's answer came too late
			_, err = r.TryLock(ctx)
		}
		if !errors.Is(err, ErrBusy) || !errors.Is(err, errLost) {
			t.Errorf("one is free, one busy, one down: got %v, want ErrBusy and errLost", err)
		}
		f.free(r, 1, 2)
		taps[2].on(scripts.Acquire, down)
		if _, err := r.Lock(ctx); errors.Is(err, ErrBusy) || !errors.Is(err, errLost) {
			t.Errorf("one is busy, two down: %v", err)
		}
		f.ok(busy.Unlock(ctx))
	})
}

func TestRedLockNeedsAQuorumOfOpenLocks(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		ctx, all := f.ctx(), f.locks()
		r := RedLock(f.name, all...)
		f.ok(all[0].Close())
		h := f.enter(ctx, r)
		busy := f.must(f.red().nodes[0].Lock(ctx)) // it does not concern callers that cannot see it
		f.ok(all[1].Close())
		if _, err := r.Lock(ctx); !errors.Is(err, ErrClosed) || errors.Is(err, ErrBusy) {
			t.Errorf("two of three are closed: got %v, want ErrClosed, not ErrBusy", err)
		}
		f.ok(h.Unlock(ctx)) // one confirmed, one left to expire, which is a minority
		f.ok(all[2].Close())
		if err := h.Unlock(ctx); err != nil {
			t.Errorf("unlock once more: %v", err)
		}
		f.ok(busy.Unlock(ctx))
	})
}

func TestRedLockRefusesNonsense(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		ctx, l := f.ctx(), f.locks()
		for name, c := range map[string]struct {
			lock *Red
			want error
		}{
			"no name":         {RedLock("", l...), ErrEmptyName},
			"no nodes":        {RedLock(f.name), ErrInvalid},
			"a nil node":      {RedLock(f.name, l[0], nil, l[1]), ErrInvalid},
			"the same Locks":  {RedLock(f.name, l[0], l[1], l[0]), ErrInvalid},
			"the same server": {RedLock(f.name, l[0], l[1], f.locksOn(f.node(0))), ErrInvalid},
		} {
			for what, do := range map[string]func() error{
				"Lock":      func() error { _, err := c.lock.Lock(ctx); return err },
				"TryLock":   func() error { _, err := c.lock.TryLock(ctx); return err },
				"MultiLock": func() error { _, err := MultiLock(c.lock).Lock(ctx); return err },
			} {
				if err := do(); !errors.Is(err, c.want) {
					t.Errorf("%s, %s: %v", name, what, err)
				}
			}
		}
		if _, err := RedLock(f.name, l...).Lock(ctx, Lease(-1)); !errors.Is(err, ErrInvalid) {
			t.Errorf("a bad lease: got %v, want ErrInvalid", err)
		}
	})
}

// kept is how many RedLocks are still remembered after another attempt of the owner.
func (o *reds) kept() int {
	_ = o.begin(context.Background(), time.Hour)
	o.end()
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.grants)
}

// A long-lived owner does not keep the RedLocks that it has released.
func TestRedLockIsForgotten(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		ctx, who := withOwner(f.ctx())
		nodes := f.locks()
		for i := range 3 {
			r := RedLock(fmt.Sprint(f.name, i), nodes...)
			outer, inner := f.must(r.Lock(ctx)), f.must(r.Lock(ctx))
			f.ok(outer.Unlock(ctx))
			if count := inner.Count(); count != 1 {
				t.Errorf("%d holds, want 1", count)
			}
			f.ok(inner.Unlock(ctx))
		}
		if n := who.reds.kept(); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

// Nor those that it has lost, even if it never unlocks them.
func TestLostRedLockIsForgotten(t *testing.T) {
	const lease = time.Second
	for name, lose := range map[string]func(f *fleet, h *Hold, leave func()){
		"on the servers": func(f *fleet, h *Hold, _ func()) {
			for i, part := range h.Parts() {
				f.ok(f.node(i).Del(f.ctx(), part.one().grant.lock.stateKey).Err())
			}
		},
		"by its lease":   func(*fleet, *Hold, func()) { time.Sleep(lease) },
		"by its context": func(_ *fleet, _ *Hold, leave func()) { leave() },
	} {
		t.Run(name, func(t *testing.T) {
			fleetOf(t, 3, func(t *testing.T, f *fleet) {
				ctx, who := withOwner(f.ctx())
				ctx, leave := context.WithCancel(ctx)
				defer leave()
				var opts []LockOption
				if name == "by its lease" {
					opts = append(opts, Lease(lease))
				}
				h := f.must(f.red(WatchdogLease(lease)).Lock(ctx, opts...))
				lose(f, h, leave)
				<-h.Context().Done()
				f.soon("forget it", func() bool {
					return who.reds.kept() == 0
				})
			})
		})
	}
}

// Servers under Sentinel do not count as one.
func TestRedLockTellsServersUnderSentinelApart(t *testing.T) {
	t.Parallel()
	w := &world{t: t}
	var all []*Locks
	for _, master := range []string{"a", "b", "c"} {
		rdb := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: master, SentinelAddrs: []string{"nowhere:1"}})
		t.Cleanup(func() { _ = rdb.Close() })
		all = append(all, w.locksOn(rdb))
	}
	w.ok(RedLock("x", all...).err)
}

func TestMultiLockTakesARedLockAsAUnit(t *testing.T) {
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		ctx, all := WithOwner(f.ctx()), f.locks()
		r := RedLock(f.name, all...)
		whole := MultiLock(all[1].Mutex(f.name+"z"), r, all[0].Mutex(f.name+"a"), r)
		h := f.must(whole.Lock(ctx))
		if h.Parts()[1].Token() == 0 || h.Parts()[1].Token() != h.Parts()[3].Token() || h.Remaining() == 0 {
			t.Errorf("tokens %d and %d, %s left", h.Parts()[1].Token(), h.Parts()[3].Token(), h.Remaining())
		}
		if h.Count() != 1 || h.Parts()[1].Count() != 2 || h.Token() != 0 {
			t.Errorf("counts %d and %d, token %d, want 1, 2 and none", h.Count(), h.Parts()[1].Count(), h.Token())
		}
		f.ok(h.Unlock(ctx))
		f.free(r, 0, 1, 2)
	})
}

// While a MultiLock waits for any part, the fixed leases of the parts that it has restart.
func TestMultiLockRenewsRedLocksWhileItWaits(t *testing.T) {
	const lease = 3 * time.Second
	for part, what := range []string{"a mutex", "another mutex", "the RedLock"} {
		t.Run(what, func(t *testing.T) {
			fleetOf(t, 3, func(t *testing.T, f *fleet) {
				ctx := f.ctx()
				partsOf := func(all []*Locks) []Locker {
					return []Locker{all[0].Mutex(f.name + "a"), all[1].Mutex(f.name + "z"), RedLock(f.name, all...)}
				}
				busy := f.must(partsOf(f.locks())[part].Lock(ctx))
				got := make(chan *Hold, 1)
				go func() {
					h, err := MultiLock(partsOf(f.locks())...).Lock(ctx, Lease(lease))
					if err != nil {
						t.Error(err)
					}
					got <- h
				}()
				<-time.After(lease + lease/2)
				f.ok(busy.Unlock(ctx))
				h := <-got
				if h == nil {
					return
				}
				if left := h.Remaining(); left < lease/2 {
					t.Errorf("%s left", left)
				}
				f.ok(h.Unlock(ctx))
			})
		})
	}
}
