package app_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"inventory/internal/access"
	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// strangersAddress is the address of strangers: rates are by address. Linux has all of 127.0.0.0/8.
const strangersAddress = "127.0.0.2"

// guarded is a service that asks for tokens, and sells one SKU.
type guarded struct {
	*app.App
	key    ed25519.PrivateKey
	honest *load // buyers, each with a token of its own
}

func openGuarded(t *testing.T, config app.Config) *guarded {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tokens.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	config.DatabaseURL, config.Lock, config.RedisURL = emptyDatabase(t), app.LockReentrant, redisServers[0].URL()
	config.Access = access.Config{Tokens: access.TokenConfig{Algorithm: "EdDSA", KeyFile: file, Audience: "inventory"}}
	a := startOn(t, config)
	g := &guarded{App: a, key: private}
	if _, _, err := a.Service().CreateSKU(t.Context(), stock.NewSKU{SKU: "bought", Stock: shopStock, Segments: shopSegments}); err != nil {
		t.Fatal(err)
	}
	g.honest = newLoad(t, a, 8, func(ctx context.Context, c *caller, _, n int) int {
		return c.post(ctx, "/v1/skus/bought/deductions", fmt.Appendf(nil, `{"order_id":"o-%d","quantity":1}`, n))
	})
	for who, c := range g.honest.callers {
		c.token = g.token(t, fmt.Sprint("buyer-", who))
	}
	return g
}

// token returns a token of a buyer.
func (g *guarded) token(t *testing.T, buyer string) string {
	t.Helper()
	text, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"sub": buyer, "aud": "inventory", "exp": time.Now().Add(time.Hour).Unix(),
	}).SignedString(g.key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// strangers returns a load from the strangers' address, with one request for every 20 of the honest callers: each also
// costs its sender processor time, on the same machine.
func (g *guarded) strangers(t *testing.T, send func(ctx context.Context, c *caller, n int) int) *load {
	t.Helper()
	l := newLoad(t, g.App, 8, func(ctx context.Context, c *caller, _, n int) int { return send(ctx, c, n) })
	for _, c := range l.callers {
		c.Transport.(*http.Transport).DialContext = strangersDialer().DialContext
	}
	l.share = 0.05
	return l
}

func strangersDialer() *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(strangersAddress)}}
}

// TestBadTokensLeaveOthersTheirTurn lets strangers send tokens with wrong signatures. The check of a signature costs more
// than an order, so the limit comes first: only within it does a stranger learn that the token is wrong.
func TestBadTokensLeaveOthersTheirTurn(t *testing.T) {
	busytest.Slow(t)
	const limit = 2 // requests a second of an address: checks are few, even on a slow machine
	g := openGuarded(t, app.Config{AddressRateLimit: limit})
	_, stranger, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	forged := (&guarded{key: stranger}).token(t, "buyer-1")
	var checked atomic.Int64
	begin := time.Now()
	strangers := g.strangers(t, func(ctx context.Context, c *caller, _ int) int {
		c.token = forged
		status := c.post(ctx, "/v1/skus/bought/deductions", []byte(`{"order_id":"forged","quantity":1}`))
		if status == http.StatusUnauthorized {
			checked.Add(1)
		}
		return status
	})
	g.honest.keepsBeside(strangers)
	// The limit allows a second's worth at once.
	if most := int64(limit * (1 + time.Since(begin).Seconds())); checked.Load() > most {
		t.Errorf("%d signatures were checked, where %d are allowed", checked.Load(), most)
	}
}

// TestListenersLeaveOthersTheirStream lets one token try to open all the streams of the service. Others still get their
// streams and their events, and buyers keep their rate.
func TestListenersLeaveOthersTheirStream(t *testing.T) {
	busytest.Slow(t)
	g := openGuarded(t, app.Config{})
	greedy := g.token(t, "greedy")
	taken := 0
	for range 300 {
		if status, stream := g.listen(t, greedy); status == http.StatusOK {
			go io.Copy(io.Discard, stream) //nolint:errcheck // until the test closes it
			taken++
		}
	}
	t.Logf("the greedy one has %d streams", taken)
	for who := range 50 {
		status, stream := g.listen(t, g.token(t, fmt.Sprint("listener-", who)))
		if status != http.StatusOK {
			t.Fatalf("listener %d was told %d", who, status)
		}
		if who == 0 {
			heard := make(chan error, 1)
			go func() { heard <- hearsOf(stream, "event: sale") }()
			defer func() {
				if err := <-heard; err != nil {
					t.Error("a listener heard of no sale:", err)
				}
			}()
		}
	}
	again := g.strangers(t, func(ctx context.Context, c *caller, _ int) int {
		c.token = greedy
		return c.get(ctx, "/v1/events") // it is refused: otherwise it would not return
	})
	g.honest.keepsBeside(again)
}

// listen opens a stream of events, which the test closes.
func (g *guarded) listen(t *testing.T, token string) (status int, stream io.Reader) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL()+"/v1/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response.StatusCode, response.Body
}

// hearsOf reads a stream until a text arrives.
func hearsOf(stream io.Reader, what string) error {
	var heard strings.Builder
	buffer := make([]byte, 4096)
	for !strings.Contains(heard.String(), what) {
		n, err := stream.Read(buffer)
		if heard.Write(buffer[:n]); err != nil {
			return err
		}
	}
	return nil
}

// TestConnectionsLeaveOthersTheirs lets strangers open connections and send little on them, 150 at first and then more,
// in a room for 100. Buyers keep their connections and their rate, and their new connections are accepted.
func TestConnectionsLeaveOthersTheirs(t *testing.T) {
	busytest.Slow(t)
	g := openGuarded(t, app.Config{MaxConnections: 100})
	address := strings.TrimPrefix(g.URL(), "http://")
	open := func(ctx context.Context, _ *caller, n int) int {
		conn, err := strangersDialer().DialContext(ctx, "tcp", address)
		if err != nil {
			return 0
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, "POST /v1/skus/bought/deductions HTTP/1.1\r\n"[:n%40]); err != nil {
			return 0
		}
		return http.StatusOK // it stands
	}
	for n := range 150 {
		open(t.Context(), nil, n)
	}
	g.honest.keepsBeside(g.strangers(t, open))
	for who := range 20 {
		late := newCaller(t, g.URL())
		late.token = g.token(t, fmt.Sprint("late-", who))
		if status := late.get(t.Context(), "/v1/skus/bought"); status != http.StatusOK {
			t.Errorf("a new buyer was told %d", status)
		}
	}
}

// TestUnfinishedRequestsLeaveOthersTheirs lets 150 strangers without a key announce bodies that do not come, in a room for 100.
// A stranger that is cut off connects again at once.
func TestUnfinishedRequestsLeaveOthersTheirs(t *testing.T) {
	busytest.Slow(t)
	g := openGuarded(t, app.Config{MaxConnections: 100})
	address := strings.TrimPrefix(g.URL(), "http://")
	const head = "POST /v1/skus/bought/deductions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	bodies := []string{"Content-Length: 100\r\n\r\n", "Content-Length: 100\r\n\r\nx", "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"}
	ctx, cancel := context.WithCancel(t.Context())
	var strangers sync.WaitGroup
	defer strangers.Wait()
	defer cancel()
	var standing sync.WaitGroup
	for who := range 150 {
		standing.Add(1)
		strangers.Go(func() {
			stands := sync.OnceFunc(standing.Done)
			defer stands()
			for ctx.Err() == nil {
				conn, err := strangersDialer().DialContext(ctx, "tcp", address)
				if err != nil {
					continue
				}
				stop := context.AfterFunc(ctx, func() { conn.Close() })
				_, _ = io.WriteString(conn, head+bodies[who%len(bodies)])
				stands()
				_, _ = io.Copy(io.Discard, conn) // until it is cut off
				stop()
				conn.Close()
			}
		})
	}
	standing.Wait()
	// On a busy machine new connections may be cut off before their requests come: then there is another round.
	busytest.Soon(t, "nearly all honest buyers are answered", func() bool {
		told := make(map[int]int)
		for who := range 20 {
			late := newCaller(t, g.URL())
			late.token = g.token(t, fmt.Sprint("late-", who))
			for range 5 {
				told[late.get(busytest.Context(t), "/v1/skus/bought")]++
			}
		}
		t.Logf("honest buyers were told %v", told)
		return told[http.StatusOK] >= 95
	})
}
