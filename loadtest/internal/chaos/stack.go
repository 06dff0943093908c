//go:build unix

package chaos

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"inventory/internal/faultproxy"
	"inventory/internal/servertest"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
)

// startWithin bounds a start, and the wait for a process that starts: the machine may be busy.
const startWithin = 2 * time.Minute

// stack is the whole service: a PostgreSQL, a Redis or a group of them, and processes that reach each over networks of their
// own, but for a group.
type stack struct {
	*servers.Servers // whose addresses have no network of ours
	redis            *redisServers
	processes        [processes]*process
	holder           *pgx.Conn // holds rows
}

// process is one process of the service.
type process struct {
	stack    *stack
	program  target.Process
	job      target.Job
	postgres *faultproxy.Proxy // the network to it
	redis    *faultproxy.Proxy // nil: a group, to which there is none
	worker   *target.Service   // nil: it does not run
	url      atomic.Pointer[string]
}

// start starts everything.
func start(ctx context.Context, c Config) (_ *stack, err error) {
	var given servers.URLs
	var opened servers.Closers
	s := &stack{}
	if s.redis, err = openGroup(ctx, c.Redis, &opened); err != nil {
		return nil, err
	}
	if s.redis != nil {
		given.RedisURL = s.redis.nodes[0].URL()
	}
	if s.Servers, err = servers.Open(ctx, given, servers.Needs{}); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	s.OnClose(opened.Close)
	if s.redis == nil {
		s.redis = alone(s.Redis)
	}
	if s.About, err = s.Environment(ctx, true); err == nil {
		err = s.MakeDatabase(ctx, "chaos_")
	}
	for i := range s.processes {
		if err == nil {
			s.processes[i], err = s.openProcess(ctx, c)
		}
	}
	if err == nil {
		err = servers.Execute(ctx, s.DatabaseURL, fences)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

//go:embed fences.sql
var fences string

// readFences reads how often a row of each SKU was written under an older token.
func (s *stack) readFences(ctx context.Context, skus []history.SKU) error {
	return servers.Connected(ctx, s.DatabaseURL, func(conn *pgx.Conn) error {
		for i := range skus {
			if err := conn.QueryRow(ctx, `SELECT count(*) FROM chaos_fences WHERE sku_id = $1`, skus[i].Name).Scan(&skus[i].FencesFell); err != nil {
				return err
			}
		}
		return nil
	})
}

// open opens connections to the processes, whose URLs change, for callers with some patience.
func (s *stack) open(patience time.Duration) (*load.Services, error) {
	now := func(process int) string { return *s.processes[process].url.Load() }
	c := load.Config{URL: now, Connections: callers, Patience: patience, Promise: history.Promise{AnswerWithin: answerBound}}
	for i := range s.processes {
		c.URLs = append(c.URLs, now(i))
	}
	return load.Open(c)
}

func (s *stack) openProcess(ctx context.Context, c Config) (*process, error) {
	database, postgres, err := faultproxy.StartBefore(ctx, s.DatabaseURL)
	if err != nil {
		return nil, err
	}
	s.OnClose(postgres.Close)
	p := &process{stack: s, program: c.Process, postgres: postgres}
	p.job = target.Job{DatabaseURL: database, RedisURL: s.redis.url, Lock: c.Lock}
	if c.Redis == OneRedis {
		if p.redis, err = faultproxy.Start(ctx, s.redis.nodes[0].Addr()); err != nil {
			return nil, err
		}
		s.OnClose(p.redis.Close)
		p.job.RedisURL = "redis://" + p.redis.Addr() + "/0"
	}
	s.OnClose(func() error { return p.kill(ctx) })
	return p, p.start(ctx)
}

// start starts a process that does not run, and tries again while its servers are away.
func (p *process) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		running, err := p.program.Start(ctx, p.job)
		if err == nil {
			p.worker = running
			p.url.Store(&running.URL)
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		load.Sleep(ctx, 100*time.Millisecond)
	}
}

// kill ends a process as a crash does, if it runs.
func (p *process) kill(context.Context) error {
	if p.worker == nil {
		return nil
	}
	defer func() { p.worker = nil }()
	return p.worker.Kill()
}

// terminate ends a process as an operator does.
func (p *process) terminate(context.Context) error {
	defer func() { p.worker = nil }()
	return p.worker.End()
}

// ready waits until all processes serve callers who are not in a hurry.
func (s *stack) ready(ctx context.Context, services *load.Services) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if err := soon(ctx, s.redis.settled); err != nil {
		return err
	}
	for i := range s.processes {
		// A process needs the database to answer that there is no such SKU.
		o := history.Operation{Kind: history.Look, Lines: []history.Line{{SKU: "none"}}}
		if _, err := services.Ask(ctx, &o, load.Persistence{First: i, Next: func(int) int { return i }, For: startWithin}); err != nil {
			return fmt.Errorf("process %d is not ready: %w", i, err)
		}
	}
	return nil
}

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
