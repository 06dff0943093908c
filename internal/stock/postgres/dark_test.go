package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/faultproxy"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/selling"
)

// through returns a database's URL through a proxy, and the proxy.
func through(t *testing.T, databaseURL string) (string, *faultproxy.Proxy) {
	t.Helper()
	parsed, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := faultproxy.Start(t.Context(), parsed.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	parsed.Host = proxy.Addr()
	return parsed.String(), proxy
}

// behindProxy returns a service on a store behind a proxy.
func behindProxy(t *testing.T, setUp func(*postgres.Store)) (*selling.Service, *faultproxy.Proxy) {
	t.Helper()
	direct, drop, err := server.CreateDatabase(t.Context(), template)
	if err != nil {
		t.Fatal(err)
	}
	proxied, proxy := through(t, direct)
	store, err := postgres.Open(t.Context(), proxied, 0)
	if err != nil {
		t.Fatal(err)
	}
	setUp(store)
	service := selling.NewService(selling.Config{Store: store})
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(service.Close(ctx), store.Close(), drop(ctx)); err != nil {
			t.Error(err)
		}
	})
	return service, proxy
}

// TestAPoolThatGoesDarkIsRenewed: a store's existing connections, in use or idle, deliver nothing any more, and new
// ones work.
func TestAPoolThatGoesDarkIsRenewed(t *testing.T) {
	t.Parallel()
	const skus = 24 // more than there are connections
	const inUse, atRest = 0, 1500 * time.Millisecond
	alone := func(s *postgres.Store) { s.SetSharing(postgres.ShareNothing) }
	for name, c := range map[string]struct {
		rest  time.Duration
		setUp func(*postgres.Store)
		least int // connections that go dark
	}{
		"all in use":               {inUse, alone, 16},
		"all at rest":              {atRest, alone, 16},
		"shared writes under way":  {inUse, func(*postgres.Store) {}, 2},
		"of shared writes at rest": {atRest, func(*postgres.Store) {}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service, proxy := behindProxy(t, c.setUp)
			for n := range skus {
				if _, _, err := service.CreateSKU(t.Context(), stock.NewSKU{SKU: fmt.Sprint("sku-", n), Stock: 1_000_000, Segments: 4}); err != nil {
					t.Fatal(err)
				}
			}
			var ids atomic.Int64
			buy := func(n int) error {
				_, _, err := service.Deduct(t.Context(), fmt.Sprint("sku-", n), stock.Order{OrderID: fmt.Sprint(ids.Add(1)), Quantity: 1})
				return err
			}
			// everybody buys until each buyer has been served that many times.
			everybody := func(times int) time.Duration {
				start := time.Now()
				var buyers sync.WaitGroup
				for n := range skus {
					buyers.Go(func() {
						for served := 0; served < times && time.Since(start) < time.Minute; {
							if buy(n) == nil {
								served++
							}
						}
					})
				}
				buyers.Wait()
				return time.Since(start)
			}
			calm := everybody(20)
			time.Sleep(c.rest) // a connection that was idle for longer is pinged before it is used
			stop, busy := make(chan struct{}), sync.WaitGroup{}
			if c.rest == inUse {
				for n := range skus {
					busy.Go(func() {
						for {
							select {
							case <-stop:
								return
							default:
								_ = buy(n)
							}
						}
					})
				}
			}
			if dark := proxy.Hold(); dark < c.least {
				t.Fatalf("%d connections go dark, want %d", dark, c.least)
			}
			start := time.Now()
			for time.Since(start) < time.Minute && buy(0) != nil {
			}
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("the first order was accepted after %v", took)
			}
			all := everybody(1)
			close(stop)
			busy.Wait()
			after := everybody(20)
			t.Logf("calm %v, first %v, all %v, after %v", calm, time.Since(start)-after-all, all, after)
			if all > 3*time.Second || after > 5*calm+time.Second {
				t.Errorf("then everybody was served within %v, and 20 times within %v; before within %v", all, after, calm)
			}
		})
	}
}

// TestNoticesGoDark: without a word from the server, the service notices that it receives no notifications any more.
func TestNoticesGoDark(t *testing.T) {
	t.Parallel()
	proxied, proxy := through(t, server.URL())
	store, err := postgres.Open(t.Context(), proxied, 0)
	if err != nil {
		t.Fatal(err)
	}
	listening, over := make(chan struct{}), make(chan error, 1)
	go func() { over <- store.Watch(t.Context(), func() { close(listening) }, func(string) {}) }()
	<-listening
	proxy.Hold()
	start := time.Now()
	if err := <-over; err == nil || time.Since(start) > 4*time.Second {
		t.Errorf("told of after %v: %v", time.Since(start), err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// TestASilentHostIsPassedBy: one of several hosts of a URL accepts connections and never answers, like a stopped
// server.
func TestASilentHostIsPassedBy(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	start := time.Now()
	store, err := postgres.Open(t.Context(), strings.Replace(server.URL(), "@", "@"+silent.Addr().String()+",", 1), 0)
	if err != nil || time.Since(start) > 3*time.Second {
		t.Fatalf("open after %v: %v", time.Since(start), err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}
