package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"inventory/internal/busytest"
)

// newKey makes a key with the command, and adds it to a file.
func newKey(t *testing.T, file, name, scope string) (key string) {
	t.Helper()
	r := invoke(t, "key", "new", "--name", name, "--scope", scope, "--file", file)
	if r.code != 0 || strings.Count(r.out, "\n") != 1 {
		t.Fatalf("exit status %d, %s%s", r.code, r.out, r.err)
	}
	return strings.TrimSpace(r.out)
}

func TestKeyNewPrintsAKeyOnce(t *testing.T) {
	t.Parallel()
	r := invoke(t, "key", "new", "--name", "shop", "--scope", "buyer")
	printed := regexp.MustCompile(`^inv_([A-Z0-9]{10})_[A-Z0-9]{26}\nshop buyer ([A-Z0-9]{10}) sha256:[0-9a-f]{64}\n$`)
	if found := printed.FindStringSubmatch(r.out); r.code != 0 || found == nil || found[1] != found[2] {
		t.Errorf("exit status %d, %s%s", r.code, r.out, r.err)
	}
	file := filepath.Join(t.TempDir(), "keys")
	shop, ops := newKey(t, file, "shop", "buyer"), newKey(t, file, "ops", "admin")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(string(text), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[0], "shop buyer ") || !strings.HasPrefix(lines[1], "ops admin ") {
		t.Errorf("the file is %q", text)
	}
	for _, key := range []string{shop, ops} {
		if strings.Contains(string(text), key[strings.LastIndexByte(key, '_'):]) {
			t.Errorf("the file holds the secret of a key")
		}
	}
	if help := invoke(t, "key", "new", "--help"); help.code != 0 || !strings.Contains(help.out, "--scope") {
		t.Errorf("exit status %d, %s", help.code, help.out)
	}
}

func TestAccessThatCannotWorkIsReportedInOneLine(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("# keys\nshop buyer A "+canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cannotBe(t, nil, []failure{
		{[]string{"key", "new", "--name", "a b", "--scope", "buyer"}, "--name", statusUsage},
		{[]string{"key", "new", "--name", "a", "--scope", "root"}, "--scope", statusUsage},
		{[]string{"key", "new", "--scope", "buyer"}, "--name", statusUsage},
		{[]string{"key", "new", "--name", "a", "--scope", "buyer", "--file", "/nowhere/keys"}, "/nowhere/keys", statusFailed},
		{[]string{"serve", "--api-keys", "/nowhere/keys"}, "/nowhere/keys", statusFailed},
		{[]string{"serve", "--api-keys", file}, file + ", line 2: must be name, scope, id and hash", statusFailed},
		{[]string{"serve", "--jwt-algorithm", "none"}, "--jwt-algorithm", statusUsage},
		{[]string{"serve", "--jwt-key", file}, "--jwt-audience", statusUsage},
		{[]string{"serve", "--jwt-algorithm", "HS256", "--jwt-audience", "a"}, "--jwt-key", statusUsage},
		{[]string{"serve", "--jwt-algorithm", "HS256", "--jwt-audience", "a", "--jwt-key", "/nowhere/key"}, "/nowhere/key", statusFailed},
		{[]string{"serve", "--jwt-algorithm", "EdDSA", "--jwt-audience", "a", "--jwt-key", file}, "no public key", statusFailed},
		{[]string{"serve", "--rate-limit", "-1"}, "--rate-limit", statusUsage},
		{[]string{"serve", "--rate-limit", "NaN"}, "rate limit", statusUsage},
		{[]string{"serve", "--rate-limit", "1e300"}, "rate limit", statusUsage},
		{[]string{"serve", "--address-rate-limit", "+Inf"}, "address rate limit", statusUsage},
		{[]string{"serve", "--rate-burst", "5"}, "--rate-limit", statusUsage},
		{[]string{"serve", "--tls-cert", file}, "--tls-key", statusUsage},
		{[]string{"serve", "--tls-cert", file, "--tls-key", file}, fmt.Sprintf("TLS: certificate %q", file), statusFailed},
		{[]string{"serve", "--log-format", "xml"}, "--log-format", statusUsage},
	})
}

func TestDemoShowsItsKey(t *testing.T) {
	t.Parallel()
	url, file := database(t), filepath.Join(t.TempDir(), "keys")
	admin := newKey(t, file, "ops", "admin")
	p := serve(t, "--database-url", url, "--redis-url", redisServer.URL(), "--api-keys", file)
	args := []string{"demo", "--json", "--stock", "50", "--buyers", "60", "--url", p.url, "--database-url", url}
	oneLine(t, invoke(t, args...), "status 401, unauthenticated")
	r := invoke(t, append(args, "--api-key", admin)...)
	s := parse(t, r)
	exact(t, s)
	if r.code != 0 || s.Accepted != 50 {
		t.Errorf("exit status %d, %s%s", r.code, r.out, r.err)
	}
}

// status reads a SKU that does not exist.
func (p *process) status(key string) int {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+"/v1/skus/none", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

func TestHangupReadsKeysAgain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys")
	first := newKey(t, file, "first", "buyer")
	p := serve(t, "--database-url", sqliteFile(t), "--api-keys", file)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	second := newKey(t, file, "second", "buyer")
	if a, b := p.status(first), p.status(second); a != 404 || b != 401 {
		t.Errorf("before: %d and %d", a, b)
	}
	if err := p.command.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	busytest.Soon(t, "the new key is let in", func() bool { return p.status(second) == 404 })
	if got := p.status(first); got != 401 {
		t.Errorf("the key that was taken out is answered %d", got)
	}
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit status %d: %s", code, p.log.String())
	}
}

// TestHangupDoesNotEndAStart: it comes while the process waits for its database.
func TestHangupDoesNotEndAStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys")
	newKey(t, file, "shop", "buyer")
	interrupted(t, func(address string) []string {
		return []string{"--database-url", "postgres://postgres@" + address + "/silent", "--api-keys", file}
	}, syscall.SIGHUP, syscall.SIGTERM)
}
