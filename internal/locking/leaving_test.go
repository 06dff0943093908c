package locking

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"inventory/internal/locking/internal/policy"
)

// A caller that cancels while silent servers are asked goes at once, whatever its client waits for. Locks that they grant later are given
// back in the background.
func TestCancelledCallLeavesASilentServerAtOnce(t *testing.T) {
	for client, set := range map[string]func(o *redis.Options){
		"keeps deadlines":              keepsDeadline,
		"keeps deadlines, no time-out": func(o *redis.Options) { keepsDeadline(o); o.ReadTimeout = -1 },
		"keeps none":                   func(*redis.Options) {},
	} {
		for kind, lock := range everyKind(t.Name()) {
			t.Run(client+"/"+kind, func(t *testing.T) {
				fleetOf(t, 3, func(_ *testing.T, f *fleet) {
					for _, reenters := range []bool{false, true} {
						f.leave(lock, set, reenters)
					}
				})
			})
		}
	}
}

// leave calls Lock and TryLock in virtual time while no server answers, and cancels.
func (f *fleet) leave(lock func([]*Locks) Locker, set func(*redis.Options), reenters bool) {
	f.t.Helper()
	var mine []*Locks
	for i := range f.servers {
		rdb := f.node(i, set)
		f.ok(rdb.Ping(f.ctx()).Err())
		mine = append(mine, f.locksOn(rdb))
	}
	base := WithOwner(f.ctx())
	var outer *Hold
	if reenters {
		outer = f.must(lock(mine).Lock(base))
	}
	for _, m := range []func(context.Context, ...LockOption) (*Hold, error){lock(mine).Lock, lock(mine).TryLock} {
		f.everyServer((*memory).Pause)
		ctx, cancel := context.WithCancel(base)
		time.AfterFunc(10*time.Millisecond, cancel)
		start := time.Now()
		_, err := m(ctx)
		if took := time.Since(start); err == nil || took > 10*time.Millisecond+4*policy.Cleanup {
			f.t.Errorf("re-enters %t: %v after %s", reenters, err, took)
		}
		f.everyServer((*memory).Resume)
		time.Sleep(2 * policy.LastCleanerAnswer)
	}
	if reenters {
		f.ok(outer.Unlock(f.ctx()))
	}
	h := f.must(lock(f.locks()).Lock(f.ctx(), Wait(policy.Grace))) // nothing is left
	f.ok(h.Unlock(f.ctx()))
	closeAll(mine)
}

// A server that has been prompt stands still for a while, beside callers that could cancel: each gets its lock when the server goes on,
// once, and nothing is left.
func TestCallerWaitsForAServerThatStandsStillForAWhile(t *testing.T) {
	for _, pause := range []time.Duration{policy.Grace / 2, 3 * policy.Grace} {
		for kind, lock := range everyKind(t.Name()) {
			t.Run(kind+"/"+pause.String(), func(t *testing.T) {
				fleetOf(t, 3, func(_ *testing.T, f *fleet) {
					m := lock(f.locks())
					ctx, cancel := context.WithCancel(f.ctx())
					defer cancel()
					f.ok(f.must(m.Lock(ctx)).Unlock(ctx)) // it is prompt
					f.everyServer((*memory).Pause)
					time.AfterFunc(pause, func() { f.everyServer((*memory).Resume) })
					start := time.Now()
					h := f.must(m.Lock(ctx, Wait(time.Second)))
					if took := time.Since(start); took < pause {
						f.t.Errorf("a lock after %s", took)
					}
					f.ok(h.Unlock(ctx))
					f.ok(f.must(lock(f.locks()).Lock(f.ctx(), Wait(policy.Grace))).Unlock(f.ctx()))
				})
			})
		}
	}
}

// A reshard that is stuck half way costs a caller few requests, after the first second, and the caller goes on when it is over, in
// virtual time.
func TestStuckReshardIsAskedSeldom(t *testing.T) {
	for kind, lock := range map[string]func(*Locks, string, ...MutexOption) Locker{"mutex": mutexOf, "fair": fairOf} {
		t.Run(kind, func(t *testing.T) {
			onShire(t, func(s *shire) {
				rdb, node := s.client(), &tap{}
				s.ok(rdb.Ping(s.ctx()).Err())
				rdb.AddHook(node)
				refusal := s.node(0).Eval(s.ctx(), "return redis.error_reply('TRYAGAIN half of it is there')", nil).Err()
				stuck := func(cmd redis.Cmder, _ func() error) error {
					cmd.SetErr(refusal)
					return refusal
				}
				node.mu.Lock()
				node.does = stuck
				node.mu.Unlock()
				l := s.locksOn(rdb)
				entered := make(chan *Hold, 1)
				go func() { entered <- s.must(lock(l, s.name(0, 0)).Lock(s.ctx())) }()
				time.Sleep(3 * time.Second)
				before := node.trips()
				time.Sleep(20 * time.Second)
				if n := node.trips() - before; n < 10 || n > 60 {
					s.t.Errorf("%d requests in 20 s", n)
				}
				node.on(nil, nil)
				start := time.Now()
				h := <-entered
				if took := time.Since(start); took > 2*time.Second {
					s.t.Errorf("it enters after %s", took)
				}
				before = node.trips()
				node.mu.Lock()
				node.does = stuck
				node.mu.Unlock()
				_ = h.Unlock(s.ctx())
				if n := node.trips() - before; n > 120 {
					s.t.Errorf("%d requests for a release", n)
				}
				node.on(nil, nil)
			})
		})
	}
}

// A hold of several locks is lost when its fixed lease is over. In that moment its owner locks again: it need not unlock first,
// though the process has noticed the end of the first part alone.
func TestOwnerOfALostMultiLockLocksAgain(t *testing.T) {
	for kind, lock := range everyKind(t.Name()) {
		if kind != "several" && kind != "several on servers" && kind != "of all" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			fleetOf(t, 3, func(t *testing.T, f *fleet) {
				const lease = time.Second
				m, ctx := lock(f.locks()), WithOwner(f.ctx())
				h := f.must(m.Lock(ctx, Lease(lease)))
				taken := singlesOf(h.held.(*multiHold).taken)
				for _, late := range taken[1:] {
					late.locks.mu.Lock()
					late.setDeadlineLocked(late.deadline.Add(time.Millisecond))
					late.locks.mu.Unlock()
				}
				<-h.Context().Done()
				start := time.Now()
				again, err := m.Lock(ctx, Lease(lease), Wait(lease))
				if err != nil {
					t.Fatalf("%v after %s", err, time.Since(start))
				}
				f.ok(again.Unlock(ctx))
				if err := h.Unlock(ctx); !errors.Is(err, ErrLost) {
					t.Errorf("the lost hold: %v", err)
				}
				if who := taken[0].grant.owner; len(who.held) != 0 {
					t.Errorf("the owner still holds %v", who.held)
				}
			})
		})
	}
}

// New tells an observer of a client that waits for too long.
func TestNewWarnsOfSettings(t *testing.T) {
	for want, options := range map[string]redis.Options{
		"":                   {ReadTimeout: time.Second},
		"longer than":        {ReadTimeout: time.Second + 1},
		"no ReadTimeout":     {ReadTimeout: -1},
		" ":                  {ReadTimeout: -1, ContextTimeoutEnabled: true},
		"ReadTimeout of 5s ": {}, // the default
	} {
		options.Addr, options.MaintNotificationsConfig = "nowhere:1", &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		seen := &diary{}
		l, err := New(redis.NewClient(&options), WatchdogLease(3*time.Second), Observe(seen))
		if err != nil {
			t.Fatal(err)
		}
		warned := strings.Join(seen.warned, "")
		if strings.TrimSpace(want) == "" != (warned == "") || !strings.Contains(warned, strings.TrimSpace(want)) {
			t.Errorf("warned %q, want %q", warned, want)
		}
		closeAll([]*Locks{l})
		_ = l.server.Client.Close()
	}
}

// A reshard that is stuck half way costs the nodes few commands, with all that the cleaner sends and the client repeats by itself.
func TestStuckReshardCostsItsNodesLittle(t *testing.T) {
	const perSecond, seconds = 25, 20
	for kind, lock := range map[string]func(*Locks, string, ...MutexOption) Locker{"mutex": mutexOf, "fair": fairOf} {
		t.Run(kind, func(t *testing.T) {
			onShire(t, func(s *shire) {
				var refused atomic.Int64
				var over atomic.Bool
				conn, err := s.servers[0].Dial() // the server exists from then on
				s.ok(err)
				s.ok(conn.Close())
				s.servers[0].Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
					if over.Load() || !strings.HasPrefix(strings.ToUpper(cmd), "EVAL") {
						return false
					}
					refused.Add(1)
					c.WriteError("TRYAGAIN Multiple keys request during rehashing of slot")
					return true
				})
				m := lock(s.locks(), s.name(0, 0))
				entered := make(chan *Hold, 1)
				go func() { entered <- s.must(m.Lock(s.t.Context())) }()
				for range 6 {
					before := refused.Load()
					time.Sleep(seconds * time.Second)
					if n := refused.Load() - before; n > perSecond*seconds {
						s.t.Errorf("%d commands in %d s", n, seconds)
					}
				}
				over.Store(true)
				s.ok((<-entered).Unlock(s.ctx()))
			})
		})
	}
}
