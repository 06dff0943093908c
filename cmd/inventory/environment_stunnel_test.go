//go:build environments

package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"inventory/internal/servertest"
)

// stunnel starts a stunnel before servers, with the certificates of an authority, which the other side needs too.
func stunnel(t *testing.T, own servertest.TLS, client bool, servers ...string) *servertest.Program {
	t.Helper()
	files := make(map[string]string)
	for name, file := range map[string]string{"ca.pem": own.CA, "cert.pem": own.Cert, "key.pem": own.Key} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	return between(t, "stunnel", func(folder string, port int) (map[string]string, []string) {
		lines := []string{
			"foreground = yes", "pid =", "debug = warning", "[it]", "CAfile = ca.pem", "cert = cert.pem", "key = key.pem", "verifyChain = yes",
			"client = " + map[bool]string{true: "yes", false: "no"}[client], "accept = 127.0.0.1:" + strconv.Itoa(port), "failover = rr",
		}
		for _, server := range servers {
			lines = append(lines, "connect = "+server)
		}
		files["stunnel.conf"] = strings.Join(lines, "\n") + "\n"
		return files, []string{filepath.Join(folder, "stunnel.conf")}
	})
}

func certified(t *testing.T) servertest.TLS {
	t.Helper()
	authority, err := servertest.NewAuthority(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	own, err := authority.Issue()
	if err != nil {
		t.Fatal(err)
	}
	return own
}

func TestBehindStunnelBeforeRedis(t *testing.T) {
	t.Parallel()
	own, database := certified(t), database(t)
	tunnel := stunnel(t, own, false, redisServer.Addr())
	address := "rediss://" + tunnel.Addr() + "/0?tls_ca=" + url.QueryEscape(own.CA)
	oneLine(t, invoke(t, "serve", "--database-url", database, "--redis-url", address), "reach Redis")
	address += "&tls_cert=" + url.QueryEscape(own.Cert) + "&tls_key=" + url.QueryEscape(own.Key)
	openSite(t, database, nil, "--redis-url", address).works(3000, restarts(t, tunnel))
}

func TestBehindStunnelBeforeTheService(t *testing.T) {
	t.Parallel()
	own := certified(t)
	f := newFront(t, func(processes []string) *servertest.Program {
		return stunnel(t, own, true, stunnel(t, own, false, processes...).Addr())
	})
	f.sells(3000)
	f.tellsEvents()
}
