package app_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/servertest"
	"inventory/internal/stock/stocktest"
)

func authority(t *testing.T) *servertest.Authority {
	t.Helper()
	a, err := servertest.NewAuthority(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issue(t *testing.T, a *servertest.Authority, names ...string) servertest.TLS {
	t.Helper()
	issued, err := a.Issue(names...)
	if err != nil {
		t.Fatal(err)
	}
	return issued
}

// withTLS adds the files to a Redis URL.
func withTLS(redisURL string, files servertest.TLS, more ...string) string {
	query := url.Values{"tls_ca": {files.CA}, "tls_cert": {files.Cert}, "tls_key": {files.Key}}
	for i := 0; i < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	return redisURL + "?" + query.Encode()
}

// TestRedisWithItsOwnAuthority: servers that show certificates of an authority of one's own, and ask clients for one, give
// locks: a server, those of a RedLock, those behind Sentinels and the Sentinels themselves, and a cluster.
func TestRedisWithItsOwnAuthority(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	own := authority(t)
	servers, client := issue(t, own), issue(t, own, "client")
	one := func(t *testing.T, servers servertest.TLS) *servertest.Redis {
		t.Helper()
		server, err := servers.StartRedis(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stopLater(t, server.Stop)
		return server
	}
	for name, startServers := range map[string]func(t *testing.T) (lock, redisURL string){
		"a server": func(t *testing.T) (lock, redisURL string) {
			t.Helper()
			return app.LockFair, withTLS(one(t, servers).URL(), client)
		},
		"a server of another name": func(t *testing.T) (lock, redisURL string) {
			t.Helper()
			named := issue(t, own, "redis.example", "127.0.0.1") // servertest calls it by its address
			return app.LockFair, withTLS(one(t, named).URL(), client, "tls_server_name", "redis.example")
		},
		"a RedLock": func(t *testing.T) (lock, redisURL string) {
			t.Helper()
			var urls []string
			for range 3 {
				urls = append(urls, withTLS(one(t, servers).URL(), client))
			}
			return app.LockRed, strings.Join(urls, ",")
		},
		"Sentinels": func(t *testing.T) (lock, redisURL string) {
			t.Helper()
			sentinel, err := servers.StartSentinel(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			stopLater(t, sentinel.Stop)
			return app.LockReentrant, withTLS(sentinel.URL(), client)
		},
		"a cluster": func(t *testing.T) (lock, redisURL string) {
			t.Helper()
			cluster, err := servers.StartCluster(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			stopLater(t, cluster.Stop)
			return app.LockReentrant, withTLS(cluster.URL(), client)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lock, redisURL := startServers(t)
			a := start(t, app.Config{Lock: lock, RedisURL: redisURL})
			ready(t, a, "ok") // it takes a lock
		})
	}
}

// TestRedisCertificatesAreReadAgain: while two processes sell, clients and then the server get certificates of another
// authority. Every order stays, and locks work with each.
func TestRedisCertificatesAreReadAgain(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	old, next := authority(t), authority(t)
	server, err := issue(t, old).StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, server.Stop)
	used := issue(t, old, "client") // a service uses these files, whatever is in them
	s := open(t, app.LockReentrant, withTLS(server.URL(), used))
	reload := func(want string) {
		t.Helper()
		for _, a := range s.apps {
			if err := a.Reload(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Fatalf("got %v, want %q", err, want)
			}
		}
	}
	both := filepath.Join(t.TempDir(), "both.pem")
	concatenate(t, both, old.CA(), next.CA())
	stop := s.sellBeside(8)

	replace(t, used.CA, both)
	clients := issue(t, next, "client")
	replace(t, used.Cert, clients.Cert) // the key is still the old one
	reload(used.Key)
	replace(t, used.Key, clients.Key)
	reload("")
	servers := issue(t, next) // the server trusts the next authority alone, and shows its certificate
	if err := server.UseTLS(t.Context(), servers); err != nil {
		t.Fatal(err)
	}
	for _, a := range s.apps {
		ready(t, a, "ok")
	}
	stop()

	replace(t, used.CA, issue(t, authority(t)).CA)
	reload("") // a good file, of an authority that the server does not have
	if err := server.UseTLS(t.Context(), servers); err != nil {
		t.Fatal(err)
	}
	ready(t, s.apps[0], "failing")
	replace(t, used.CA, next.CA())
	reload("")
	ready(t, s.apps[0], "ok")
}

// concatenate writes what is in files into one.
func concatenate(t *testing.T, to string, files ...string) {
	t.Helper()
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	if err := os.WriteFile(to, all, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestWrongFilesOfRedisAreRefused at start, each in one line that names the file; and a client without a certificate gets
// no locks.
func TestWrongFilesOfRedisAreRefused(t *testing.T) {
	t.Parallel()
	own := authority(t)
	good, other := issue(t, own), issue(t, own)
	server, err := good.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, server.Stop)
	folder := t.TempDir()
	missing := filepath.Join(folder, "missing")
	for name, c := range map[string]struct {
		files servertest.TLS
		want  string
	}{
		"no authority":               {servertest.TLS{CA: missing, Cert: good.Cert, Key: good.Key}, "open " + missing},
		"a key as the authority":     {servertest.TLS{CA: good.Key, Cert: good.Cert, Key: good.Key}, good.Key},
		"a folder as the authority":  {servertest.TLS{CA: folder, Cert: good.Cert, Key: good.Key}, folder},
		"no certificate":             {servertest.TLS{CA: good.CA, Cert: missing, Key: good.Key}, missing},
		"the key of another":         {servertest.TLS{CA: good.CA, Cert: good.Cert, Key: other.Key}, other.Key},
		"a certificate of strangers": {issue(t, authority(t)), "reach Redis"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := tryStart(t, app.Config{DatabaseURL: "sqlite:" + stocktest.SQLiteFile(t), RedisURL: withTLS(server.URL(), c.files)})
			if err == nil {
				closeNow(t, a)
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
		})
	}
}
