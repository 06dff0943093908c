//go:build unix

package servertest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/deploy/compose"
)

const (
	clusterMasters = 3
	clusterSlots   = 16384
	// busDistance is how far the port of the cluster bus is below that of the
	// clients. Redis' own choice, 10000 above, is in the range from which systems
	// pick the ports of outgoing connections.
	busDistance = 10000
	// migrateTimeout bounds the move of some keys, in milliseconds.
	migrateTimeout = 30_000
	// failoverTries is the time between two orders of one failover. A node gives up after 5 s, as it may on a busy machine.
	failoverTries = 6 * time.Second
)

// ErrNoReplica means that a master has no replica that could take its place.
var ErrNoReplica = errors.New("the master has no replica")

// Cluster is a Redis Cluster of three masters with a replica each, which is promoted when its master is gone for two
// seconds. Meanwhile the other masters serve their slots. Its settings are those of docker-compose.
type Cluster struct{ nodes fleet }

// StartCluster starts a cluster and returns when it works.
func StartCluster(ctx context.Context) (*Cluster, error) { return TLS{}.StartCluster(ctx) }

// StartCluster is [StartCluster] with TLS.
func (t TLS) StartCluster(ctx context.Context) (*Cluster, error) {
	nodes, err := startFleet(2*clusterMasters, func(int) (*Redis, error) { return startNode(ctx, t) })
	if err != nil {
		return nil, err
	}
	c := &Cluster{nodes}
	if err := c.form(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func startNode(ctx context.Context, t TLS) (*Redis, error) {
	return openRedis(ctx, "a Redis Cluster node", compose.Redis+compose.Cluster, t, func(r *Redis) []string {
		return []string{"--cluster-port", strconv.Itoa(r.port - busDistance)}
	})
}

// form makes a cluster of nodes that do not know each other.
func (c *Cluster) form(ctx context.Context) error {
	program, err := exec.LookPath("redis-cli")
	if err != nil {
		return errMissing("redis-cli")
	}
	arguments := slices.Concat([]string{"--cluster", "create"}, c.Addrs(), []string{"--cluster-replicas", "1", "--cluster-yes"}, c.nodes[0].tls.ofClient())
	if output, err := exec.CommandContext(ctx, program, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("forming a cluster: %w; redis-cli says:\n%s", err, output)
	}
	return c.Settled(ctx)
}

// Addrs lists the addresses of the nodes.
func (c *Cluster) Addrs() []string { return c.nodes.addresses() }

// URL returns the URL of the cluster for the service.
func (c *Cluster) URL() string {
	return c.nodes[0].tls.scheme() + "+cluster://" + strings.Join(c.Addrs(), ",")
}

// Nodes lists all nodes.
func (c *Cluster) Nodes() []*Redis { return slices.Clone(c.nodes) }

// Masters lists the masters, each once, in the order of their slots.
func (c *Cluster) Masters(ctx context.Context) ([]*Redis, error) {
	var masters []*Redis
	for slot := 0; slot < clusterSlots; {
		found, err := c.shard(ctx, slot)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(masters, found.master) {
			masters = append(masters, found.master)
		}
		slot = found.end + 1
	}
	return masters, nil
}

// Master returns the node that a slot belongs to.
func (c *Cluster) Master(ctx context.Context, slot int) (*Redis, error) {
	found, err := c.shard(ctx, slot)
	return found.master, err
}

// Slot returns the slot of a key.
func (c *Cluster) Slot(ctx context.Context, key string) (int, error) {
	slot, err := c.nodes.alive()[0].text(ctx, "CLUSTER", "KEYSLOT", key)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(slot)
}

// Failover promotes the replica of a slot's master in an orderly way, and returns when all nodes know.
func (c *Cluster) Failover(ctx context.Context, slot int) error {
	before, err := c.shard(ctx, slot)
	if err != nil {
		return err
	}
	if len(before.replicas) == 0 {
		return fmt.Errorf("slot %d: %w", slot, ErrNoReplica)
	}
	var asked time.Time
	err = await(ctx, "a replica to be promoted", func(ctx context.Context) error {
		master, err := c.Master(ctx, slot)
		if err == nil && master != before.master {
			return nil
		}
		if time.Since(asked) > failoverTries {
			asked = time.Now()
			_, refused := before.replicas[0].do(ctx, "CLUSTER", "FAILOVER")
			err = errors.Join(err, refused)
		}
		return errors.Join(fmt.Errorf("%s is still the master", before.master.Addr()), err)
	})
	if err != nil {
		return err
	}
	return c.Settled(ctx)
}

// MigrateSlot moves a slot with its keys to another master, once all nodes
// agree who is one, and returns when all nodes know. In between it calls meanwhile, if that is not nil: at that
// point the keys have moved, and the slot still belongs to its old master.
func (c *Cluster) MigrateSlot(ctx context.Context, slot int, to *Redis, meanwhile func()) error {
	if err := c.Settled(ctx); err != nil {
		return err
	}
	from, err := c.Master(ctx, slot)
	if err != nil {
		return err
	}
	fromID, err := from.text(ctx, "CLUSTER", "MYID")
	if err != nil {
		return err
	}
	toID, err := to.text(ctx, "CLUSTER", "MYID")
	if err != nil {
		return err
	}
	if _, err := to.do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID); err != nil {
		return err
	}
	if _, err := from.do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID); err != nil {
		return err
	}
	if err := moveKeys(ctx, slot, from, to); err != nil {
		return err
	}
	if meanwhile != nil {
		meanwhile()
	}
	for _, node := range []*Redis{to, from} { // in this order the slot always has an owner
		if _, err := node.do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", toID); err != nil {
			return err
		}
	}
	return c.Settled(ctx)
}

// moveKeys empties a migrating slot, which gets no new keys.
func moveKeys(ctx context.Context, slot int, from, to *Redis) error {
	for {
		answer, err := ask(ctx, from, func(ctx context.Context, r *redis.Client) *redis.StringSliceCmd {
			return r.ClusterGetKeysInSlot(ctx, slot, 100)
		})
		if err != nil || len(answer.Val()) == 0 {
			return err
		}
		command := []any{"MIGRATE", "127.0.0.1", to.port, "", 0, migrateTimeout, "KEYS"}
		for _, key := range answer.Val() {
			command = append(command, key)
		}
		if _, err := from.do(ctx, command...); err != nil {
			return err
		}
	}
}

// Settled waits until the running nodes agree: the cluster works, its masters
// are running, and all other running nodes are replicas that have caught up.
func (c *Cluster) Settled(ctx context.Context) error {
	return await(ctx, "the cluster to agree", func(ctx context.Context) error {
		var common string
		for _, node := range c.nodes.alive() {
			view, err := c.check(ctx, node)
			if err != nil {
				return err
			}
			if common == "" {
				common = view
			}
			if view != common {
				return fmt.Errorf("%s sees %s, not %s", node.Addr(), view, common)
			}
		}
		return nil
	})
}

// check returns how a node sees the cluster, in a form that is the same for all
// nodes that agree.
func (c *Cluster) check(ctx context.Context, node *Redis) (string, error) {
	text, err := node.text(ctx, "CLUSTER", "INFO")
	if err != nil {
		return "", err
	}
	if state := fieldsOf(text)["cluster_state"]; state != "ok" {
		return "", fmt.Errorf("to %s the cluster's state is %s", node.Addr(), state)
	}
	shards, err := c.shards(ctx, node)
	if err != nil {
		return "", err
	}
	view, leader := "", (*Redis)(nil)
	members := make(map[*Redis]bool)
	for _, s := range shards {
		if !s.master.running() {
			return "", fmt.Errorf("the master at %s: %w", s.master.Addr(), errNotRunning)
		}
		view += fmt.Sprintf(" %d-%d:%s", s.start, s.end, s.master.Addr())
		for _, member := range append(s.replicas, s.master) {
			members[member] = true
			if member == node {
				leader = s.master
			}
		}
	}
	if want := len(c.nodes.alive()); len(members) < want {
		return "", fmt.Errorf("%s sees %d members, not %d", node.Addr(), len(members), want)
	}
	if leader != nil && leader != node {
		err = node.follows(ctx, leader)
	}
	return view, err
}

// shard is a range of slots, with the nodes that have them.
type shard struct {
	start, end int
	master     *Redis
	replicas   []*Redis
}

// shard returns the shard of a slot as a running node sees it.
func (c *Cluster) shard(ctx context.Context, slot int) (shard, error) {
	err := errNotRunning
	for _, node := range c.nodes.alive() {
		var shards []shard
		if shards, err = c.shards(ctx, node); err != nil {
			continue
		}
		for _, s := range shards {
			if s.start <= slot && slot <= s.end {
				return s, nil
			}
		}
		err = fmt.Errorf("%s knows nobody who has slot %d", node.Addr(), slot)
	}
	return shard{}, err
}

// shards returns how a node sees the cluster, in the order of the slots.
func (c *Cluster) shards(ctx context.Context, node *Redis) ([]shard, error) {
	answer, err := ask(ctx, node, func(ctx context.Context, r *redis.Client) *redis.ClusterSlotsCmd {
		command := redis.NewClusterSlotsCmd(ctx, "CLUSTER", "SLOTS")
		_ = r.Process(ctx, command) // the command has the error
		return command
	})
	if err != nil {
		return nil, err
	}
	var shards []shard
	for _, slots := range answer.Val() {
		s := shard{start: slots.Start, end: slots.End}
		for i, member := range slots.Nodes { // the first is the master
			ours, err := c.nodes.at(member.Addr)
			if err != nil {
				return nil, fmt.Errorf("the slots that %s knows: %w", node.Addr(), err)
			}
			if i == 0 {
				s.master = ours
			} else {
				s.replicas = append(s.replicas, ours)
			}
		}
		shards = append(shards, s)
	}
	slices.SortFunc(shards, func(a, b shard) int { return a.start - b.start })
	return shards, nil
}

// Stop ends all nodes. Later calls do nothing.
func (c *Cluster) Stop() error { return c.nodes.stop() }
