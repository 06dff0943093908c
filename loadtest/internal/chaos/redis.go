//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/servertest"
	"inventory/loadtest/internal/servers"
)

// redisServers are the Redis of a run. The servers of a group give processes their own addresses, so no network of ours is in
// between, and the servers themselves fail.
type redisServers struct {
	url   string // by which processes find them
	nodes []*servertest.Redis
	// master returns one that has locks now.
	master func(ctx context.Context) (*servertest.Redis, error)
	// settled waits until a group has all masters, and replicas that follow.
	settled func(ctx context.Context) error
	// failOver replaces the master in order.
	failOver func(ctx context.Context) error
	moveSlot func(ctx context.Context) error // of a cluster
	sentinel *servertest.Redis               // one of the Sentinels
	failed   *servertest.Redis               // by the fault under way
}

// settleWithin is how long a group gets to agree on what has changed. After many faults nodes may disagree for minutes about
// which are replicas; the sale has to bear that too.
const settleWithin = 5 * time.Second

// change has a group change in order, if it can: one that has just failed may have no replica for it.
func (r *redisServers) change(ctx context.Context, change func(context.Context) error) error {
	if err := soon(ctx, r.settled); err != nil {
		return err
	}
	if err := soon(ctx, change); !errors.Is(err, servertest.ErrNoReplica) {
		return err
	}
	return nil
}

// soon does something for as long as a group's time. Taking longer is no error.
func soon(ctx context.Context, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	if err := do(limited); limited.Err() == nil || ctx.Err() != nil {
		return err
	}
	return nil
}

// openGroup starts a group, which closers stop; nil: the Redis is one server.
func openGroup(ctx context.Context, kind string, c *servers.Closers) (*redisServers, error) {
	switch kind {
	case UnderSentinel:
		s, err := servertest.StartSentinel(ctx, 2)
		if err != nil {
			return nil, err
		}
		c.OnClose(s.Stop)
		return &redisServers{
			url: s.URL(), nodes: s.Nodes(), master: s.Master, settled: s.Settled, failOver: s.Failover, sentinel: s.Sentinels()[0],
		}, nil
	case Cluster:
		cluster, err := servertest.StartCluster(ctx)
		if err != nil {
			return nil, err
		}
		c.OnClose(cluster.Stop)
		return &redisServers{
			url: cluster.URL(), nodes: cluster.Nodes(), settled: cluster.Settled,
			master: func(ctx context.Context) (*servertest.Redis, error) {
				master, _, err := slotInUse(ctx, cluster)
				return master, err
			},
			failOver: func(ctx context.Context) error {
				_, slot, err := slotInUse(ctx, cluster)
				if err != nil {
					return err
				}
				return cluster.Failover(ctx, slot)
			},
			moveSlot: func(ctx context.Context) error { return moveSlot(ctx, cluster) },
		}, nil
	}
	return nil, nil
}

// alone is one server.
func alone(one *servertest.Redis) *redisServers {
	return &redisServers{
		url: one.URL(), nodes: []*servertest.Redis{one},
		master:  func(context.Context) (*servertest.Redis, error) { return one, nil },
		settled: func(context.Context) error { return nil },
	}
}

// slotInUse returns a master that has locks, and the slot of one of them; without any, the master of the first slot.
func slotInUse(ctx context.Context, c *servertest.Cluster) (*servertest.Redis, int, error) {
	masters, err := c.Masters(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, master := range masters {
		key, err := ask(ctx, master, func(rdb *redis.Client) (string, error) { return rdb.RandomKey(ctx).Result() })
		if err == nil {
			slot, err := c.Slot(ctx, key)
			return master, slot, err
		}
	}
	return masters[0], 0, nil
}

// moveSlot gives a slot with locks to another master.
func moveSlot(ctx context.Context, c *servertest.Cluster) error {
	from, slot, err := slotInUse(ctx, c)
	if err != nil {
		return err
	}
	masters, err := c.Masters(ctx)
	if err != nil {
		return err
	}
	to := masters[(slices.Index(masters, from)+1)%len(masters)]
	return c.MigrateSlot(ctx, slot, to, nil)
}

func ask[T any](ctx context.Context, server *servertest.Redis, question func(*redis.Client) (T, error)) (T, error) {
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
	defer rdb.Close()
	return question(rdb)
}

// empty makes a Redis forget all locks. One that is a replica has its master's.
func (r *redisServers) empty(ctx context.Context) error {
	for _, node := range r.nodes {
		_, err := ask(ctx, node, func(rdb *redis.Client) (string, error) { return rdb.FlushAll(ctx).Result() })
		if err != nil && !strings.HasPrefix(err.Error(), "READONLY") {
			return fmt.Errorf("empty Redis: %w", err)
		}
	}
	return nil
}

// fail causes a failure of a server that has locks.
func (r *redisServers) fail(ctx context.Context, how func(*servertest.Redis) error) (err error) {
	if r.failed, err = r.master(ctx); err != nil {
		return err
	}
	return how(r.failed)
}
