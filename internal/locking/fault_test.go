package locking

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// A tap sits between the library and the client, and can lose, repeat or hold back what goes out.
type tap struct {
	mu   sync.Mutex
	does func(cmd redis.Cmder, next func() error) error // nil: nothing
	seen [][]any                                        // the arguments of every command
	pipe []int                                          // how many commands each pipeline had
	lose int                                            // how many pipelines are lost from now on
}

func (p *tap) DialHook(next redis.DialHook) redis.DialHook { return next }

func (p *tap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		p.mu.Lock()
		does := p.does
		p.seen = append(p.seen, cmd.Args())
		p.mu.Unlock()
		if does == nil {
			return next(ctx, cmd)
		}
		return does(cmd, func() error { return next(ctx, cmd) })
	}
}

func (p *tap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		p.mu.Lock()
		p.pipe = append(p.pipe, len(cmds))
		lost := p.lose > 0
		p.lose--
		p.mu.Unlock()
		if lost {
			for _, cmd := range cmds {
				cmd.SetErr(errLost)
			}
			return errLost
		}
		return next(ctx, cmds)
	}
}

// on lets the tap handle the calls of one script.
func (p *tap) on(script *scripts.Script, does func(cmd redis.Cmder, next func() error) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.does = nil
	if script != nil {
		p.does = func(cmd redis.Cmder, next func() error) error {
			if args := cmd.Args(); len(args) > 1 && args[1] == script.Hash {
				return does(cmd, next)
			}
			return next()
		}
	}
}

// count returns how many commands the tap has seen.
func (p *tap) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.seen)
}

// trips returns how many round trips the tap has seen.
func (p *tap) trips() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.seen) + len(p.pipe)
}

// tapped returns Locks behind a tap.
func (w *world) tapped(opts ...Option) (*Locks, *tap) {
	rdb, p := w.client(), &tap{}
	rdb.AddHook(p)
	return w.locksOn(rdb, opts...), p
}

// errLost is a client's error when the answer does not come.
var errLost = &net.OpError{Op: "read", Err: errors.New("the answer was lost")}

// written makes the library believe, as is true, that a command went out before it was lost.
func written(cmd redis.Cmder) {
	for _, arg := range cmd.Args() {
		if a, ok := arg.(*scripts.Attempt); ok {
			_, _ = a.MarshalBinary()
		}
	}
}

// late sends a command again, later than everything else, as the network might. The server knows the script.
func (w *world) late(rdb *redis.Client, args []any) {
	w.t.Helper()
	if err := rdb.Do(w.ctx(), args...).Err(); err != nil {
		w.t.Errorf("the late copy: %v", err)
	}
}

func TestLateCopyOfACancelledAcquireTakesNothing(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		l, tap := w.tapped()
		m := l.Mutex(w.name)
		w.ok(w.must(m.Lock(ctx)).Unlock(ctx)) // the scripts are known now
		for _, arrives := range []bool{false, true} {
			var ghost []any
			begin := time.Now()
			tap.on(scripts.Acquire, func(cmd redis.Cmder, next func() error) error {
				written(cmd)
				ghost = cmd.Args()
				if arrives {
					w.ok(next())
				}
				cmd.SetErr(errLost)
				return errLost
			})
			if h, err := m.Lock(ctx); err == nil || h != nil {
				w.t.Fatal("an error was a grant")
			}
			tap.on(nil, nil)
			w.soon("it is cancelled", func() bool { return w.exists(rdb, ghostTomb(ghost)) == 1 })
			if w.exists(rdb, m.stateKey) != 0 {
				w.t.Error("the cancelled attempt holds the lock")
			}
			w.late(rdb, ghost)
			if w.exists(rdb, m.stateKey, m.queueKey) != 0 {
				w.t.Error("the late copy holds the lock")
			}
			w.lives(rdb, ghostTomb(ghost), 2*defaultWatchdogLease, begin)
		}
	})
}

// ghostTomb is the tombstone's key in the arguments of an acquire.
func ghostTomb(args []any) string { return args[4].(string) }

func TestLateCopyOfAReleasedAcquireTakesNothing(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		l, tap := w.tapped()
		m := l.Mutex(w.name)
		w.ok(w.must(m.Lock(ctx)).Unlock(ctx))
		var ghost []any
		tap.on(scripts.Acquire, func(cmd redis.Cmder, next func() error) error {
			written(cmd) // once, and then again by the client
			ghost = cmd.Args()
			return next()
		})
		h := w.must(m.Lock(ctx))
		first := ghost
		inner := w.must(m.Lock(h.Context()))
		tap.on(nil, nil)
		w.ok(inner.Unlock(ctx))
		w.ok(h.Unlock(ctx))
		for _, args := range [][]any{first, ghost} {
			w.late(rdb, args)
			if w.exists(rdb, m.stateKey) != 0 {
				w.t.Fatal("a late copy holds the lock")
			}
		}
	})
}

// tapArgs returns the calls of a script that a tap has seen.
func tapArgs(p *tap, script *scripts.Script) [][]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	var calls [][]any
	for _, args := range p.seen {
		if len(args) > 1 && args[1] == script.Hash {
			calls = append(calls, args)
		}
	}
	return calls
}

func TestNoTombstoneWithoutAGhost(t *testing.T) {
	w, _ := private(t)
	rdb, ctx := w.client(), w.ctx()
	m := w.locks().Mutex(w.name)
	for range 10 {
		w.ok(w.must(m.Lock(ctx)).Unlock(ctx))
	}
	if keys := rdb.Keys(ctx, "*").Val(); !slices.Equal(keys, []string{m.clock()}) {
		t.Errorf("left behind: %q", keys)
	}
}

func TestReplayedScriptChangesNothing(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		l, tap := w.tapped()
		m := l.Mutex(w.name)
		twice := func(cmd redis.Cmder, next func() error) error {
			written(cmd)
			w.ok(next())
			return next() // the library gets the second answer
		}
		w.ok(w.must(m.Lock(ctx)).Unlock(ctx))
		tap.on(scripts.Acquire, twice)
		h := w.must(m.Lock(ctx))
		held := func(want bool) {
			w.t.Helper()
			if got := rdb.HExists(ctx, m.stateKey, h.holder()).Val(); got != want {
				w.t.Errorf("it is held: %t, want %t", got, want)
			}
		}
		held(true)
		acquires := tapArgs(tap, scripts.Acquire)
		w.late(rdb, acquires[len(acquires)-1])
		held(true)
		tap.on(scripts.Release, twice)
		w.ok(h.Unlock(ctx)) // the second answer says that it is not ours; the first one freed it
		held(false)
		w.late(rdb, acquires[len(acquires)-1])
		held(false)
		tap.on(nil, nil)
		again := w.must(m.Lock(ctx))
		for _, args := range tapArgs(tap, scripts.Release) {
			w.late(rdb, args)
		}
		if !rdb.HExists(ctx, m.stateKey, again.holder()).Val() {
			w.t.Error("an old release has freed it")
		}
		w.ok(again.Unlock(ctx))
	})
}

// A release is sent twice, and the second answer says that the lock is not ours: by our clock that may have been so for
// a while.
func TestReleaseSentTwiceAfterTheDeadlineIsALoss(t *testing.T) {
	each(t, func(w *world) {
		ctx := w.ctx()
		l, tap := w.tapped()
		m := l.Mutex(w.name)
		w.ok(w.must(m.Lock(ctx)).Unlock(ctx)) // the scripts are known now
		tap.on(scripts.Release, func(cmd redis.Cmder, next func() error) error {
			written(cmd)
			w.ok(next())
			return next()
		})
		h := w.must(m.Lock(ctx))
		l.mu.Lock()
		h.one().deadline = time.Now()
		l.mu.Unlock()
		if err := h.Unlock(ctx); !errors.Is(err, ErrLost) {
			w.t.Errorf("unlock: got %v, want ErrLost", err)
		}
	})
}

// An old release of an owner must not free what the owner has locked since.
func TestLateReleaseFreesNoLaterGrant(t *testing.T) {
	each(t, func(w *world) {
		rdb := w.client()
		ctx := WithOwner(w.ctx())
		l, tap := w.tapped()
		m := l.Mutex(w.name)
		w.ok(w.must(m.Lock(ctx)).Unlock(ctx))
		h := w.must(m.Lock(ctx))
		for _, args := range tapArgs(tap, scripts.Release) {
			w.late(rdb, args)
		}
		if w.exists(rdb, m.stateKey) != 1 {
			w.t.Error("the lock is free")
		}
		w.ok(h.Unlock(ctx))
	})
}

func TestUnconfirmedReleaseIsRepeated(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		l, tap := w.tapped()
		m := l.Mutex(w.name)
		h := w.must(m.Lock(ctx))
		tap.on(scripts.Release, func(cmd redis.Cmder, _ func() error) error {
			written(cmd)
			cmd.SetErr(errLost)
			return errLost
		})
		tap.mu.Lock()
		tap.lose = 2
		tap.mu.Unlock()
		if err := h.Unlock(ctx); err == nil {
			w.t.Error("the loss was not told")
		}
		w.ok(h.Unlock(ctx))
		w.soon("it is released", func() bool { return w.exists(rdb, m.stateKey) == 0 })
	})
}

func TestFlushedScriptsAreSentAgain(t *testing.T) {
	virtual(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		const lease = 600 * time.Millisecond
		m := w.locks(WatchdogLease(lease)).Mutex(w.name)
		h := w.must(m.Lock(ctx))
		end := time.Now().Add(2 * lease)
		for time.Now().Before(end) { // no renewal finds the script that the one before it has loaded
			w.ok(rdb.ScriptFlush(ctx).Err())
			time.Sleep(lease / 60)
		}
		w.ok(h.Context().Err())
		w.ok(rdb.ScriptFlush(ctx).Err())
		w.ok(h.Unlock(ctx))
		w.ok(rdb.ScriptFlush(ctx).Err())
		w.ok(w.must(m.Lock(ctx)).Unlock(ctx))
	})
}

func TestLostSubscriptionIsMadeAnew(t *testing.T) {
	virtual(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m, other := w.locks().Mutex(w.name), w.locks().Mutex(w.name)
		h := w.must(m.Lock(ctx))
		admitted := make(chan time.Time, 1)
		go func() {
			_, err := other.Lock(ctx)
			if err != nil {
				w.t.Error(err)
			}
			admitted <- time.Now()
		}()
		w.soon("it listens and is queued", func() bool { return other.locks.subscription.Hears() && w.queued(rdb, m) == 1 })
		if n := w.memory.cutListeners(); n != 1 {
			w.t.Fatalf("%d subscriptions", n)
		}
		start := time.Now()
		w.ok(h.Unlock(ctx))
		if took := (<-admitted).Sub(start); took > 2*policy.Poll {
			w.t.Errorf("admitted after %s", took)
		}
	})
}

// If no client may subscribe, polling alone must be enough.
func TestWaitersPollWithoutASubscription(t *testing.T) {
	virtual(t, func(w *world) {
		ctx := w.ctx()
		w.memory.refuseListeners()
		m, other := w.locks().Mutex(w.name), w.locks().Mutex(w.name)
		h := w.must(m.Lock(ctx))
		waits := make(chan struct{})
		admitted := make(chan time.Time, 1)
		go func() {
			_, err := other.Lock(ctx, Wait(10*time.Millisecond))
			if !errors.Is(err, ErrBusy) {
				w.t.Error(err)
			}
			close(waits)
			if _, err := other.Lock(ctx); err != nil {
				w.t.Error(err)
			}
			admitted <- time.Now()
		}()
		<-waits
		start := time.Now()
		w.ok(h.Unlock(ctx))
		if took := (<-admitted).Sub(start); took > 3*policy.Poll {
			w.t.Errorf("admitted after %s", took)
		}
	})
}

func TestProcessHasOneSubscription(t *testing.T) {
	w, _ := private(t)
	rdb, ctx := w.client(), w.ctx()
	locks := []*Locks{w.locks(), w.locks()}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				w.ok(w.must(locks[i%2].Mutex(w.name).Lock(ctx)).Unlock(ctx))
			}
		})
	}
	wg.Wait()
	subscribed := func() int {
		return strings.Count(rdb.Do(ctx, "CLIENT", "LIST", "TYPE", "pubsub").String(), "addr=") - strings.Count(rdb.Do(ctx, "CLIENT", "LIST", "TYPE", "pubsub").String(), "laddr=")
	}
	if n := subscribed(); n > 2 {
		t.Errorf("%d subscription connections of two processes", n)
	}
	for _, l := range locks {
		w.ok(l.Close())
	}
	w.soon("no subscription is left", func() bool { return subscribed() == 0 })
}

func TestFlushAllIsALoss(t *testing.T) {
	virtual(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		const lease = 600 * time.Millisecond
		m := w.locks(WatchdogLease(lease)).Mutex(w.name)
		h := w.must(m.Lock(ctx))
		start := time.Now()
		w.ok(rdb.FlushAll(ctx).Err())
		<-h.Context().Done()
		if cause := context.Cause(h.Context()); !errors.Is(cause, ErrLost) || time.Since(start) > lease {
			w.t.Errorf("cause %v after %s", cause, time.Since(start))
		}
		if err := h.Unlock(ctx); !errors.Is(err, ErrLost) {
			w.t.Errorf("unlock: got %v, want ErrLost", err)
		}
		next := w.must(m.Lock(ctx))
		if next.Token() <= h.Token() {
			w.t.Errorf("the token did not grow: got %v, want more than %v", next.Token(), h.Token())
		}
		w.ok(rdb.FlushAll(ctx).Err())
		if _, err := m.Lock(next.Context()); err == nil { // the re-entry finds that the lock is gone, and takes it again
			if !errors.Is(context.Cause(next.Context()), ErrLost) {
				w.t.Error("the outer hold does not know")
			}
		}
		if err := next.Unlock(ctx); !errors.Is(err, ErrLost) {
			w.t.Errorf("unlock: got %v, want ErrLost", err)
		}
	})
}

// opaque hides the type of a client, as a wrapper or a mock might.
type opaque struct{ redis.UniversalClient }

func TestHoldEndsInTimeWhileTheServerIsPaused(t *testing.T) {
	for name, connect := range map[string]func(w *world) redis.UniversalClient{
		"default": func(w *world) redis.UniversalClient { return w.client() },
		"opaque":  func(w *world) redis.UniversalClient { return opaque{w.client()} },
		"keeps deadlines": func(w *world) redis.UniversalClient {
			return w.client(func(o *redis.Options) { o.ContextTimeoutEnabled = true })
		},
		"no retries, no time-outs": func(w *world) redis.UniversalClient {
			return w.client(func(o *redis.Options) { o.MaxRetries, o.ReadTimeout = -1, -1 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(w *world) {
				ctx := w.ctx()
				const lease = 500 * time.Millisecond
				l := w.locksOn(connect(w), WatchdogLease(lease))
				free := l.Mutex(w.name + "free")
				w.ok(w.must(free.Lock(ctx)).Unlock(ctx))
				h := w.must(l.Mutex(w.name).Lock(ctx))
				start := time.Now()
				w.memory.Pause()
				<-h.Context().Done() // by our own clock: no server answers
				if took := time.Since(start); took > lease+lease/4 || !errors.Is(context.Cause(h.Context()), ErrLost) {
					w.t.Errorf("lost after %s: %v", took, context.Cause(h.Context()))
				}

				short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
				start = time.Now()
				_, err := free.Lock(short)
				if took := time.Since(start); took > time.Second || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNoAnswer) {
					w.t.Errorf("%v after %s", err, took)
				}
				start = time.Now()
				_, err = free.Lock(ctx, Wait(100*time.Millisecond))
				if took := time.Since(start); took > time.Second || !errors.Is(err, ErrNoAnswer) || errors.Is(err, ErrBusy) {
					w.t.Errorf("%v after %s", err, took)
				}
				start = time.Now()
				if err := h.Unlock(ctx); err == nil || time.Since(start) > policy.Release+time.Second {
					w.t.Errorf("unlock: %v after %s", err, time.Since(start))
				}
				w.memory.Resume()
				rdb := w.client()
				w.soon("the late acquisitions are cancelled", func() bool { return w.exists(rdb, free.stateKey) == 0 })
				w.ok(w.must(free.Lock(ctx)).Unlock(ctx))
			})
		})
	}
}

func TestLockAndUnlockFailWhileTheServerIsDown(t *testing.T) {
	w, server := private(t)
	ctx := w.ctx()
	l := w.locks()
	m := l.Mutex(w.name)
	h := w.must(m.Lock(ctx))
	w.ok(server.Kill())
	if h, err := l.Mutex(w.name + "other").Lock(ctx); err == nil || h != nil || errors.Is(err, ErrBusy) {
		t.Errorf("without a server: %v", err)
	}
	if err := h.Unlock(ctx); err == nil {
		t.Error("unlocked without a server")
	}
	w.ok(server.Restart(ctx))
	w.soon("it works again", func() bool {
		next, err := m.Lock(ctx)
		if err != nil {
			return false
		}
		if next.Token() <= h.Token() {
			t.Errorf("the token did not grow: got %v, want more than %v", next.Token(), h.Token())
		}
		return next.Unlock(ctx) == nil
	})
}

func TestManyLocksAreRenewedInFewTrips(t *testing.T) {
	virtual(t, func(w *world) {
		ctx := w.ctx()
		const lease = 3 * time.Second
		l, tap := w.tapped(WatchdogLease(lease))
		holds := make([]*Hold, 0, 2*batch+1)
		for i := range cap(holds) {
			holds = append(holds, w.must(l.Mutex(fmt.Sprint(w.name, i)).Lock(ctx)))
		}
		w.soon("all are renewed", func() bool {
			tap.mu.Lock()
			defer tap.mu.Unlock()
			return slices.Contains(tap.pipe, 1) || len(tap.pipe) >= 3
		})
		tap.mu.Lock()
		if slices.Max(tap.pipe) > batch {
			w.t.Errorf("pipelines of %v", tap.pipe)
		}
		tap.mu.Unlock()
		for _, h := range holds {
			w.ok(h.Unlock(ctx))
		}
	})
}

// A renewal that arrives after the release of its lock must not touch what has been locked since.
func TestLateRenewalTouchesNoLaterGrant(t *testing.T) {
	each(t, func(w *world) {
		rdb := w.client()
		ctx := WithOwner(w.ctx())
		l := w.locks()
		m := l.Mutex(w.name)
		old := w.must(m.Lock(ctx))
		w.ok(old.Unlock(ctx))
		h := w.must(m.Lock(ctx, Lease(time.Minute)))
		renew := func(of *Hold, lease, want int64) {
			w.t.Helper()
			call := scripts.Renew.NewCall(1, 2).With(m.stateKey, of.holder(), lease)
			if held, err := l.server.Run(ctx, time.Now().Add(busytest.Patience), nil, call, &scripts.Attempt{}); held != want || err != nil {
				w.t.Errorf("renewal of token %d: %v (%v)", of.Token(), held, err)
			}
		}
		renew(old, 2000, scripts.NotOurs)
		renew(h, 2000, scripts.Done)
		if left := rdb.PTTL(ctx, m.stateKey).Val(); left <= 2*time.Second {
			w.t.Errorf("a renewal has brought the expiry nearer: %s", left)
		}
		renew(old, 3600_000, scripts.NotOurs)
		if left := rdb.PTTL(ctx, m.stateKey).Val(); left > time.Minute {
			w.t.Errorf("a late renewal has extended the lock to %s", left)
		}
		w.ok(h.Unlock(ctx))
	})
}

// The connection is gone, and attempts to connect again get no answer: an unlock keeps its bound, whatever the client's
// time-outs.
func TestUnlockKeepsItsBoundWithoutAConnection(t *testing.T) {
	virtual(t, func(w *world) {
		var swallows atomic.Bool
		over := make(chan struct{})
		rdb := w.client(func(o *redis.Options) {
			o.ContextTimeoutEnabled = true
			o.DialTimeout, o.DialerRetries, o.ConnMaxLifetime = time.Minute, 1, time.Second
			o.Dialer = func(context.Context, string, string) (net.Conn, error) {
				if swallows.Load() {
					<-over
					return nil, net.ErrClosed
				}
				return w.memory.dial()
			}
		})
		m := w.locksOn(rdb).Mutex(w.name)
		h := w.must(m.Lock(w.ctx()))
		swallows.Store(true)
		time.Sleep(2 * time.Second) // its connection is too old
		start := time.Now()
		if err := h.Unlock(w.ctx()); !errors.Is(err, ErrNoAnswer) {
			w.t.Errorf("unlock: got %v, want ErrNoAnswer", err)
		}
		if took := time.Since(start); took > policy.Release {
			w.t.Errorf("it took %s", took)
		}
		close(over)
	})
}

// The owner re-enters a lock that the server has forgotten: the outer hold is lost, and the inner one is a new one.
func TestReentryOfAForgottenLockLosesTheOuterHold(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		l := w.locks()
		mutex, fair := l.Mutex(w.name), l.FairMutex(w.name)
		for one, a := range map[Locker]*lock{mutex: &mutex.lock, fair: &fair.lock} {
			owner := WithOwner(ctx)
			outer := w.must(one.Lock(owner))
			w.ok(rdb.Del(ctx, a.stateKey).Err())
			inner := w.must(one.Lock(owner))
			if inner.Token() <= outer.Token() || a.Count(owner) != 1 {
				w.t.Errorf("token %d inside of %d, count %d", inner.Token(), outer.Token(), a.Count(owner))
			}
			if !errors.Is(context.Cause(outer.Context()), ErrLost) {
				w.t.Errorf("the outer hold ended with %v", context.Cause(outer.Context()))
			}
			w.ok(inner.Unlock(ctx))
		}
	})
}

// Scripts about a holder change that holder only, and not another owner that has the lock.
func TestScriptsNameTheirHolder(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		h := w.must(m.Lock(ctx))
		before := rdb.HGetAll(ctx, m.stateKey).Val()
		w.ok(rdb.PExpire(ctx, m.stateKey, 20*time.Second).Err())
		run := func(s *scripts.Script, keys []string, args ...any) any {
			w.t.Helper()
			answer, err := rdb.Eval(ctx, s.Source.(string), keys, args...).Result()
			w.ok(err)
			return answer
		}
		for _, other := range []string{"P:else", h.Owner() + ":0"} { // a stranger, and an old grant
			if got := run(scripts.Renew, []string{m.stateKey}, other, 60000); got != int64(scripts.NotOurs) {
				w.t.Errorf("%s renews: %v", other, got)
			}
			if got := run(scripts.Release, []string{m.stateKey, m.queueKey}, 1, policy.ReservationMS, other, scripts.QueueStay); !reflect.DeepEqual(got, []any{int64(scripts.NotOurs)}) {
				w.t.Errorf("%s releases: %v", other, got)
			}
		}
		if got := run(scripts.Token, []string{m.clock(), m.stateKey}, "P:else", 1); got != int64(0) {
			w.t.Errorf("a stranger raises the token: %v", got)
		}
		if after := rdb.HGetAll(ctx, m.stateKey).Val(); !maps.Equal(before, after) {
			w.t.Errorf("the state went from %v to %v", before, after)
		}
		if ttl := rdb.PTTL(ctx, m.stateKey).Val(); ttl > 20*time.Second {
			w.t.Errorf("the lock lives for %s", ttl)
		}
		if w.exists(rdb, m.queueKey) != 0 {
			w.t.Error("somebody queues")
		}
	})
}

// An attempt with a tombstone neither queues for a lock nor takes it, not even one that is reserved for its process.
func TestCancelledAttemptFindsItsTombstone(t *testing.T) {
	each(t, func(w *world) {
		rdb, ctx := w.client(), w.ctx()
		m := w.locks().Mutex(w.name)
		tomb := m.tombstone(1)
		w.ok(rdb.Set(ctx, tomb, 1, time.Minute).Err())
		for what, state := range map[string][]any{"free": nil, "held": {"Q:a", 1, "token", 1}, "reserved": {"claim", "P"}} {
			if state != nil {
				w.ok(rdb.HSet(ctx, m.stateKey, state...).Err())
			}
			before := rdb.HGetAll(ctx, m.stateKey).Val()
			answer, err := rdb.Eval(ctx, scripts.Acquire.Source.(string), []string{m.clock(), tomb, m.stateKey, m.queueKey}, 1, 60000, "P:a", scripts.QueueEnter, 0).Slice()
			if err != nil || answer[0] != int64(scripts.Cancelled) {
				w.t.Errorf("%s: %v (%v)", what, answer, err)
			}
			if after := rdb.HGetAll(ctx, m.stateKey).Val(); !maps.Equal(before, after) || w.exists(rdb, m.queueKey) != 0 {
				w.t.Errorf("%s: the state went from %v to %v", what, before, after)
			}
			w.ok(rdb.Del(ctx, m.stateKey).Err())
		}
	})
}

// A slow client is about to write a command when its caller gives up, and writes it anyway.
type hesitant struct {
	*tap
	script *scripts.Script
	ready  chan struct{} // the client is about to write
	goes   chan struct{} // closed: it writes
	wrote  chan error
}

func (h *hesitant) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) < 2 || args[1] != h.script.Hash {
			return next(ctx, cmd)
		}
		close(h.ready)
		<-h.goes
		err := next(context.WithoutCancel(ctx), cmd)
		h.wrote <- err
		return err
	}
}

// An attempt that was given up before it was sent is never sent, so it needs no tombstone.
func TestAttemptIsGivenUpBeforeItIsSent(t *testing.T) {
	each(t, func(w *world) {
		rdb := w.client()
		slow, h := w.client(), &hesitant{&tap{}, scripts.Acquire, make(chan struct{}), make(chan struct{}), make(chan error, 1)}
		slow.AddHook(h)
		m := w.locksOn(slow).Mutex(w.name)
		w.ok(rdb.ScriptLoad(w.ctx(), scripts.Acquire.Source.(string)).Err())
		ctx, cancel := context.WithCancel(w.ctx())
		failed := make(chan error, 1)
		go func() {
			_, err := m.Lock(ctx)
			failed <- err
		}()
		<-h.ready
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			w.t.Errorf("error %v", err)
		}
		close(h.goes)
		if err := <-h.wrote; !errors.Is(err, ErrNoAnswer) {
			w.t.Errorf("it was sent: got %v, want ErrNoAnswer", err)
		}
		if w.exists(rdb, m.stateKey) != 0 {
			w.t.Error("it holds the lock")
		}
	})
}
