package app

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
)

// Nobody outside the process can reach the embedded Redis. Inside, it carries the same load as a Redis with a port.
func TestEmbeddedRedisHasNoPort(t *testing.T) {
	t.Parallel()
	r, err := connectRedis(redisAddress{}, Embedded)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}()
	if at := r.embedded.server.Server().Addr(); at != nil {
		t.Errorf("it listens on %v", at)
	}
	value := strings.Repeat("x", 8<<10)
	pipe := r.client.(*redis.Client).WithTimeout(busytest.Patience).Pipeline() // a deadlock never answers
	for range 1000 {                                                           // whole scripts for the locks of a SKU are as long, and their answers as short
		pipe.Set(t.Context(), "key", value, 0)
	}
	answers, err := pipe.Exec(t.Context())
	if err != nil || len(answers) != 1000 {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
}
