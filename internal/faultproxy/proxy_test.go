package faultproxy_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"inventory/internal/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startEcho starts a server that sends each line back, behind a proxy.
func startEcho(t *testing.T) *faultproxy.Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
	proxy, err := faultproxy.Start(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(proxy.Close(), listener.Close()); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
	return proxy
}

// client is a connection through a proxy.
type client struct {
	net.Conn
	lines *bufio.Reader
}

func dial(t *testing.T, proxy *faultproxy.Proxy) client {
	t.Helper()
	conn, err := net.Dial("tcp", proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return client{conn, bufio.NewReader(conn)}
}

// says sends a line, and waits for an answer so long.
func (c client) says(line string, patience time.Duration) (answer string, err error) {
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if line != "" {
		if _, err := io.WriteString(c, line+"\n"); err != nil {
			return "", err
		}
	}
	return c.lines.ReadString('\n')
}

const (
	moment = 50 * time.Millisecond
	long   = 20 * time.Second
)

func want(t *testing.T, what string, c client, line, answer string) {
	t.Helper()
	if got, err := c.says(line, long); got != answer+"\n" || err != nil {
		t.Errorf("%s: got %q, %v; want %q", what, got, err, answer)
	}
}

func wantSilence(t *testing.T, what string, c client, line string) {
	t.Helper()
	if got, err := c.says(line, moment); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s: got %q, %v; want no answer", what, got, err)
	}
}

func wantEnd(t *testing.T, what string, c client) {
	t.Helper()
	if got, err := c.says("x", long); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s: got %q, %v; want an end", what, got, err)
	}
}

func TestCutEndsConnectionsUntilMend(t *testing.T) {
	t.Parallel()
	proxy := startEcho(t)
	before := dial(t, proxy)
	want(t, "before", before, "a", "a")
	if n := proxy.Connections(); n != 1 {
		t.Errorf("got %d connections, want 1", n)
	}
	proxy.Cut()
	wantEnd(t, "a connection when it is cut", before)
	wantEnd(t, "a connection of the time of the cut", dial(t, proxy))
	proxy.Mend()
	want(t, "a connection of later", dial(t, proxy), "b", "b")
}

func TestSlowDelaysBothWays(t *testing.T) {
	t.Parallel()
	proxy := startEcho(t)
	c := dial(t, proxy)
	proxy.Slow(2 * moment)
	start := time.Now()
	want(t, "slow", c, "a", "a")
	if took := time.Since(start); took < 2*moment { // half of it each way
		t.Errorf("an answer took %v, want %v at least", took, 2*moment)
	}
	proxy.Slow(0)
	want(t, "quick again", c, "b", "b")
}

func TestLoseLosesWhatIsSentUntilRecover(t *testing.T) {
	t.Parallel()
	proxy := startEcho(t)
	c, idle := dial(t, proxy), dial(t, proxy)
	want(t, "before", idle, "a", "a")
	proxy.Lose()
	wantSilence(t, "lost", c, "a")
	proxy.Recover()
	wantEnd(t, "a connection that lost something", c)
	want(t, "a connection that lost nothing", idle, "b", "b")
}

func TestHoldDeliversLaterAndLetsNewConnectionsThrough(t *testing.T) {
	t.Parallel()
	proxy := startEcho(t)
	c, leaves := dial(t, proxy), dial(t, proxy)
	want(t, "before", c, "a", "a")
	want(t, "before", leaves, "a", "a")
	if n := proxy.Hold(); n != 2 {
		t.Errorf("got %d connections, want 2", n)
	}
	wantSilence(t, "held", c, "b")
	want(t, "a new connection", dial(t, proxy), "c", "c")
	_ = leaves.Close()
	time.Sleep(moment) // nothing tells that nobody notices
	if n := proxy.Connections(); n < 2 {
		t.Errorf("got %d connections, want also the one that was closed while it was held", n)
	}
	proxy.Deliver()
	want(t, "delivered", c, "", "b")
}

func TestCloseEndsWhatIsHeldAndSlow(t *testing.T) {
	t.Parallel()
	proxy := startEcho(t)
	held, slow := dial(t, proxy), dial(t, proxy)
	want(t, "before", held, "a", "a")
	proxy.Hold()
	wantSilence(t, "held", held, "b")
	proxy.Slow(time.Hour)
	wantSilence(t, "slow", slow, "b") // the cleanup closes the proxy
}
