package gauges

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/servertest"
)

func startRedis(t *testing.T) (*servertest.Redis, *redis.Client) {
	t.Helper()
	server, err := servertest.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: 1})
	t.Cleanup(func() { _ = client.Close() })
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	return server, client
}

// TestRedisCommandsAreCountedExactly counts none of the sampler's own, however often it reads.
func TestRedisCommandsAreCountedExactly(t *testing.T) {
	t.Parallel()
	server, client := startRedis(t)
	sampler := Start(t.Context(), Sources{RedisURL: server.URL()}, time.Millisecond)
	const sets, gets = 1500, 700
	for i := range sets {
		if err := client.Set(t.Context(), "key", i, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if i < gets {
			if err := client.Get(t.Context(), "key").Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := sampler.Stop()
	if n := got.Grown(redisCommands); n != sets+gets {
		t.Errorf("%v commands instead of %d, over %d readings", n, sets+gets, len(got.All))
	}
	if cpu := got.CPU(Redis); !(cpu > 0) || cpu > got.Took().Seconds()*4 {
		t.Errorf("%v s of processor time in %v", cpu, got.Took())
	}
	if len(got.All) < 3 || len(got.Notes) > 0 {
		t.Errorf("%d readings, notes %q", len(got.All), got.Notes)
	}
	if last := got.All[len(got.All)-1]; last.values[redisClients] != 1 || last.values[redisMemory] == 0 {
		t.Errorf("%+v", last)
	}
}

// TestAServerThatDiesIsSaidOnce keeps what was read before.
func TestAServerThatDiesIsSaidOnce(t *testing.T) {
	t.Parallel()
	server, client := startRedis(t)
	sampler := Start(t.Context(), Sources{RedisURL: server.URL(), GeneratorSelf: true}, time.Millisecond)
	for range 50 {
		if err := client.Incr(t.Context(), "key").Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	got := sampler.Stop()
	if len(got.Notes) != 1 {
		t.Errorf("notes %q", got.Notes)
	}
	if last := got.All[len(got.All)-1]; last.values[redisCommands] != 0 || !(got.CPU(Generator) >= 0) {
		t.Errorf("the last reading is %+v", last)
	}
}

func TestAServerThatBeganAgainIsCountedOn(t *testing.T) {
	t.Parallel()
	r := Readings{}
	for i, n := range []float64{10, 25, 3, 8} {
		r.All = append(r.All, Reading{After: time.Duration(i) * time.Second, values: map[Quantity]float64{redisCommands: n}})
	}
	if got := r.Grown(redisCommands); got != 15+3+5 {
		t.Errorf("%v commands", got)
	}
}
