//go:build environments

package main

import (
	"testing"

	"inventory/internal/servertest"
)

// TestBehindARedisThatDeniesMuch sells with a Redis that some setting keeps from what the service asks of it.
func TestBehindARedisThatDeniesMuch(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		name, says string
		arguments  []string
	}{
		{"SUBSCRIBE", `"locks":"ok"`, []string{"--rename-command", "SUBSCRIBE", ""}},
		{"PUBLISH", `"locks":"ok"`, []string{"--rename-command", "PUBLISH", ""}},
		{"EVALSHA", `"locks":"ok"`, []string{"--rename-command", "EVALSHA", ""}},
		{"all scripts", `"locks":"failing"`, []string{"--rename-command", "EVALSHA", "", "--rename-command", "EVAL", ""}},
		{"room", `"locks":"failing"`, []string{"--maxmemory", "1b"}},
		{"to keep locks", `"locks":"ok"`, []string{"--maxmemory-policy", "allkeys-lru", "--maxmemory", "64mb"}},
	} {
		t.Run(of.name, func(t *testing.T) {
			redis, err := servertest.StartRedis(t.Context(), of.arguments...)
			if err != nil {
				t.Fatal(err)
			}
			stopLater(t, redis.Stop)
			s := openSite(t, database(t), nil, "--redis-url", redis.URL())
			s.works(1200, nil, `"redis":"ok"`, of.says)
		})
	}
}
