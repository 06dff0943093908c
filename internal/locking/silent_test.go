package locking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
)

// A shire is a cluster of three nodes in virtual time.
type shire struct {
	*fleet
	admin *redis.ClusterClient
	names [][]string // of locks on each node
}

func onShire(t *testing.T, test func(s *shire)) {
	t.Helper()
	fleetOf(t, 3, func(t *testing.T, f *fleet) {
		t.Cleanup(func() { time.Sleep(time.Second) }) // the client reloads the slots in a goroutine that nobody waits for
		s := &shire{fleet: f}
		s.admin = s.client()
		s.findNames(32)
		test(s)
	})
}

func (s *shire) client() *redis.ClusterClient {
	rdb := s.cluster(func() {})
	s.t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// locks returns new Locks, like those of another process, which has connections to all nodes.
func (s *shire) locks(opts ...Option) *Locks {
	s.t.Helper()
	rdb := s.client()
	s.ok(rdb.ForEachMaster(s.ctx(), func(ctx context.Context, node *redis.Client) error { return node.Ping(ctx).Err() }))
	return s.locksOn(rdb, opts...)
}

// name returns the n-th name of a lock on a node.
func (s *shire) name(node, n int) string { return s.names[node][n] }

// findNames finds names of locks on each node.
func (s *shire) findNames(each int) {
	s.names = make([][]string, len(s.servers))
	for i := 0; slices.ContainsFunc(s.names, func(names []string) bool { return len(names) < each }); i++ {
		name := fmt.Sprint("lock", i)
		master, err := s.admin.MasterForKey(s.ctx(), addressOf(name, nil).key(roleMutex))
		s.ok(err)
		for node := range s.servers {
			if master.Options().Addr == fmt.Sprintf("node:%d", node) {
				s.names[node] = append(s.names[node], name)
			}
		}
	}
}

// A node of a cluster is silent, and a process keeps asking it: for locks, for queues, for renewals and to clean up. Its work on
// the other nodes takes as long as without that, and other processes get what it leaves there as soon. The cluster is in virtual time.
func TestSilentNodeDelaysNothingOnOthers(t *testing.T) {
	const lease, sick = 3 * time.Second, 0
	for name, work := range map[string]func(s *shire, l, other *Locks){
		"failed MultiLock": func(s *shire, l, _ *Locks) {
			fine := l.Mutex(s.name(1, 0))
			for i := range 5 {
				h, err := MultiLock(fine, l.FairMutex(s.name(1, 1)), l.Mutex(s.name(sick, i))).Lock(s.ctx(), Wait(policy.Grace))
				if err == nil {
					s.ok(h.Unlock(s.ctx()))
				}
				s.within(policy.Grace, "its part is free", func() bool { return s.admin.Exists(s.ctx(), fine.stateKey).Val() == 0 })
			}
		},
		"waiter that gives up": func(s *shire, l, other *Locks) {
			for i := range 5 {
				for _, kind := range []func(*Locks, string, ...MutexOption) Locker{mutexOf, fairOf} {
					mine, theirs := kind(l, s.name(1, i)), kind(other, s.name(1, i))
					h := s.must(theirs.Lock(s.ctx()))
					if _, err := mine.Lock(s.ctx(), Wait(policy.Grace)); !errors.Is(err, ErrBusy) {
						s.t.Fatal(err)
					}
					s.ok(h.Unlock(s.ctx()))
					start := time.Now()
					next := s.must(mine.Lock(s.ctx(), Wait(time.Second)))
					if took := time.Since(start); took > policy.Grace {
						s.t.Errorf("the next waiter enters after %s", took)
					}
					s.ok(next.Unlock(s.ctx()))
				}
			}
		},
		"renewal": func(s *shire, l, _ *Locks) {
			h := s.must(l.Mutex(s.name(1, 0)).Lock(s.ctx()))
			for range 50 {
				time.Sleep(lease / 50)
				if left := h.Remaining(); left < lease/2 {
					s.t.Fatalf("%s of %s are left", left, lease)
				}
			}
			s.ok(h.Unlock(s.ctx()))
		},
		"heartbeat": func(s *shire, l, other *Locks) {
			h := s.must(other.FairMutex(s.name(1, 0)).Lock(s.ctx()))
			m := l.FairMutex(s.name(1, 0))
			entered := make(chan error, 1)
			go func() {
				next, err := m.Lock(s.ctx())
				if err == nil {
					err = next.Unlock(s.ctx())
				}
				entered <- err
			}()
			time.Sleep(policy.Grace)
			for range 50 {
				time.Sleep(policy.Poll / 10)
				deadline := s.admin.ZRangeWithScores(s.ctx(), m.key(roleFair+partHeartbeats), 0, 0).Val()
				if len(deadline) == 0 {
					s.t.Fatal("the waiter is not in the queue")
				}
				if left := time.Until(time.UnixMilli(int64(deadline[0].Score))); left < policy.WaiterLife-policy.Poll*6/5 {
					s.t.Fatalf("the waiter has %s to live", left)
				}
			}
			s.ok(h.Unlock(s.ctx()))
			s.ok(<-entered)
		},
		"part that a MultiLock renews before the next": func(s *shire, l, _ *Locks) {
			h := s.must(l.Mutex(s.name(1, 0)).Lock(s.ctx()))
			l.mu.Lock()
			h.one().setDeadlineLocked(time.Now().Add(lease / 2)) // as if the answer had taken long
			l.mu.Unlock()
			start := time.Now()
			(&acquisition{ctx: s.ctx()}).hasten([]*Hold{h})
			if took := time.Since(start); took > policy.Grace || h.Remaining() < lease*2/3 {
				s.t.Errorf("it took %s, and %s are left", took, h.Remaining())
			}
			s.ok(h.Unlock(s.ctx()))
		},
	} {
		for server, silent := range map[string]bool{"all answer": false, "one is silent": true} {
			t.Run(name+", "+server, func(t *testing.T) {
				onShire(t, func(s *shire) {
					l, other := s.locks(WatchdogLease(lease)), s.locks()
					s.burden(l, other, sick)
					if silent {
						s.servers[sick].Pause()
						s.t.Cleanup(s.servers[sick].Resume)
					}
					s.nag(l, sick)
					work(s, l, other)
				})
			})
		}
	}
}

// The node that a process listens on is silent: soon the process listens on another one.
func TestSubscriptionLeavesASilentNode(t *testing.T) {
	onShire(t, func(s *shire) {
		l := s.locks()
		l.listen()
		hears := func(node int) bool { return len(s.servers[node].PubSubChannels(wakeChannel(l.process))) == 1 }
		anywhere := func() int { return slices.IndexFunc([]int{0, 1, 2}, hears) }
		s.within(time.Second, "it listens", func() bool { return anywhere() >= 0 })
		first := anywhere()
		s.servers[first].Pause()
		s.within(3*policy.Quiet+time.Second, "it listens on another node", func() bool {
			return slices.ContainsFunc([]int{0, 1, 2}, func(node int) bool { return node != first && hears(node) })
		})
		s.servers[first].Resume()
	})
}

func mutexOf(l *Locks, name string, opts ...MutexOption) Locker { return l.Mutex(name, opts...) }

func fairOf(l *Locks, name string, opts ...MutexOption) Locker { return l.FairMutex(name, opts...) }

// within waits in virtual time.
func (s *shire) within(limit time.Duration, what string, is func() bool) {
	s.t.Helper()
	for start := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if took := time.Since(start); took > limit {
			s.t.Fatalf("not within %s: %s", took, what)
		}
	}
}

// burden gives a process holds and a waiter on a node.
func (s *shire) burden(l, other *Locks, node int) {
	s.t.Helper()
	for i := range 3 {
		s.must(l.Mutex(s.name(node, 10+i)).Lock(s.ctx()))
	}
	waits := s.name(node, 20)
	s.must(other.FairMutex(waits).Lock(s.ctx(), Lease(time.Hour)))
	s.keepOn(func(ctx context.Context) { _, _ = l.FairMutex(waits).Lock(ctx) })
}

// nag has a process ask a node for locks again and again, and give up each time.
func (s *shire) nag(l *Locks, node int) {
	n := 0
	s.keepOn(func(ctx context.Context) {
		n++
		if h, err := l.Mutex(s.name(node, 21+n%10)).Lock(ctx, Wait(policy.Grace)); err == nil {
			_ = h.Unlock(ctx)
		}
		time.Sleep(policy.Grace)
	})
}

// keepOn does something again and again until the test ends.
func (s *shire) keepOn(do func(ctx context.Context)) {
	ctx, end := context.WithCancel(s.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			do(ctx)
		}
	}()
	s.t.Cleanup(func() {
		end()
		<-ended
	})
}
