package app_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/servertest"
)

// Locks must work again by the time at which a new client has written to a master backWithin times, resting before each: after some
// two seconds, on a machine that is not busy.
const (
	backWithin = 40
	backRest   = 50 * time.Millisecond
)

// TestLocksFollowAFailoverOfSentinel: a master dies, stops, or is replaced on request, and a Sentinel is down, while two
// processes sell. No order is lost, and locks are back soon after there is a master.
func TestLocksFollowAFailoverOfSentinel(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	for name, fail := range map[string]func(t *testing.T, s *servertest.Sentinel, master *servertest.Redis) error{
		"dies":         func(_ *testing.T, _ *servertest.Sentinel, master *servertest.Redis) error { return master.Kill() },
		"stands still": func(_ *testing.T, _ *servertest.Sentinel, master *servertest.Redis) error { return master.Pause() },
		"is replaced":  func(t *testing.T, s *servertest.Sentinel, _ *servertest.Redis) error { return s.Failover(t.Context()) },
		"dies, and a Sentinel is down": func(_ *testing.T, s *servertest.Sentinel, master *servertest.Redis) error {
			return errors.Join(s.Sentinels()[0].Kill(), master.Kill())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sentinel, err := servertest.StartSentinel(t.Context(), 2)
			if err != nil {
				t.Fatal(err)
			}
			stopLater(t, sentinel.Stop)
			s := open(t, app.LockReentrant, sentinel.URL())
			master, err := sentinel.Master(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			stop := s.sellBeside(8)
			if err := fail(t, sentinel, master); err != nil {
				t.Fatal(err)
			}
			s.locksAreBack(func(ctx context.Context) error {
				now, err := sentinel.Master(ctx)
				if err == nil && now == master {
					err = errors.New("the Sentinels know no other master yet")
				}
				if err == nil {
					err = writable(ctx, now.Addr())
				}
				return err
			})
			stop()
			ready(t, s.apps[0], "ok")
		})
	}
}

// TestLocksFollowACluster: the node that has the locks dies, and then their slot moves to another node, while two
// processes sell. No order is lost, and locks are back soon after the slot has a master.
func TestLocksFollowACluster(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	cluster := startCluster(t)
	s := open(t, app.LockReentrant, cluster.URL())
	ready(t, s.apps[0], "ok") // the check leaves keys of its lock
	slot := slotInUse(t, s.apps[0], cluster)
	before, err := cluster.Master(t.Context(), slot)
	if err != nil {
		t.Fatal(err)
	}
	stop := s.sellBeside(8)
	if err := before.Kill(); err != nil {
		t.Fatal(err)
	}
	s.locksAreBack(otherMaster(cluster, slot, before))
	if before, err = cluster.Master(t.Context(), slot); err != nil {
		t.Fatal(err)
	}
	masters, err := cluster.Masters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	to := masters[(slices.Index(masters, before)+1)%len(masters)]
	if err := cluster.MigrateSlot(t.Context(), slot, to, func() {}); err != nil {
		t.Fatal(err)
	}
	s.locksAreBack(otherMaster(cluster, slot, before))
	stop()
	ready(t, s.apps[0], "ok")
}

// TestAMasterIsReplacedWhileNobodyLocks: the client of an idle process still knows the master that is dead. A probe finds the new one.
func TestAMasterIsReplacedWhileNobodyLocks(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	cluster := startCluster(t)
	a, _ := onRedis(t, cluster.URL())
	slot := slotInUse(t, a, cluster)
	before, err := cluster.Master(t.Context(), slot)
	if err != nil {
		t.Fatal(err)
	}
	if err := before.Kill(); err != nil {
		t.Fatal(err)
	}
	other := otherMaster(cluster, slot, before)
	if a.Service().CheckLocks() == nil && other(t.Context()) != nil {
		t.Error("locks work without a master")
	}
	s := &site{t: t, apps: []*app.App{a}}
	s.locksAreBack(other)
}

// otherMaster returns a function that fails until a slot has another master than before, which accepts writes.
func otherMaster(cluster *servertest.Cluster, slot int, before *servertest.Redis) func(context.Context) error {
	return func(ctx context.Context) error {
		now, err := cluster.Master(ctx, slot)
		if err == nil && now == before {
			err = errors.New("the slot has no other master yet")
		}
		if err == nil {
			err = writable(ctx, now.Addr())
		}
		return err
	}
}

// TestAClusterGivesLocksWithTheRightsOfTheHandbook, and with no others.
func TestAClusterGivesLocksWithTheRightsOfTheHandbook(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	cluster := startCluster(t)
	for _, node := range cluster.Nodes() {
		do(t, node, "ACL SETUSER inventory on >p/@ resetkeys ~lk:* resetchannels &lk:* &inventory:* -@all +@connection +@read +@write "+
			"+@scripting +@pubsub +@transaction -@dangerous +info +time +cluster|slots")
	}
	a, _ := onRedis(t, "redis+cluster://inventory:p%2F%40@"+cluster.Addrs()[0])
	ready(t, a, "ok")
}

// startCluster starts a cluster for a test.
func startCluster(t *testing.T) *servertest.Cluster {
	t.Helper()
	cluster, err := servertest.StartCluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, cluster.Stop)
	return cluster
}

// slotInUse returns the slot of the only keys of a cluster, which the check of a service leaves.
func slotInUse(t *testing.T, a *app.App, cluster *servertest.Cluster) (slot int) {
	t.Helper()
	busytest.Soon(t, "the cluster has a key", func() bool {
		_ = a.Service().CheckLocks() // there is no key if it fails
		masters, err := cluster.Masters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, master := range masters {
			client := redis.NewClient(&redis.Options{Addr: master.Addr()})
			keys, err := client.Keys(t.Context(), "*").Result()
			if err = errors.Join(err, client.Close()); err != nil {
				t.Fatal(err)
			}
			if len(keys) == 0 {
				continue
			}
			if slot, err = cluster.Slot(t.Context(), keys[0]); err != nil {
				t.Fatal(err)
			}
			return true
		}
		return false
	})
	return slot
}

// stopLater stops servers when the test ends.
func stopLater(t *testing.T, stop func() error) {
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// writable returns an error unless a Redis takes writes from a new client, which waits as long for an answer as a service does.
func writable(ctx context.Context, address string) error {
	client := redis.NewClient(&redis.Options{
		Addr: address, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: app.RedisDial, ReadTimeout: app.RedisAnswer, WriteTimeout: app.RedisAnswer,
	})
	defer client.Close()
	err := client.Set(ctx, "writable", "", time.Millisecond).Err()
	if _, moved := redis.IsMovedError(err); moved {
		return nil // it is a master of other slots
	}
	return err
}

// sellBeside starts to sell a SKU, and returns when the first orders are written. The function it returns ends the sale.
func (s *site) sellBeside(segments int) (stop func()) {
	s.t.Helper()
	var selling sync.WaitGroup
	enough := make(chan struct{})
	selling.Go(func() { s.sellUntil(enough, 1_000_000, segments) })
	busytest.Soon(s.t, "the first orders are written", func() bool {
		return s.metric(s.apps[0], "inventory_batch_orders_count") > 0 || s.t.Failed()
	})
	return func() { close(enough); selling.Wait() }
}

// locksAreBack waits until there is a master, and then until all processes have locks again. The control is a new client: it writes to
// the master only a few times meanwhile.
func (s *site) locksAreBack(master func(context.Context) error) {
	s.t.Helper()
	busytest.Soon(s.t, "there is a master", func() bool { return master(s.t.Context()) == nil })
	fail := func(a *app.App) bool { return a.Service().CheckLocks() != nil }
	writes := 0
	busytest.Soon(s.t, "all processes have locks", func() bool {
		if !slices.ContainsFunc(s.apps, fail) {
			return true
		}
		if time.Sleep(backRest); master(s.t.Context()) == nil {
			writes++
		}
		if writes > backWithin {
			s.t.Fatalf("there are no locks yet, and a new client has written %d times", writes)
		}
		return false
	})
	s.t.Logf("a new client wrote %d times before there were locks", writes)
}
