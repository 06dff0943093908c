//go:build unix

package servertest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"inventory/internal/busytest"
)

// awaitText waits until a command has an answer.
func awaitText(t *testing.T, r *Redis, want string, command ...any) {
	t.Helper()
	err := await(t.Context(), fmt.Sprintf("%v to answer %s", command, want), func(ctx context.Context) error {
		if got, err := r.text(ctx, command...); err != nil || got != want {
			return errors.Join(fmt.Errorf("it answers %q", got), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func mustDo(t *testing.T, r *Redis, command ...any) {
	t.Helper()
	if _, err := r.do(t.Context(), command...); err != nil {
		t.Fatal(err)
	}
}

// field reads a number out of a text in which it follows its name. Epochs are such numbers: each failover, also one that nobody asked for
// because the machine stood still, has a higher one.
func field(t *testing.T, r *Redis, name string, command ...any) (number int) {
	t.Helper()
	text, err := r.text(t.Context(), command...)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(name + `[: ](\d+)`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("%v answers %q, without %s", command, text, name)
	}
	number, err = strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return number
}

func TestReplica(t *testing.T) {
	t.Parallel()
	master := startRedis(t)
	replica, err := StartReplica(t.Context(), master)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, replica.Stop, &replica.server) })
	mustDo(t, master, "SET", "k", "v")
	awaitText(t, replica, "v", "GET", "k")
}

func TestSentinelLife(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	started := time.Now()
	s, err := StartSentinel(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, r := range slices.Concat(s.nodes, s.sentinels) {
			stop(t, s.Stop, &r.server)
		}
	})
	t.Logf("started in %v", time.Since(started))
	first, err := s.Master(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustDo(t, first, "SET", "k", "v")
	if err := s.Settled(t.Context()); err != nil { // the replica has it
		t.Fatal(err)
	}

	started = time.Now()
	epoch := func() int {
		t.Helper()
		return field(t, s.sentinels[0], "config-epoch", "SENTINEL", "MASTER", sentinelMaster)
	}
	before := epoch()
	if err := s.Failover(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("failed over in %v", time.Since(started))
	if after := epoch(); after <= before {
		t.Fatalf("no failover: the epoch was %d and is %d", before, after)
	}
	second, err := s.Master(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	awaitText(t, second, "v", "GET", "k")

	started = time.Now()
	if err := second.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Settled(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("lived through a death in %v", time.Since(started))
	if master, err := s.Master(t.Context()); err != nil || master == second {
		t.Fatalf("the master is %v, which is dead (%v)", master, err)
	}
	started = time.Now()
	if err := second.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Settled(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("took it back in %v", time.Since(started))
}

// TestSentinelAsDeployed: with the settings of docker-compose, without shorter times, a dead master is replaced.
func TestSentinelAsDeployed(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	s, err := startSentinel(t.Context(), 2, TLS{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, r := range slices.Concat(s.nodes, s.sentinels) {
			stop(t, s.Stop, &r.server)
		}
	})
	if err := s.Settled(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, err := s.Master(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	err = await(t.Context(), "another master", func(ctx context.Context) error {
		if second, err := s.Master(ctx); err != nil || second == first {
			return errors.Join(fmt.Errorf("the master is still %s", first.Addr()), err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("another master after %v", time.Since(started))
}

// TestFormCluster: the script of docker-compose makes a cluster of nodes that do not know each other, and does not change
// an existing cluster.
func TestFormCluster(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	nodes, err := startFleet(2*clusterMasters, func(int) (*Redis, error) { return startNode(t.Context(), TLS{}) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, r := range nodes {
			stop(t, nodes.stop, &r.server)
		}
	})
	c := &Cluster{nodes}
	for range 2 {
		script := append([]string{"../../deploy/compose/form-cluster.sh"}, nodes.addresses()...)
		if out, err := exec.CommandContext(t.Context(), "sh", script...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if err := c.Settled(t.Context()); err != nil {
			t.Fatal(err)
		}
		if masters, err := c.Masters(t.Context()); err != nil || len(masters) != clusterMasters {
			t.Fatalf("%d masters (%v)", len(masters), err)
		}
	}
}

func TestClusterLife(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	started := time.Now()
	c, err := StartCluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, r := range c.nodes {
			stop(t, c.Stop, &r.server)
		}
	})
	t.Logf("started in %v", time.Since(started))
	masters, err := c.Masters(t.Context())
	if err != nil || len(masters) != clusterMasters {
		t.Fatalf("%d masters (%v)", len(masters), err)
	}
	slot, err := c.Slot(t.Context(), "{slot}")
	if err != nil {
		t.Fatal(err)
	}
	owners := func() (master *Redis, all []*Redis) {
		t.Helper()
		found, err := c.shard(t.Context(), slot)
		if err != nil {
			t.Fatal(err)
		}
		return found.master, append(found.replicas, found.master)
	}
	set := []any{"MSET"}
	for i := range 250 {
		set = append(set, fmt.Sprintf("{slot}%d", i), i)
	}
	first, _ := owners()
	mustDo(t, first, set...)

	to := masters[(slices.Index(masters, first)+1)%len(masters)]
	moved := false
	started = time.Now()
	err = c.MigrateSlot(t.Context(), slot, to, func() {
		moved = true
		awaitText(t, first, "0", "CLUSTER", "COUNTKEYSINSLOT", slot)
		awaitText(t, to, "250", "CLUSTER", "COUNTKEYSINSLOT", slot)
	})
	if _, all := owners(); err != nil || !moved || !slices.Contains(all, to) {
		t.Fatalf("the slot is not at %s (%v)", to.Addr(), err)
	}
	t.Logf("migrated a slot in %v", time.Since(started))

	started = time.Now()
	epoch := func() int {
		t.Helper()
		return field(t, to, "cluster_current_epoch", "CLUSTER", "INFO")
	}
	before := epoch()
	if err := c.Failover(t.Context(), slot); err != nil {
		t.Fatal(err)
	}
	t.Logf("failed over in %v", time.Since(started))
	if after := epoch(); after <= before {
		t.Fatalf("no failover: the epoch was %d and is %d", before, after)
	}
	second, _ := owners()
	awaitText(t, second, "7", "GET", "{slot}7")

	started = time.Now()
	if err := second.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Settled(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("lived through a death in %v", time.Since(started))
	if master, _ := owners(); master == second {
		t.Errorf("the slot is at %s, which is dead", master.Addr())
	}
	started = time.Now()
	if err := second.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Settled(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("took it back in %v", time.Since(started))
}
