// Package server brings calls of scripts to a Redis server, to several at once in one round trip, and to the nodes of
// a cluster.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/scripts"
)

// A Server is where the locks are: one server, or the nodes of a cluster.
type Server struct {
	Client redis.UniversalClient

	// The client lets the deadline of a context interrupt a read from the server, so commands need no goroutine of their
	// own. By default go-redis does not, and the client must not be changed here. The client of a cluster pauses and tries
	// other nodes without a check of the deadline.
	inPlace bool

	// CanListen says that the client receives what scripts publish. A Ring does not: it publishes on the lock's shard, and listens
	// on any one of them.
	CanListen bool

	textOnly atomic.Bool  // EVALSHA is barred
	prompt   atomic.Bool  // the last answer came at once, to a client that keeps deadlines
	doubted  atomic.Int64 // when a command last got no answer, in ns
	replicas replicas
	only     single         // the client, if it is one of one server
	running  sync.WaitGroup // commands under way
	outcomes sync.Pool      // channels for the outcomes of commands, to allocate less
}

// New returns the server of a client.
func New(rdb redis.UniversalClient) *Server {
	one, ok := rdb.(*redis.Client)
	s := &Server{
		Client: rdb, inPlace: ok && one.Options().ContextTimeoutEnabled, CanListen: canListen(rdb),
	}
	if one, ok := rdb.(single); ok {
		s.only = &struct{ single }{one}
	}
	return s
}

// canListen subscribes to no channel, which needs no server. A Ring panics then, also one that another client embeds. So does
// a client that returns no subscription.
func canListen(rdb redis.UniversalClient) (can bool) {
	defer func() {
		if recover() != nil {
			can = false
		}
	}()
	return rdb.Subscribe(context.Background()).Close() == nil
}

// Counts reports whether PUBLISH counts all listeners. On a cluster it counts those of one node, and any client but that of a
// single server may spread its commands over several.
func (s *Server) Counts() bool {
	_, one := s.Client.(*redis.Client)
	return one
}

// Wait waits for the commands that were left behind.
func (s *Server) Wait() { s.running.Wait() }

// bySentinel is the address of a client that gets the server's real one from Sentinel.
const bySentinel = "FailoverClient"

// Address names the server: a cluster by the addresses that the client starts with, so all processes should use the same.
// Clients that find the server by Sentinel do not show which one they mean.
func (s *Server) Address() string {
	switch rdb := s.Client.(type) {
	case *redis.Client:
		if rdb.Options().Addr == bySentinel {
			return ""
		}
		return fmt.Sprintf("%s/%d", rdb.Options().Addr, rdb.Options().DB)
	case cluster:
		seeds := slices.Clone(rdb.Options().Addrs)
		slices.Sort(seeds)
		return strings.Join(seeds, ",")
	default:
		return ""
	}
}

// Patience is how long the client waits for an answer, 0 for ever; if it shows that.
func (s *Server) Patience() (d time.Duration, known bool) {
	switch rdb := s.Client.(type) {
	case single:
		return rdb.Options().ReadTimeout, true
	case cluster:
		return rdb.Options().ReadTimeout, true
	case interface{ Options() *redis.RingOptions }:
		return rdb.Options().ReadTimeout, true
	default:
		return 0, false
	}
}

// ErrSettings means that settings of the client do not suit locks.
var ErrSettings = errors.New("locking: settings of the client do not suit locks")

// CheckSettings returns ErrSettings if the client waits longer for an answer than allowed. A command that was left behind keeps its
// connection for so long, and Wait waits for it. Where the client keeps deadlines, these end it.
func (s *Server) CheckSettings(most time.Duration) error {
	switch patience, known := s.Patience(); {
	case s.inPlace:
		return nil
	case known && patience <= 0:
		return fmt.Errorf("%w: it has no ReadTimeout, so a command without an answer keeps its connection, and Close waits for it", ErrSettings)
	case known && patience > most:
		return fmt.Errorf("%w: its ReadTimeout of %s is longer than a third of the lease, %s", ErrSettings, patience, most)
	default:
		return nil
	}
}

// noAnswer turns a time-out into ErrNoAnswer.
func noAnswer(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() || ctx.Err() != nil {
		return scripts.ErrNoAnswer
	}
	return err
}

// Bounded runs a command for no longer than ctx and until allow, on a client that may not keep deadlines. The command
// has a goroutine of its own, and is left behind when ctx ends or quit is closed. Then the client's own time-outs end
// it, its answer is dropped, and Wait waits for it.
func Bounded[T any](ctx context.Context, s *Server, until time.Time, quit <-chan struct{}, command func(context.Context) (T, error)) (answer T, err error) {
	bounded, cancel := context.WithDeadline(ctx, until) // another variable: one that changes would be allocated for the goroutine
	defer cancel()
	type outcome struct {
		answer T
		err    error
	}
	done, used := s.outcomes.Get().(chan outcome)
	if !used {
		done = make(chan outcome, 1)
	}
	s.running.Add(1)
	go func() { // running.Go would allocate another function
		defer s.running.Done()
		answer, err := command(bounded)
		done <- outcome{answer, err}
	}()
	select {
	case came := <-done:
		s.outcomes.Put(done) // it is empty, and nobody else has it
		return came.answer, noAnswer(bounded, came.err)
	case <-bounded.Done():
	case <-quit:
	}
	select {
	case came := <-done: // both at once: take the answer
		return came.answer, noAnswer(bounded, came.err)
	default:
		return answer, scripts.ErrNoAnswer
	}
}

// IsAnswer reports whether the server has answered, if only to refuse.
func IsAnswer(err error) bool {
	if err == nil {
		return true
	}
	refused := redis.Error(nil)
	return errors.As(err, &refused)
}

// passing is how refusals begin that pass without anybody's doing, or when an operator has done something.
var passing = []string{
	"BUSY ", "READONLY ", "LOADING ", "MASTERDOWN ", "CLUSTERDOWN ", "TRYAGAIN ", "OOM ", "MISCONF ", "NOREPLICAS ",
	"ERR max number of clients reached",
}

// IsPassing reports whether the server has refused for a reason that may pass: another script runs for long, a server becomes
// master, or has no memory just now. It has changed nothing, unless IsBroken says so.
func IsPassing(err error) bool {
	refused := redis.Error(nil)
	return errors.As(err, &refused) && (IsBroken(err) ||
		slices.ContainsFunc(passing, func(code string) bool { return strings.HasPrefix(refused.Error(), code) }))
}

// IsBroken reports whether a script may have ended in the middle for such a reason. Either its slot went away meanwhile, as
// services do it that have no servers of one's own; or a server before Redis 7 says so of any command in a script that it refuses.
// The script's work until then is done.
func IsBroken(err error) bool {
	refused := redis.Error(nil)
	if !errors.As(err, &refused) {
		return false
	}
	why := refused.Error()
	return strings.Contains(why, "attempted to access a non local key") || strings.HasPrefix(why, "ERR Error running script ") &&
		slices.ContainsFunc(passing, func(code string) bool { return strings.Contains(why, ": -"+code) })
}

// ErrRights means that the server refuses commands that locks need.
var ErrRights = errors.New("locking: the server refuses commands that locks need")

// CheckRights asks the server, or a node of a cluster, whether this user may run the commands that locks need.
func (s *Server) CheckRights(ctx context.Context, until time.Time, quit <-chan struct{}, call scripts.Call) error {
	answer, err := s.Run(ctx, until, quit, call, &scripts.Attempt{})
	if err != nil {
		if why := strings.ToLower(err.Error()); strings.HasPrefix(why, "noperm") || strings.Contains(why, "unknown command") {
			return fmt.Errorf("%w: %w", ErrRights, err)
		}
		return err
	}
	refused, ok := answer.([]any)
	if !ok {
		return scripts.Strange(answer)
	}
	if s.replicas.count > 0 {
		_, err := Bounded(ctx, s, until, quit, func(ctx context.Context) (any, error) { return s.Client.Do(ctx, "wait", 0, 1).Result() })
		if IsAnswer(err) && err != nil {
			refused = append(refused, "WAIT")
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("%w: %v", ErrRights, refused)
	}
	return nil
}

// ErrEviction means that the server may evict locks when its memory is full.
var ErrEviction = errors.New("locking: the server may evict locks")

// CheckMemory asks the server, or each master of a cluster, whether it may evict locks when its memory is full.
func (s *Server) CheckMemory(ctx context.Context, until time.Time, quit <-chan struct{}) error {
	_, err := Bounded(ctx, s, until, quit, func(ctx context.Context) (any, error) {
		if cluster, ok := s.Client.(cluster); ok {
			return nil, cluster.ForEachMaster(ctx, func(ctx context.Context, rdb *redis.Client) error {
				return memoryError(rdb.InfoMap(ctx, "memory"))
			})
		}
		return nil, memoryError(s.Client.InfoMap(ctx, "memory"))
	})
	return err
}

// memoryError reads a server's report about its memory.
func memoryError(info *redis.InfoCmd) error {
	limit, policy := info.Item("Memory", "maxmemory"), info.Item("Memory", "maxmemory_policy")
	switch {
	case info.Err() != nil:
		return info.Err()
	case limit == "" || policy == "":
		return errors.New("it does not show its memory limit and policy")
	case limit != "0" && policy != "noeviction":
		return fmt.Errorf("%w: over %s bytes it frees memory by %s", ErrEviction, limit, policy)
	}
	return nil
}
