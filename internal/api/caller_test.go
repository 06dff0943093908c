package api

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"inventory/internal/access"
	"inventory/internal/stock/selling"
)

func TestAddressOf(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"192.0.2.1:80":              "address 192.0.2.1",
		"[::ffff:192.0.2.1]:80":     "address 192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:80": "address 2001:db8:1:2::/64",
		"[2001:db8:1:2::9]:443":     "address 2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":         "address fe80::/64",
		"@":                         "address",
		"":                          "address",
	} {
		if got := addressOf(&http.Request{RemoteAddr: remote}); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	handler := withHeaders(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	answered := func(ids ...string) string {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		for _, id := range ids {
			r.Header.Add("X-Request-ID", id)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if n := len(w.Header().Values("X-Request-Id")); n != 1 {
			t.Errorf("%q: %d ids came back", ids, n)
		}
		return w.Header().Get("X-Request-Id")
	}
	for _, id := range []string{"a", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "A_z.9", strings.Repeat("x", 128)} {
		if got := answered(id); got != id {
			t.Errorf("%q came back as %q", id, got)
		}
	}
	seen := make(map[string]bool)
	for _, ids := range [][]string{nil, {""}, {"a b"}, {"a\tb"}, {"a\"b"}, {"ü"}, {"a=b"}, {strings.Repeat("x", 129)}, {"a", "b"}} {
		got := answered(ids...)
		if seen[got] || !requestIDFormat.MatchString(got) {
			t.Errorf("%q came back as %q", ids, got)
		}
		seen[got] = true
	}
}

// Every request also pays for the check of a key, and for the context that carries the caller.
func TestAdmissionIsCheap(t *testing.T) {
	key, line, err := access.NewKey("shop", access.ScopeBuyer)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	guard, err := access.NewGuard(access.Config{KeysFile: file})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Config: Config{Guard: guard, Service: &selling.Service{}}}
	admitted := s.admit(buyers, func(c echo.Context) error {
		_, _, err := s.buyerFor(c, "ann")
		return err
	})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	c := echo.New().NewContext(r, httptest.NewRecorder())
	if n := testing.AllocsPerRun(1000, func() {
		if err := admitted(c); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

// A handler without admit before it must not accept any caller.
func TestNobodyIsAnybodyOutsideTheTable(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("there was a caller")
		}
	}()
	callerOf(echo.New().NewContext(nil, nil))
}
