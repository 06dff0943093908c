package app

import (
	"strings"
	"testing"
)

// TestRedisAddresses: the servers that URLs name, and where their users, passwords and databases go.
func TestRedisAddresses(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://a:1/2":                              "a:1",
		"redis+sentinel://a:1,b:2,c:3/main":          "a:1,b:2,c:3/main",
		"redis+sentinel://a,b:2/main":                "a:6379,b:2/main",
		"rediss+sentinel://u:p@[::1]:1,b:2/main":     "[::1]:1,b:2/main",
		"redis+cluster://a:1,b:2":                    "a:1,b:2",
		"rediss+cluster://u:p%2F%40,%2C@a:1,b:2,":    "a:1,b:2",
		"redis+cluster://a:1?min_idle_conns=3":       "a:1",
		"redis+sentinel://a:1/main?db=3&pool_size=1": "a:1/main",
	} {
		all, err := redisAddresses(Config{RedisURL: url, Lock: LockReentrant})
		if err != nil || len(all) != 1 || all[0].String() != want {
			t.Errorf("%s: %v, %v; want %s", url, all, err, want)
		}
	}
	a, err := redisAddressOf("rediss+sentinel://u:p%2F%40@a:1,b:2/main?db=3&sentinel_username=su&sentinel_password=sp&min_idle_conns=7")
	if o := a.options; err != nil || o.Username != "u" || o.Password != "p/@" || o.SentinelUsername != "su" || o.SentinelPassword != "sp" ||
		o.DB != 3 || o.MinIdleConns != 7 || o.TLSConfig == nil || o.TLSConfig.ServerName != "" {
		t.Errorf("Sentinels: %+v, %v", o, err)
	}
	a, err = redisAddressOf("rediss+cluster://u:p@a:1,b:2?min_idle_conns=7")
	if o := a.options; err != nil || o.Username != "u" || o.Password != "p" || o.MinIdleConns != 7 || o.TLSConfig == nil || o.TLSConfig.ServerName != "" {
		t.Errorf("a cluster: %+v, %v", o, err)
	}
}

// TestWrongRedisAddresses: an error says what is wrong, and quotes no part of a password.
func TestWrongRedisAddresses(t *testing.T) {
	t.Parallel()
	const canary = "canary"
	for _, c := range []struct{ lock, url, want string }{
		{LockReentrant, "redis+sentinel://a:1,b:2", "/MASTER"},
		{LockReentrant, "redis+sentinel://a:1/main/2", "/MASTER"},
		{LockReentrant, "redis+sentinel://a:1/main?db=x" + canary, "db=DB"},
		{LockReentrant, "redis+sentinel://a:1,b/main", "HOST:PORT"},
		{LockReentrant, "redis+cluster://a:1/2", "redis+cluster://HOST:PORT,HOST:PORT"},
		{LockReentrant, "redis+cluster://a:1?db=2", "redis+cluster://HOST:PORT,HOST:PORT"},
		{LockReentrant, "redis+cluster://a:1?none=1", "parameters"},
		{LockReentrant, "redis+sentinel://a:1/main?sentinel_password=p&" + canary + "=", "%26 for &"},
		{LockReentrant, "redis://u:p@a?" + canary + "=1@host:1", "such as %2F for /"},
		{LockReentrant, "redis://a:1?tls_ca=/ca.pem", "need rediss://"},
		{LockReentrant, "rediss+cluster://a:1?tls_ca=", "parameters"},
		{LockReentrant, "unix:///redis.sock?tls_ca=/1", "need rediss://"},
		{LockReentrant, "http+cluster://a:1", "redis://"},
		{LockReentrant, "redis+cluster://u:" + canary + "/x@a:1,b:2", "such as %2F for /"},
		{LockReentrant, "redis+sentinel://u:" + canary + "#@a:1,b:2/main", "such as %2F for /"},
		{LockReentrant, "redis://a,redis://b", "several are for lock redlock"},
		{LockReentrant, "redis://a:1/x", "HOST:PORT/DB"},
		{LockReentrant, "http://" + canary, "redis://"},
		{LockReentrant, canary, "redis://"},
		{LockReentrant, "redis://a:1?pool_size=-1", "parameters"},
		{LockReentrant, "redis+cluster://a:1?pipeline_pool_size=3000000000", "parameters"},
		{LockRed, "redis+cluster://a:1,b:2,c:3", "do not copy each other"},
		{LockRed, "redis://a,redis+sentinel://b/main,redis://c", "do not copy each other"},
		{LockRed, "redis://a,redis://b,redis://a", "named twice"},
	} {
		_, err := redisAddresses(Config{RedisURL: c.url, Lock: c.lock})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s, lock %s: %v; want %q", c.url, c.lock, err, c.want)
		}
	}
}
