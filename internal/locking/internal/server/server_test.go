package server_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"inventory/internal/busytest"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
	"inventory/internal/servertest"
)

func TestMain(m *testing.M) {
	logging.Disable() // the client logs every fault that we make
	busytest.Main(m)
}

// start starts a Redis of the test's own. It returns a server for each kind of client: one that keeps deadlines, and
// one that does not. A client waits that long for an answer.
func start(t *testing.T, patience time.Duration) (*servertest.Redis, map[string]*server.Server) {
	t.Helper()
	own, err := servertest.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	servers := make(map[string]*server.Server)
	for kind, keeps := range map[string]bool{"keeps deadlines": true, "keeps none": false} {
		rdb := redis.NewClient(&redis.Options{
			Addr: own.Addr(), DisableIdentity: true, ContextTimeoutEnabled: keeps, ReadTimeout: patience, PoolTimeout: busytest.Patience, MaxRetries: -1,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		s := server.New(rdb)
		t.Cleanup(func() {
			s.Wait()
			_ = rdb.Close()
		})
		servers[kind] = s
	}
	return own, servers
}

func soon() time.Time { return time.Now().Add(busytest.Patience) }

// inspect is a call that reads a lock.
func inspect(name string) scripts.Call {
	return scripts.Inspect.NewCall(2, 0).With(name, name+" queue")
}

// acquire is a call that takes a lock.
func acquire(name string, attempt *scripts.Attempt) scripts.Call {
	return scripts.Acquire.NewCall(4, 7).With(name+" clock", name+" clock", name, name+" queue", attempt, 10_000, "P:a",
		scripts.QueueIgnore, 0, 1, "")
}

// A script that the server does not know is sent in full. It does not count as a second copy of the attempt.
func TestUnknownScript(t *testing.T) {
	t.Parallel()
	_, servers := start(t, busytest.Patience)
	for kind, s := range servers {
		if err := s.Client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time by its hash
			attempt := &scripts.Attempt{Number: 1}
			answer, err := s.Run(t.Context(), soon(), nil, acquire(kind, attempt), attempt)
			if err != nil || !attempt.Sent() || attempt.Resent() {
				t.Errorf("%s: %v, %v, sent %t, again %t", kind, answer, err, attempt.Sent(), attempt.Resent())
			}
		}
	}
}

// A call to a server that stands still ends at an instant, with the caller's context, or when quit is closed.
func TestRunIsBounded(t *testing.T) {
	t.Parallel()
	own, servers := start(t, time.Second)
	if err := own.Pause(); err != nil {
		t.Fatal(err)
	}
	for kind, s := range servers {
		ended, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer end()
		quit := make(chan struct{})
		close(quit)
		for why, run := range map[string]func() (any, error){
			"instant": func() (any, error) {
				return s.Run(t.Context(), time.Now().Add(50*time.Millisecond), nil, inspect("a"), &scripts.Attempt{})
			},
			"context": func() (any, error) { return s.Run(ended, soon(), nil, inspect("a"), &scripts.Attempt{}) },
			"quit":    func() (any, error) { return s.Run(t.Context(), soon(), quit, inspect("a"), &scripts.Attempt{}) },
		} {
			// A client that keeps deadlines is called in the same goroutine: it notices quit only when its own time-out
			// has passed.
			if answer, err := run(); !errors.Is(err, scripts.ErrNoAnswer) {
				t.Errorf("%s, %s: %v, %v", kind, why, answer, err)
			}
		}
	}
	if err := own.Resume(); err != nil {
		t.Fatal(err)
	}
}

// A command that ends by its deadline has no answer, whichever notices the deadline first: the command or its caller.
func TestTimeOutIsNoAnswer(t *testing.T) {
	t.Parallel()
	_, servers := start(t, busytest.Patience)
	for _, s := range servers {
		for range 2000 {
			_, err := server.Bounded(t.Context(), s, time.Now().Add(20*time.Microsecond), nil, func(ctx context.Context) (any, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})
			if !errors.Is(err, scripts.ErrNoAnswer) {
				t.Fatal(err)
			}
		}
	}
}

// Many calls go in one round trip, also when the server does not know their scripts. Each has an answer of its own.
func TestRunAll(t *testing.T) {
	t.Parallel()
	_, servers := start(t, busytest.Patience)
	for kind, s := range servers {
		if err := s.Client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if err := s.Client.Set(t.Context(), "no lock", "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
		calls := []scripts.Call{inspect("a"), inspect("no lock"), inspect("b")}
		answers, answered := s.Line(s.NodeOf("")).RunAll(soon(), calls)
		if !answered {
			t.Errorf("%s: no answer", kind)
		}
		for i, fails := range []bool{false, true, false} {
			if err := answers[i].Err(); (err != nil) != fails || !server.IsAnswer(err) {
				t.Errorf("%s: the answer to call %d is %v", kind, i, err)
			}
		}
	}
}

// Without an answer, all calls fail, and none of them for ever.
func TestRunAllWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	own, servers := start(t, time.Second)
	if err := own.Pause(); err != nil {
		t.Fatal(err)
	}
	for kind, s := range servers {
		answers, answered := s.Line(s.NodeOf("")).RunAll(time.Now().Add(50*time.Millisecond), []scripts.Call{inspect("a"), inspect("b")})
		for _, answer := range answers {
			if answered || server.IsAnswer(answer.Err()) {
				t.Errorf("%s: %v is an answer", kind, answer.Err())
			}
		}
	}
	if err := own.Resume(); err != nil {
		t.Fatal(err)
	}
}

// Calls that grant something new wait for replicas, if that is configured. Other calls do not.
func TestReplicasThatAreNotThere(t *testing.T) {
	t.Parallel()
	_, servers := start(t, busytest.Patience)
	for kind, s := range servers {
		if err := s.WaitReplicas(1, 10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		run := func(call scripts.Call, attempt *scripts.Attempt) error {
			call.Replicated = 1
			_, err := s.Run(t.Context(), soon(), nil, call, attempt)
			return err
		}
		attempt := &scripts.Attempt{Number: 1}
		if err := run(acquire(kind, attempt), attempt); !errors.Is(err, server.ErrNotReplicated) {
			t.Errorf("%s: a grant: got %v, want server.ErrNotReplicated", kind, err)
		}
		late := scripts.Level.NewCall(2, 2).With(kind+" clock", kind+" other", "P:b", 7)
		if err := run(late, &scripts.Attempt{Number: 2}); err != nil {
			t.Errorf("%s: no grant: %v", kind, err)
		}
	}
}

// A wait for replicas cannot be longer than the client's wait for an answer, and a client of many servers cannot wait
// for them.
func TestWaitReplicasIsPossible(t *testing.T) {
	t.Parallel()
	one := redis.NewClient(&redis.Options{Addr: "nowhere:1", ReadTimeout: time.Second})
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "nowhere:1"}})
	t.Cleanup(func() { _, _ = one.Close(), ring.Close() })
	for _, c := range []struct {
		client  redis.UniversalClient
		count   int
		timeout time.Duration
		fine    bool
	}{
		{one, 1, time.Second / 2, true},
		{one, 0, time.Second / 2, false},
		{one, 1, time.Second, false},
		{one, 1, time.Microsecond, false},
		{ring, 1, time.Second / 2, false},
	} {
		if err := server.New(c.client).WaitReplicas(c.count, c.timeout); (err == nil) != c.fine {
			t.Errorf("%T, %d replicas within %s: %v", c.client, c.count, c.timeout, err)
		}
	}
}

// A server that evicts keys to free memory is found.
func TestCheckMemory(t *testing.T) {
	t.Parallel()
	_, servers := start(t, busytest.Patience)
	for kind, s := range servers {
		for _, c := range []struct {
			limit, policy string
			evicts        bool
		}{{"0", "allkeys-lru", false}, {"100mb", "noeviction", false}, {"100mb", "allkeys-lru", true}, {"100mb", "volatile-ttl", true}} {
			for name, value := range map[string]string{"maxmemory": c.limit, "maxmemory-policy": c.policy} {
				if err := s.Client.ConfigSet(t.Context(), name, value).Err(); err != nil {
					t.Fatal(err)
				}
			}
			err := s.CheckMemory(t.Context(), soon(), nil)
			if errors.Is(err, server.ErrEviction) != c.evicts || err != nil && !c.evicts {
				t.Errorf("%s, %+v: %v", kind, c, err)
			}
		}
	}
}

// A refusal is an answer. A moving slot is not: another node may answer the same request.
func TestAnswers(t *testing.T) {
	t.Parallel()
	_, servers := start(t, busytest.Patience)
	s := servers["keeps deadlines"]
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"nowhere:1"}})
	t.Cleanup(func() { _ = cluster.Close() })
	several := server.New(cluster)
	refused := func(text string) error {
		return s.Client.Eval(t.Context(), "return redis.error_reply(ARGV[1])", nil, text).Err()
	}
	for _, c := range []struct {
		err            error
		answer, moving bool
	}{
		{nil, true, false},
		{refused("ERR no"), true, false},
		{refused("MOVED 1 somewhere:1"), true, true},
		{refused("ASK 1 somewhere:1"), true, true},
		{refused("TRYAGAIN later"), true, true},
		{scripts.ErrNoAnswer, false, false},
		{fmt.Errorf("asked: %w", context.DeadlineExceeded), false, false},
	} {
		if server.IsAnswer(c.err) != c.answer || several.IsMoving(c.err) != c.moving || s.IsMoving(c.err) {
			t.Errorf("%v: answer %t, moving %t, on one server %t", c.err, server.IsAnswer(c.err), several.IsMoving(c.err), s.IsMoving(c.err))
		}
	}
}

// The address of a server distinguishes it from others, and is the same for all clients.
func TestAddress(t *testing.T) {
	t.Parallel()
	one := redis.NewClient(&redis.Options{Addr: "a:1", DB: 3})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"b:2", "a:1"}})
	sentinel := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"c:3"}}) // it shows none
	t.Cleanup(func() { _, _, _ = one.Close(), cluster.Close(), sentinel.Close() })
	for want, rdb := range map[string]redis.UniversalClient{"a:1/3": one, "a:1,b:2": cluster, "": sentinel} {
		if got := server.New(rdb).Address(); got != want {
			t.Errorf("the address is %s, want %s", got, want)
		}
	}
}

// A client of a cluster is recognised inside another client too, and so is a Ring, which receives no messages.
func TestClientInsideOfAnother(t *testing.T) {
	t.Parallel()
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"b:2", "a:1"}})
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "nowhere:1"}})
	t.Cleanup(func() { _, _ = cluster.Close(), ring.Close() })
	outer := server.New(struct{ *redis.ClusterClient }{cluster})
	if got := outer.Address(); got != "a:1,b:2" || !outer.CanListen {
		t.Errorf("a cluster: the address is %q, it listens: %t", got, outer.CanListen)
	}
	for _, rdb := range []redis.UniversalClient{ring, struct{ *redis.Ring }{ring}, struct{ redis.UniversalClient }{ring}} {
		if server.New(rdb).CanListen {
			t.Errorf("%T listens", rdb)
		}
	}
}

// Calls that are repeated in full need no second connection.
func TestRunAllOverOneConnection(t *testing.T) {
	t.Parallel()
	own, servers := start(t, busytest.Patience)
	admin := servers["keeps none"].Client
	if err := admin.Do(t.Context(), "acl", "setuser", "barred", "on", "nopass", "~*", "+@all", "-evalsha").Err(); err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{
		Addr: own.Addr(), Username: "barred", Password: "any", DisableIdentity: true, ReadTimeout: busytest.Patience, PoolSize: 1,
	})
	s := server.New(rdb)
	t.Cleanup(func() {
		s.Wait()
		_ = rdb.Close()
	})
	answers, _ := s.Line(s.NodeOf("")).RunAll(soon(), []scripts.Call{inspect("a"), inspect("b")})
	for i, answer := range answers {
		if answer.Err() != nil {
			t.Errorf("the answer to call %d is %v", i, answer.Err())
		}
	}
}
