package heartbeat_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"inventory/internal/locking/internal/heartbeat"
	"inventory/internal/locking/internal/keys"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
	"inventory/internal/servertest"
)

func TestMain(m *testing.M) {
	logging.Disable() // the client logs every fault that we make
	goleak.VerifyTestMain(m)
}

// start starts a Redis of the test's own.
func start(t *testing.T) (*servertest.Redis, *server.Server) {
	t.Helper()
	own, err := servertest.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: own.Addr(), DisableIdentity: true, MaxRetries: -1})
	s := server.New(client)
	t.Cleanup(func() {
		_ = own.Resume() // if the test has failed meanwhile
		s.Wait()
		_ = client.Close()
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	return own, s
}

// beatOf is the call of a heartbeat of some tickets that wait for a lock.
func beatOf(name string, tickets ...any) scripts.Call {
	where, to := keys.BucketOf("", name), keys.TailOf("", name)
	call := scripts.FifoHeartbeat.NewCall(8, 4+len(tickets)).With(where.Clock())
	for _, part := range []string{"", keys.Readers, keys.Counts, keys.Writing, keys.Reading, keys.Heartbeats, keys.Pulse} {
		call = call.With(where.Key(keys.Fair+part, to))
	}
	return call.With("P", policy.WaiterLifeMS, policy.PollMS, policy.SoonMS).With(tickets...)
}

// Waiters that the server does not know any more learn that they must ask, for all locks together. Then the next beat
// comes soon.
func TestBeat(t *testing.T) {
	t.Parallel()
	_, s := start(t)
	var looked []string
	calls := []scripts.Call{beatOf("a", "1", "2"), beatOf("b", "3")}
	hb := heartbeat.New(s, func() []scripts.Call { return calls }, func(waiters []string) { looked = append(looked, waiters...) })
	waiting, next := hb.Beat()
	if slices.Sort(looked); !slices.Equal(looked, []string{"1", "2", "3"}) || !waiting || next != policy.Soon {
		t.Errorf("looked: %v, waiting %t, next after %s", looked, waiting, next)
	}
	calls, looked = nil, nil
	if waiting, next := hb.Beat(); waiting || next != policy.Poll || looked != nil {
		t.Errorf("nobody waits: %t, next after %s, %v", waiting, next, looked)
	}
}

// Without an answer it soon beats again, and spends one time-out on the server, however many wait.
func TestServerStandsStill(t *testing.T) {
	t.Parallel()
	own, s := start(t)
	var calls []scripts.Call
	for i := range 3 * server.Batch {
		calls = append(calls, beatOf(fmt.Sprint(i), "1"))
	}
	hb := heartbeat.New(s, func() []scripts.Call { return calls }, func(waiters []string) { t.Errorf("%v look", waiters) })
	if err := own.Pause(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	waiting, next := hb.Beat()
	if took := time.Since(begin); took > policy.Heartbeat+policy.Heartbeat/2 || !waiting || next != policy.Soon {
		t.Errorf("after %s: waiting %t, next after %s", took, waiting, next)
	}
	if err := own.Resume(); err != nil {
		t.Fatal(err)
	}
}

// It rests while there are no waiters, and beats again when one comes.
func TestRest(t *testing.T) {
	t.Parallel()
	_, s := start(t)
	var beats atomic.Int32
	var somebody atomic.Bool
	looked := make(chan []string, 100)
	hb := heartbeat.New(s, func() []scripts.Call {
		beats.Add(1)
		if somebody.Load() {
			return []scripts.Call{beatOf("a", "1")}
		}
		return nil
	}, func(waiters []string) { looked <- waiters })
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		hb.Run(stop)
	}()
	time.Sleep(5 * policy.Poll / 2) // the test needs this time to pass
	if n := beats.Load(); n != 1 {
		t.Errorf("%d beats while nobody waited", n)
	}
	somebody.Store(true)
	hb.Wake()
	select {
	case <-looked:
	case <-time.After(20 * time.Second):
		t.Error("no beat after somebody came")
	}
	close(stop)
	<-ended
}
