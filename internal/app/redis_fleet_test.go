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
	"inventory/internal/servertest"
)

// backWithin is how soon locks must work again once a master accepts writes.
const backWithin = 2 * time.Second

// TestLocksFollowAFailoverOfSentinel: a master dies, stops, or is replaced on request, and a Sentinel is down, while two
// processes sell. No order is lost, and locks are back soon after there is a master.
func TestLocksFollowAFailoverOfSentinel(t *testing.T) {
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
					err = writable(ctx, now)
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
	t.Parallel()
	cluster := startCluster(t)
	s := open(t, app.LockReentrant, cluster.URL())
	ready(t, s.apps[0], "ok") // the check leaves keys of its lock
	slot := slotInUse(t, cluster)
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
	t.Parallel()
	cluster := startCluster(t)
	a, _, err := onRedis(t, cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	slot := slotInUse(t, cluster)
	before, err := cluster.Master(t.Context(), slot)
	if err != nil {
		t.Fatal(err)
	}
	if err := before.Kill(); err != nil {
		t.Fatal(err)
	}
	if a.Service().CheckLocks() == nil {
		t.Error("locks work without a master")
	}
	s := &site{T: t, apps: []*app.App{a}}
	s.locksAreBack(otherMaster(cluster, slot, before))
}

// otherMaster returns a function that fails until a slot has another master than before, which accepts writes.
func otherMaster(cluster *servertest.Cluster, slot int, before *servertest.Redis) func(context.Context) error {
	return func(ctx context.Context) error {
		now, err := cluster.Master(ctx, slot)
		if err == nil && now == before {
			err = errors.New("the slot has no other master yet")
		}
		if err == nil {
			err = writable(ctx, now)
		}
		return err
	}
}

// TestAClusterGivesLocksWithTheRightsOfTheHandbook, and with no others.
func TestAClusterGivesLocksWithTheRightsOfTheHandbook(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	for _, node := range cluster.Nodes() {
		do(t, node, "ACL SETUSER inventory on >p/@ resetkeys ~lk:* resetchannels &lk:* &inventory:* -@all +@connection +@read +@write "+
			"+@scripting +@pubsub +@transaction -@dangerous +info +time +cluster|slots")
	}
	a, _, err := onRedis(t, "redis+cluster://inventory:p%2F%40@"+cluster.Addrs()[0])
	if err != nil {
		t.Fatal(err)
	}
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

// slotInUse returns the slot of the only keys of a cluster.
func slotInUse(t *testing.T, cluster *servertest.Cluster) int {
	t.Helper()
	masters, err := cluster.Masters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, master := range masters {
		client := redis.NewClient(&redis.Options{Addr: master.Addr()})
		defer client.Close()
		keys, err := client.Keys(t.Context(), "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) > 0 {
			slot, err := cluster.Slot(t.Context(), keys[0])
			if err != nil {
				t.Fatal(err)
			}
			return slot
		}
	}
	t.Fatal("the cluster has no key")
	return 0
}

// stopLater stops servers when the test ends.
func stopLater(t *testing.T, stop func() error) {
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// writable returns an error unless a Redis takes writes.
func writable(ctx context.Context, server *servertest.Redis) error {
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	defer client.Close()
	err := client.Set(ctx, "writable", "", time.Millisecond).Err()
	if _, moved := redis.IsMovedError(err); moved {
		return nil // it is a master of other slots
	}
	return err
}

// sellBeside starts to sell a SKU, and returns when the first orders are written. The function it returns ends the sale.
func (s *site) sellBeside(segments int) (stop func()) {
	s.Helper()
	var selling sync.WaitGroup
	enough := make(chan struct{})
	selling.Go(func() { s.sellUntil(enough, 1_000_000, segments) })
	for s.metric(s.apps[0], "inventory_batch_orders_count") == 0 && !s.Failed() {
		time.Sleep(5 * time.Millisecond)
	}
	return func() { close(enough); selling.Wait() }
}

// waitFor waits until there is a master.
func (s *site) waitFor(master func(context.Context) error) {
	s.Helper()
	for ; master(s.Context()) != nil; time.Sleep(5 * time.Millisecond) {
		if s.Context().Err() != nil {
			s.Fatal("there is no master")
		}
	}
}

// locksAreBack waits until there is a master, and then until all processes have locks again.
func (s *site) locksAreBack(master func(context.Context) error) {
	s.Helper()
	s.waitFor(master)
	start := time.Now()
	for _, a := range s.apps {
		for a.Service().CheckLocks() != nil && time.Since(start) < time.Minute {
			time.Sleep(5 * time.Millisecond)
		}
	}
	took := time.Since(start)
	s.Logf("locks were back %s after there was a master", took.Round(time.Millisecond))
	if took > backWithin {
		s.Errorf("locks were back only %s after there was a master", took)
	}
}
