package faultproxy_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"inventory/internal/busytest"
	"inventory/internal/faultproxy"
)

func TestMain(m *testing.M) { busytest.Main(m) }

// serveEcho serves a listener until the test ends, and sends each line back.
func serveEcho(t *testing.T, listener net.Listener) {
	t.Helper()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				_, _ = io.Copy(conn, conn) // until the client closes
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
}

// virtual runs a test in virtual time, with a proxy before an echo server, on a network inside the process.
func virtual(t *testing.T, test func(t *testing.T, proxy *faultproxy.Proxy, dial func() client)) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		server, entry := bufconn.Listen(1<<10), bufconn.Listen(1<<10)
		serveEcho(t, server)
		proxy := faultproxy.Serve(entry, server.DialContext)
		closeLater(t, proxy)
		test(t, proxy, func() client { return open(t, entry.DialContext) })
	})
}

func closeLater(t *testing.T, proxy *faultproxy.Proxy) {
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
}

// client is a connection through a proxy.
type client struct {
	net.Conn
	lines *bufio.Reader
}

func open(t *testing.T, dial func(context.Context) (net.Conn, error)) client {
	t.Helper()
	conn, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return client{conn, bufio.NewReader(conn)}
}

// says sends a line, and waits for an answer so long.
func (c client) says(line string, patience time.Duration) (answer string, err error) {
	if line != "" {
		if _, err := io.WriteString(c, line+"\n"); err != nil {
			return "", err
		}
	}
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	return c.lines.ReadString('\n')
}

func isLate(err error) bool {
	var of net.Error
	return errors.As(err, &of) && of.Timeout()
}

func want(t *testing.T, what string, c client, line, answer string) {
	t.Helper()
	if got, err := c.says(line, busytest.Patience); got != answer+"\n" || err != nil {
		t.Errorf("%s: got %q, %v; want %q", what, got, err, answer)
	}
}

func wantSilence(t *testing.T, what string, c client, line string) {
	t.Helper()
	if got, err := c.says(line, time.Minute); !isLate(err) {
		t.Errorf("%s: got %q, %v; want no answer", what, got, err)
	}
}

func wantEnd(t *testing.T, what string, c client) {
	t.Helper()
	if got, err := c.says("x", busytest.Patience); err == nil || isLate(err) {
		t.Errorf("%s: got %q, %v; want an end", what, got, err)
	}
}

// TestCutEndsConnectionsUntilMend is about connections over TCP.
func TestCutEndsConnectionsUntilMend(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveEcho(t, listener)
	proxy, err := faultproxy.Start(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, proxy)
	dial := func() client {
		return open(t, func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", proxy.Addr())
		})
	}
	before := dial()
	want(t, "before", before, "a", "a")
	if n := proxy.Connections(); n != 1 {
		t.Errorf("got %d connections, want 1", n)
	}
	proxy.Cut()
	wantEnd(t, "a connection when it is cut", before)
	wantEnd(t, "a connection of the time of the cut", dial())
	proxy.Mend()
	want(t, "a connection of later", dial(), "b", "b")
}

func TestSlowDelaysBothWays(t *testing.T) {
	virtual(t, func(t *testing.T, proxy *faultproxy.Proxy, dial func() client) {
		c := dial()
		const delay = time.Second
		proxy.Slow(delay)
		start := time.Now()
		want(t, "slow", c, "a", "a")
		if took := time.Since(start); took < delay || took > 3*delay { // half of it each way, to one and a half
			t.Errorf("an answer took %v, want %v to %v", took, delay, 3*delay)
		}
		proxy.Slow(0)
		start = time.Now()
		want(t, "quick again", c, "b", "b")
		if took := time.Since(start); took > 0 {
			t.Errorf("an answer took %v without a delay", took)
		}
	})
}

func TestLoseLosesWhatIsSentUntilRecover(t *testing.T) {
	virtual(t, func(t *testing.T, proxy *faultproxy.Proxy, dial func() client) {
		c, idle := dial(), dial()
		want(t, "before", idle, "a", "a")
		proxy.Lose()
		wantSilence(t, "lost", c, "a")
		proxy.Recover()
		wantEnd(t, "a connection that lost something", c)
		want(t, "a connection that lost nothing", idle, "b", "b")
	})
}

func TestHoldDeliversLaterAndLetsNewConnectionsThrough(t *testing.T) {
	virtual(t, func(t *testing.T, proxy *faultproxy.Proxy, dial func() client) {
		c, leaves := dial(), dial()
		want(t, "before", c, "a", "a")
		want(t, "before", leaves, "a", "a")
		if n := proxy.Hold(); n != 2 {
			t.Errorf("got %d connections, want 2", n)
		}
		wantSilence(t, "held", c, "b")
		want(t, "a new connection", dial(), "c", "c")
		_ = leaves.Close()
		synctest.Wait()
		if n := proxy.Connections(); n != 3 {
			t.Errorf("got %d connections, want 3, with the one that was closed while it was held", n)
		}
		proxy.Deliver()
		want(t, "delivered", c, "", "b")
	})
}

func TestCloseEndsWhatIsHeldAndSlow(t *testing.T) {
	virtual(t, func(t *testing.T, proxy *faultproxy.Proxy, dial func() client) {
		held, slow := dial(), dial()
		want(t, "before", held, "a", "a")
		proxy.Hold()
		wantSilence(t, "held", held, "b")
		proxy.Slow(time.Hour)
		wantSilence(t, "slow", slow, "b")
		start := time.Now()
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("it waited %v", took)
		}
	})
}
