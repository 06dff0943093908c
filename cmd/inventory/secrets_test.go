package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/internal/servertest"
)

// vault is a service with a secret of each kind, and all its output.
type vault struct {
	*process
	secrets map[string]string
	shop    string // an API key
	token   func(expires time.Duration) string
	told    strings.Builder
	stop    []func() error // the servers
}

func openVault(t *testing.T, format string) *vault {
	t.Helper()
	v := &vault{secrets: make(map[string]string)}
	for _, kind := range []string{"database password", "Redis password", "JWT secret"} {
		v.secrets[kind] = "canary" + rand.Text() + rand.Text()
	}
	folder := t.TempDir()
	keyFile, jwtFile := filepath.Join(folder, "keys"), filepath.Join(folder, "jwt")
	v.shop = newKey(t, keyFile, "shop", "buyer")
	v.secrets["API key"] = v.shop[strings.LastIndexByte(v.shop, '_')+1:]
	if err := os.WriteFile(jwtFile, []byte(v.secrets["JWT secret"]), 0o600); err != nil {
		t.Fatal(err)
	}
	v.token = func(expires time.Duration) string {
		text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
			"sub": "ann", "aud": "inventory", "exp": time.Now().Add(expires).Unix(),
		}).SignedString([]byte(v.secrets["JWT secret"]))
		if err != nil {
			t.Fatal(err)
		}
		v.secrets["JWT that lasts "+expires.String()] = text[strings.LastIndexByte(text, '.')+1:]
		return text
	}
	v.process = serve(t, "--log-format", format, "--log-level", "debug",
		"--database-url", v.startPostgres(t), "--redis-url", v.startRedis(t), "--api-keys", keyFile,
		"--jwt-algorithm", "HS256", "--jwt-key", jwtFile, "--jwt-audience", "inventory")
	return v
}

func (v *vault) startPostgres(t *testing.T) (databaseURL string) {
	t.Helper()
	server, err := servertest.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v.stop = append(v.stop, server.Stop)
	parsed, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	parsed.User = url.UserPassword(parsed.User.Username(), v.secrets["database password"])
	return parsed.String()
}

func (v *vault) startRedis(t *testing.T) (redisURL string) {
	t.Helper()
	server, err := servertest.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v.stop = append(v.stop, server.Stop)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	if err := client.ConfigSet(t.Context(), "requirepass", v.secrets["Redis password"]).Err(); err != nil {
		t.Fatal(err)
	}
	return "redis://:" + v.secrets["Redis password"] + "@" + server.Addr() + "/0"
}

// ask sends a request and keeps the whole answer.
func (v *vault) ask(method, address, credential, body string) (status int) {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if credential != "" {
		request.Header.Set("Authorization", credential)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		v.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	fmt.Fprintf(&v.told, "%s %s: %v %s\n", method, address, response.Header, text)
	return response.StatusCode
}

// askEverything sends requests that succeed and requests that fail, and expects a status for requests with a good
// credential.
func (v *vault) askEverything(good int) {
	v.t.Helper()
	deductions := v.url + "/v1/skus/none/deductions"
	key, token := "Bearer "+v.shop, "Bearer "+v.token(time.Hour)
	for _, credential := range []string{key, token} {
		if got := v.ask("POST", deductions, credential, `{"order_id":"o","quantity":1}`); got != good {
			v.t.Errorf("a good credential is answered %d, not %d", got, good)
		}
		v.ask("GET", deductions+"/o", credential, "")
		v.ask("POST", deductions, credential, `{"order_id":"o","quantity":`)
		v.ask("PUT", v.url+"/v1/skus/none", credential, `{"stock":1}`)
		v.ask("GET", v.url+"/nothing", credential, "")
	}
	for _, credential := range []string{
		key + "x", token + "x", strings.TrimPrefix(key, "Bearer "), "Basic " + v.shop, "Bearer " + v.token(-time.Hour),
		"Bearer x." + v.shop + ".y",
	} {
		if got := v.ask("GET", v.url+"/v1/skus/none", credential, ""); got != http.StatusUnauthorized {
			v.t.Errorf("a bad credential is answered %d", got)
		}
	}
	for _, path := range []string{"/metrics", "/readyz", "/healthz", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2"} {
		v.ask("GET", v.admin+path, "", "")
	}
}

// TestSecretsAppearNowhere plants secrets and searches for them in all that the service logs and answers, while
// everything works and while nothing does.
func TestSecretsAppearNowhere(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			v := openVault(t, format)
			v.askEverything(http.StatusNotFound)
			for _, stop := range v.stop {
				if err := stop(); err != nil {
					t.Error(err)
				}
			}
			v.askEverything(http.StatusServiceUnavailable)
			v.end(syscall.SIGTERM)
			if starting := regexp.MustCompile(`starting.*127\.0\.0\.1:\d+/\w+.*127\.0\.0\.1:\d+.*reentrant`); !starting.MatchString(v.log.String()) {
				t.Errorf("the first line does not name the servers: %s", v.log.String())
			}
			told := v.told.String() + v.log.String()
			for kind, secret := range v.secrets {
				if at := strings.Index(told, secret); at >= 0 {
					t.Errorf("the %s was told: …%s", kind, told[max(0, at-200):at])
				}
			}
			for _, logged := range []string{"request failed", "caller refused", "token is expired", "request_id"} {
				if !strings.Contains(v.log.String(), logged) {
					t.Errorf("the log does not say %q: %s", logged, v.log.String())
				}
			}
		})
	}
}
