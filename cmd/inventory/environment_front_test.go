//go:build environments

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/tmaxmax/go-sse"

	"inventory/internal/api/client"
	"inventory/internal/busytest"
	"inventory/internal/servertest"
)

// front is three processes behind a proxy of HTTP.
type front struct {
	t        *testing.T
	proxy    *servertest.Program
	database string
}

// newFront starts the processes with some flags, and then the proxy, which start makes of their addresses. They have a Redis of
// their own: sites that share one share events, and each of them sells a SKU of the same name.
func newFront(t *testing.T, start func(processes []string) *servertest.Program, flags ...string) *front {
	t.Helper()
	f := &front{t: t, database: database(t)}
	redis, err := servertest.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, redis.Stop)
	var addresses []string
	for range 3 {
		p := serve(t, append(flags, "--database-url", f.database, "--redis-url", redis.URL())...)
		addresses = append(addresses, strings.TrimPrefix(p.url, "http://"))
	}
	f.proxy = start(addresses)
	return f
}

// isServed does through a proxy what callers do.
func isServed(t *testing.T, start func(processes []string) *servertest.Program) {
	f := newFront(t, start)
	f.sells(3000)
	f.tellsEvents()
	f = newFront(t, start, "--trust-proxy", "127.0.0.1/32", "--address-rate-limit", "0.001") // one request in a burst
	f.tellsCallersApart()
}

// sells holds a sale, in the middle of which the proxy is restarted.
func (f *front) sells(buyers int) {
	f.t.Helper()
	c := newCrowd(f.t, int64(buyers/2), &process{t: f.t, url: "http://" + f.proxy.Addr()})
	c.buy(buyers, func(accepted int64) {
		if accepted == int64(buyers/6) {
			restarts(f.t, f.proxy)()
		}
	})
	if len(c.won) != buyers/2 || len(c.errors) > 0 {
		f.t.Errorf("%d won of %d, %d errors: %v", len(c.won), buyers/2, len(c.errors), errors.Join(c.errors...))
	}
	audited(f.t, f.database)
}

// tellsEvents checks that an event comes when it happens, and is not held back until there are more.
func (f *front) tellsEvents() {
	f.t.Helper()
	request, err := http.NewRequestWithContext(busytest.Context(f.t), http.MethodGet, "http://"+f.proxy.Addr()+"/v1/events?sku=hot", nil)
	if err != nil {
		f.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	through := &process{t: f.t, url: "http://" + f.proxy.Addr()}
	through.asks("201", http.MethodPost, "/skus/hot/restock", `{"ref":"told","quantity":1}`)
	for frame, err := range sse.Read(response.Body, nil) {
		if err != nil {
			f.t.Error(err)
		}
		if strings.Contains(frame.Data, string(client.EventBackInStock)) {
			return
		}
	}
	f.t.Error("the stream ended without the event")
}

// tellsCallersApart lets one address use up its limit: also under a forged address, and without taking from another.
func (f *front) tellsCallersApart() {
	f.t.Helper()
	const greedy, honest = "127.0.0.2", "127.0.0.3"
	counts := make(map[int]int)
	for n := range 60 {
		counts[f.from(greedy, fmt.Sprintf("192.0.2.%d", n))]++
	}
	if counts[http.StatusTooManyRequests] == 0 || counts[http.StatusOK] == 0 || len(counts) > 2 {
		f.t.Errorf("60 requests from an address that may send one to each of 3 processes: statuses %v", counts)
	}
	if got := f.from(honest, ""); got != http.StatusOK {
		f.t.Errorf("another address: status %d", got)
	}
}

// from reads the list of SKUs from an address of loopback, and returns the status.
func (f *front) from(address, forwardedFor string) int {
	f.t.Helper()
	transport := &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, "http://"+f.proxy.Addr()+"/v1/skus", nil)
	if err != nil {
		f.t.Fatal(err)
	}
	if forwardedFor != "" {
		request.Header.Set("X-Forwarded-For", forwardedFor)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		f.t.Fatal(err)
	}
	return response.StatusCode
}
