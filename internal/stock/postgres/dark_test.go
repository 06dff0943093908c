package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/selling"
)

// network carries connections until it goes dark: those that there are then deliver nothing any more, and new ones work. It is for
// virtual time, which a connection that waits in the dark lets pass, and one that waits for a server does not.
type network struct {
	mu    sync.Mutex
	conns []*darkConn
}

// dials makes the connections of a store go through the network.
func (n *network) dials(c *pgxpool.Config) {
	c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c := &darkConn{Conn: conn}
		c.silence, _ = net.Pipe()
		n.mu.Lock()
		defer n.mu.Unlock()
		n.conns = append(n.conns, c)
		return c, nil
	}
}

// goDark returns how many connections go dark.
func (n *network) goDark() (open int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		if !c.closed.Load() {
			open++
		}
		c.dark.Store(true)
		_ = c.Conn.SetReadDeadline(time.Unix(1, 0)) // who reads goes on in the dark
	}
	n.conns = nil
	return open
}

// darkConn is a connection through a network.
type darkConn struct {
	net.Conn
	silence      net.Conn // where nothing arrives
	dark, closed atomic.Bool
}

// Read implements [net.Conn].
func (c *darkConn) Read(p []byte) (int, error) {
	if !c.dark.Load() {
		if n, err := c.Conn.Read(p); !c.dark.Load() {
			return n, err
		}
	}
	return c.silence.Read(p)
}

// Write implements [net.Conn].
func (c *darkConn) Write(p []byte) (int, error) {
	if c.dark.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// SetDeadline implements [net.Conn].
func (c *darkConn) SetDeadline(t time.Time) error {
	return errors.Join(c.Conn.SetDeadline(t), c.silence.SetDeadline(t))
}

// SetReadDeadline implements [net.Conn].
func (c *darkConn) SetReadDeadline(t time.Time) error {
	return errors.Join(c.Conn.SetReadDeadline(t), c.silence.SetReadDeadline(t))
}

// Close implements [net.Conn].
func (c *darkConn) Close() error {
	c.closed.Store(true)
	return errors.Join(c.silence.Close(), c.Conn.Close())
}

// unwatched is a store without the connection that listens, which would keep virtual time from passing.
type unwatched struct{ *postgres.Store }

// Watch implements [stock.Store].
func (unwatched) Watch(context.Context, func(), func(string)) error { return nil }

// TestAPoolThatGoesDarkIsRenewed: a store's existing connections, in use or idle, deliver nothing any more, and new
// ones work. It runs in virtual time, but for the case in which connections fail while others are asked whether they live: there a
// mutex keeps virtual time from passing, and the test only sees that everybody is served again, although the old ones stay dark.
func TestAPoolThatGoesDarkIsRenewed(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	const inUse, atRest = 0, 1500 * time.Millisecond
	for name, c := range map[string]struct {
		rest    time.Duration
		sharing postgres.Sharing
		virtual bool
	}{
		"all in use":               {inUse, postgres.ShareNothing, true},
		"all at rest":              {atRest, postgres.ShareNothing, true},
		"shared writes under way":  {inUse, postgres.ShareWaiting, false},
		"of shared writes at rest": {atRest, postgres.ShareWaiting, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !c.virtual {
				goDark(t, c.sharing, c.rest)
				return
			}
			busytest.Virtual(t, func(t *testing.T) {
				calm, first, all, after := goDark(t, c.sharing, c.rest)
				t.Logf("calm %v, first %v, all %v, after %v", calm, first, all, after)
				if first > 3*time.Second {
					t.Errorf("the first order was accepted after %v", first)
				}
				if all > 3*time.Second || after > 5*calm+time.Second {
					t.Errorf("then everybody was served within %v, and 20 times within %v; before within %v", all, after, calm)
				}
			})
		})
	}
}

// goDark sells through connections that go dark, after a rest or in use. It returns how long it took to serve everybody 20 times before,
// then one buyer, then everybody, and then everybody 20 times.
func goDark(t *testing.T, sharing postgres.Sharing, rest time.Duration) (calm, first, all, after time.Duration) {
	t.Helper()
	const skus, conns = 24, 16 // SKUs: more than there are connections
	url, network := database(t), &network{}
	store, err := postgres.Open(t.Context(), url, conns, network.dials)
	if err != nil {
		t.Fatal(err)
	}
	store.SetSharing(sharing)
	service, beside := selling.NewService(selling.Config{Store: unwatched{store}}), openStore(t, url)
	defer func() {
		if err := errors.Join(service.Close(t.Context()), store.Close()); err != nil {
			t.Error(err)
		}
	}()
	for n := range skus {
		if _, err := beside.CreateSKU(t.Context(), stock.NewSKU{SKU: name(n), Stock: 1_000_000, Segments: 4}, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	var ids atomic.Int64
	buy := func(n int) error {
		_, _, err := service.Deduct(t.Context(), name(n), stock.Order{OrderID: fmt.Sprint(ids.Add(1)), Quantity: 1})
		return err
	}
	served := func(n int) {
		busytest.Soon(t, "an order of SKU "+name(n)+" is accepted", func() bool { return buy(n) == nil })
	}
	// everybody buys until each buyer has been served that many times.
	everybody := func(times int) time.Duration {
		start := time.Now()
		var buyers sync.WaitGroup
		for n := range skus {
			buyers.Go(func() {
				for range times {
					served(n)
				}
			})
		}
		buyers.Wait()
		return time.Since(start)
	}
	if err := store.Connect(t.Context(), conns); err != nil {
		t.Fatal(err)
	}
	calm = everybody(20)
	time.Sleep(rest) // a connection that was idle for longer is pinged before it is used
	stop, busy := make(chan struct{}), sync.WaitGroup{}
	if rest == 0 {
		for n := range skus {
			busy.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(50 * time.Millisecond):
						_ = buy(n)
					}
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
	}
	if network.goDark() == 0 {
		t.Error("no connection goes dark")
	}
	start := time.Now()
	served(0)
	first = time.Since(start)
	all = everybody(1)
	close(stop)
	busy.Wait()
	return calm, first, all, everybody(20)
}

// TestNoticesGoDark: without a word from the server, the service notices that it receives no notifications any more. It runs in
// virtual time.
func TestNoticesGoDark(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		network := &network{}
		store, err := postgres.Open(t.Context(), server.URL(), 0, network.dials)
		if err != nil {
			t.Fatal(err)
		}
		listening, over := make(chan struct{}), make(chan error, 1)
		go func() { over <- store.Watch(t.Context(), func() { close(listening) }, func(string) {}) }()
		<-listening
		network.goDark()
		start := time.Now()
		if err := <-over; err == nil || time.Since(start) > 4*time.Second {
			t.Errorf("told of after %v: %v", time.Since(start), err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestASilentHostIsPassedBy: one of several hosts of a URL accepts connections and never answers, like a stopped
// server. It runs in virtual time.
func TestASilentHostIsPassedBy(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		const silent = "192.0.2.1:5432"
		passes := func(c *pgxpool.Config) {
			c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
				if address == silent {
					here, _ := net.Pipe()
					return here, nil
				}
				return new(net.Dialer).DialContext(ctx, network, address)
			}
		}
		start := time.Now()
		store, err := postgres.Open(t.Context(), strings.Replace(server.URL(), "@", "@"+silent+",", 1), 0, passes)
		if took := time.Since(start); err != nil || took == 0 || took > 3*time.Second {
			t.Fatalf("open after %v: %v", took, err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}
