//go:build unix

package servertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"inventory/deploy/compose"
)

const (
	// sentinelCount is how many sentinels watch.
	sentinelCount = 3
	// sentinelDown is how long the first sentinel waits for a master that does not answer, in milliseconds, with the short
	// times of StartSentinel; each further one waits that much longer. So they are not all candidates at once: after a
	// split vote the next election is seconds away. One is enough to start an election, and two must vote.
	sentinelDown = 500
	// sentinelMaster is the sentinels' name of the master.
	sentinelMaster = "inventory"
)

// sentinelPace makes sentinels faster than is useful in production. A pause of the whole machine stops their work for a
// second instead of thirty. A sentinel promotes a replica only if it has answered INFO within three INFO periods, or
// within five pings when the master is gone; it is then queried every second.
var sentinelPace = []any{
	"SENTINEL", "DEBUG", "INFO-PERIOD", 400, "PING-PERIOD", 300, "ASK-PERIOD", 100, "PUBLISH-PERIOD", 500,
	"TILT-PERIOD", 1000,
}

// Sentinel is a master, its replicas, and three sentinels that promote a replica when the master is gone for half a
// second. Their settings are those of docker-compose, except for these short times.
type Sentinel struct{ nodes, sentinels fleet }

// StartSentinel starts a master with that many replicas, and their sentinels.
func StartSentinel(ctx context.Context, replicas int) (*Sentinel, error) {
	return TLS{}.StartSentinel(ctx, replicas)
}

// StartSentinel is [StartSentinel] with TLS.
func (t TLS) StartSentinel(ctx context.Context, replicas int) (*Sentinel, error) {
	s, err := startSentinel(ctx, replicas, t)
	if err != nil {
		return nil, err
	}
	for i, sentinel := range s.sentinels {
		_, paced := sentinel.do(ctx, sentinelPace...)
		_, set := sentinel.do(ctx, "SENTINEL", "SET", sentinelMaster,
			"quorum", 1, "down-after-milliseconds", (i+1)*sentinelDown, "failover-timeout", 3000)
		err = errors.Join(err, paced, set)
	}
	if err == nil {
		err = s.Settled(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// startSentinel starts the servers as docker-compose does. They have not settled when it returns.
func startSentinel(ctx context.Context, replicas int, t TLS) (*Sentinel, error) {
	master, err := openRedis(ctx, "Redis", compose.Redis, t, func(*Redis) []string { return nil })
	if err != nil {
		return nil, err
	}
	s := &Sentinel{nodes: fleet{master}}
	followers, err := startFleet(replicas, func(int) (*Redis, error) { return StartReplica(ctx, master) })
	if err == nil {
		s.nodes = append(s.nodes, followers...)
		settings := strings.Replace(compose.Sentinel, compose.FirstMaster, "127.0.0.1 "+strconv.Itoa(master.port), 1)
		s.sentinels, err = startFleet(sentinelCount, func(int) (*Redis, error) {
			return openRedis(ctx, "Redis Sentinel", settings, t, func(*Redis) []string { return []string{"--sentinel"} })
		})
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// MasterName returns the sentinels' name of the master.
func (s *Sentinel) MasterName() string { return sentinelMaster }

// Addrs lists the addresses of the sentinels.
func (s *Sentinel) Addrs() []string { return s.sentinels.addresses() }

// URL returns the URL of the master for the service.
func (s *Sentinel) URL() string {
	return s.nodes[0].tls.scheme() + "+sentinel://" + strings.Join(s.Addrs(), ",") + "/" + s.MasterName()
}

// Nodes lists the master and the replicas, in no particular order.
func (s *Sentinel) Nodes() []*Redis { return slices.Clone(s.nodes) }

// Sentinels lists the sentinels.
func (s *Sentinel) Sentinels() []*Redis { return slices.Clone(s.sentinels) }

// Master returns the server that a running sentinel takes for the master.
func (s *Sentinel) Master(ctx context.Context) (*Redis, error) {
	err := errNotRunning
	for _, sentinel := range s.sentinels.alive() {
		var master *Redis
		if master, err = s.masterOf(ctx, sentinel); err == nil {
			return master, nil
		}
	}
	return nil, err
}

func (s *Sentinel) masterOf(ctx context.Context, sentinel *Redis) (*Redis, error) {
	answer, err := ask(ctx, sentinel, func(ctx context.Context, r *redis.Client) *redis.Cmd {
		return r.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinelMaster)
	})
	if err != nil {
		return nil, err
	}
	address, err := answer.StringSlice()
	if err != nil || len(address) != 2 {
		return nil, fmt.Errorf("the sentinel at %s answers %v", sentinel.Addr(), answer.Val())
	}
	return s.nodes.at(net.JoinHostPort(address[0], address[1]))
}

// Failover promotes a replica while the master runs, and returns when all nodes follow it.
func (s *Sentinel) Failover(ctx context.Context) error {
	old, err := s.Master(ctx)
	if err != nil {
		return err
	}
	err = await(ctx, "the sentinels to promote a replica", func(ctx context.Context) error {
		state, err := s.state(ctx, s.sentinels[0])
		if err != nil {
			return err
		}
		if net.JoinHostPort(state["ip"], state["port"]) != old.Addr() {
			return nil
		}
		// Sentinels refuse while another failover is being finished, and give up on a busy machine. Then they are asked again.
		if !strings.Contains(state["flags"], "failover_in_progress") {
			_, err = s.sentinels[0].do(ctx, "SENTINEL", "FAILOVER", sentinelMaster)
		}
		return errors.Join(fmt.Errorf("%s is still the master", old.Addr()), err)
	})
	if err != nil {
		return err
	}
	return s.Settled(ctx)
}

// state returns what a sentinel tells about the master.
func (s *Sentinel) state(ctx context.Context, sentinel *Redis) (map[string]string, error) {
	answer, err := ask(ctx, sentinel, func(ctx context.Context, r *redis.Client) *redis.MapStringStringCmd {
		command := redis.NewMapStringStringCmd(ctx, "SENTINEL", "MASTER", sentinelMaster)
		_ = r.Process(ctx, command) // the command has the error
		return command
	})
	if err != nil {
		return nil, err
	}
	return answer.Result()
}

// Settled waits until all running sentinels see each other, the same running
// master and its replicas, and all other running nodes have caught up with it.
func (s *Sentinel) Settled(ctx context.Context) error {
	return await(ctx, "the sentinels to agree", func(ctx context.Context) error {
		master, err := s.Master(ctx)
		if err != nil {
			return err
		}
		for _, sentinel := range s.sentinels.alive() {
			if err := s.agrees(ctx, sentinel, master); err != nil {
				return err
			}
		}
		for _, node := range s.nodes.alive() {
			if node == master {
				continue
			}
			if err := node.follows(ctx, master); err != nil {
				return err
			}
		}
		return nil
	})
}

// agrees returns an error unless a sentinel sees the given master, ready for a
// failover.
func (s *Sentinel) agrees(ctx context.Context, sentinel, master *Redis) error {
	if theirs, err := s.masterOf(ctx, sentinel); err != nil || theirs != master {
		return errors.Join(fmt.Errorf("the sentinel at %s sees another master", sentinel.Addr()), err)
	}
	if !master.running() {
		return fmt.Errorf("the master at %s: %w", master.Addr(), errNotRunning)
	}
	info, err := sentinel.info(ctx, "sentinel")
	if err != nil {
		return err
	}
	want := fmt.Sprintf("name=%s,status=ok,address=%s,slaves=%d,sentinels=%d",
		sentinelMaster, master.Addr(), len(s.nodes)-1, sentinelCount)
	if info["master0"] != want {
		return fmt.Errorf("the sentinel at %s sees %s, not %s", sentinel.Addr(), info["master0"], want)
	}
	return s.seesReplicas(ctx, sentinel, master)
}

// seesReplicas returns an error unless a sentinel takes all other running nodes for replicas that work.
func (s *Sentinel) seesReplicas(ctx context.Context, sentinel, master *Redis) error {
	answer, err := ask(ctx, sentinel, func(ctx context.Context, r *redis.Client) *redis.MapStringStringSliceCmd {
		command := redis.NewMapStringStringSliceCmd(ctx, "SENTINEL", "REPLICAS", sentinelMaster)
		_ = r.Process(ctx, command) // the command has the error
		return command
	})
	if err != nil {
		return err
	}
	for _, node := range s.nodes.alive() {
		sees := func(r map[string]string) bool {
			return r["name"] == node.Addr() && r["flags"] == "slave" && r["role-reported"] == "slave" && r["master-link-status"] == "ok"
		}
		if node != master && !slices.ContainsFunc(answer.Val(), sees) {
			return fmt.Errorf("the sentinel at %s does not see the replica at %s", sentinel.Addr(), node.Addr())
		}
	}
	return nil
}

// Stop ends all servers. Later calls do nothing.
func (s *Sentinel) Stop() error { return errors.Join(s.sentinels.stop(), s.nodes.stop()) }
