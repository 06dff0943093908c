package keyexpiry_test

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"inventory/internal/busytest"
	"inventory/internal/keyexpiry"
)

// A script that has seen a key sees it until it ends, as on Redis; the key is gone soon after.
func TestTimeStandsStillInAScript(t *testing.T) {
	defer goleak.VerifyNone(t)
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	defer keyexpiry.Start(server)()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true, ReadTimeout: busytest.Patience})
	defer func() { _ = rdb.Close() }()

	const script = `
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
local begin, now = redis.call('TIME')
repeat
  if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
  now = redis.call('TIME')
until (now[1] - begin[1]) * 1000000 + now[2] - begin[2] > ARGV[1] * 5000
return 1`
	seen, err := rdb.Eval(t.Context(), script, []string{"key"}, keyexpiry.Tick.Milliseconds()).Int()
	if err != nil || seen != 1 {
		t.Fatalf("the key has expired in the script: %d, %v", seen, err)
	}
	busytest.Soon(t, "the key expires", func() bool { return rdb.Exists(t.Context(), "key").Val() == 0 })
}
