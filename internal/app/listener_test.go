package app

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"inventory/internal/busytest"
)

// testListener is a listener that signals whenever one of its connections has become idle, a moment after its answer.
type testListener struct {
	*listener
	becameIdle chan struct{}
}

// answered waits for the answer to the only caller that waits for one, until its connection is idle.
func (l testListener) answered(c caller) {
	c.t.Helper()
	c.answered()
	busytest.Receive(c.t, "that the connection is idle", l.becameIdle)
}

// listen serves a handler with two places for connections, and returns its address.
func listen(t *testing.T, handler http.HandlerFunc) (l testListener, address string) {
	t.Helper()
	l = testListener{newListener(listenPlain(t), 2, leastWait), make(chan struct{}, 10)}
	note := func(_ net.Conn, state http.ConnState) {
		if state == http.StateIdle {
			l.becameIdle <- struct{}{}
		}
	}
	admitting := func(w http.ResponseWriter, r *http.Request) {
		r.Context().Value(connKey{}).(*conn).admitted.Store(true)
		handler(w, r)
	}
	server := &http.Server{Handler: noteWork(http.HandlerFunc(admitting)), ConnContext: connContext, ConnState: note, ReadHeaderTimeout: busytest.Patience}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		err := errors.Join(server.Close(), server.Shutdown(context.WithoutCancel(t.Context())))
		if err := errors.Join(err, <-served); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l, l.Addr().String()
}

func listenPlain(t *testing.T) net.Listener {
	t.Helper()
	plain, err := listenOn(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// caller is one end of a connection.
type caller struct {
	net.Conn
	t       *testing.T
	answers *bufio.Reader
}

func call(t *testing.T, address string) caller {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(busytest.Patience)); err != nil {
		t.Fatal(err)
	}
	return caller{conn, t, bufio.NewReader(conn)}
}

func (c caller) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

func (c caller) answered() {
	c.t.Helper()
	answer, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		c.t.Fatal(err)
	}
	answer.Body.Close()
}

// closed waits for the end of the connection.
func (c caller) closed() {
	c.t.Helper()
	if _, err := c.answers.ReadByte(); err == nil {
		c.t.Error("there is an answer")
	} else if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		c.t.Error("the connection stays")
	}
}

// TestIdleConnectionsKeepNobodyOut: neither connections that send nothing, nor those that send half a request, nor those
// that have been answered.
func TestIdleConnectionsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	l, address := listen(t, func(http.ResponseWriter, *http.Request) {})
	silent, slow := call(t, address), call(t, address)
	slow.send(request[:10])
	first := call(t, address)
	first.send(request)
	l.answered(first)
	silent.closed()
	second := call(t, address)
	second.send(request)
	l.answered(second)
	slow.closed()
	first.send(request) // so second is idle for longest
	l.answered(first)
	third := call(t, address)
	third.send(request)
	l.answered(third)
	second.closed()
	first.send(request)
	l.answered(first)
}

// TestBusyConnectionsStay: a connection that is being answered is not closed, and a new caller waits until one of them
// is done.
func TestBusyConnectionsStay(t *testing.T) {
	t.Parallel()
	begun, end := make(chan struct{}), make(chan struct{})
	l, address := listen(t, func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-end
	})
	busy := []caller{call(t, address), call(t, address)}
	for _, c := range busy {
		c.send(request)
		<-begun
	}
	waiting := call(t, address)
	waiting.send(request)
	end <- struct{}{}
	busytest.Receive(t, "the request of the one that waited", begun)
	if inside := l.count(); inside > 2 {
		t.Errorf("%d connections at once, want two", inside)
	}
	close(end)
	waiting.answered()
	answered := 0
	for _, c := range busy {
		if answer, err := http.ReadResponse(c.answers, nil); err == nil {
			answer.Body.Close()
			answered++
		}
	}
	if answered != 2 {
		t.Errorf("%d of two were answered", answered)
	}
}

// TestFullListenerCloses: Accept returns when a listener closes that works for all its callers.
func TestFullListenerCloses(t *testing.T) {
	t.Parallel()
	l := newListener(listenPlain(t), 1, leastWait)
	call(t, l.Addr().String())
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	first.(*conn).work()
	call(t, l.Addr().String())
	refused := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		refused <- err
	}()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := busytest.Receive(t, "the end of Accept", refused); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v, want %v", err, net.ErrClosed)
	}
	if err := first.Close(); err != nil || l.count() != 0 {
		t.Errorf("%v, %d connections left, want none", err, l.count())
	}
}

// TestDrainWaitsForConnections: until the last one has ended, or its context.
func TestDrainWaitsForConnections(t *testing.T) {
	t.Parallel()
	l := newListener(listenPlain(t), 2, leastWait)
	call(t, l.Addr().String())
	last, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	l.drain(ended)
	drained := make(chan struct{})
	go func() {
		l.drain(t.Context())
		close(drained)
	}()
	select {
	case <-drained:
		t.Fatal("drained with a connection left")
	case <-time.After(50 * time.Millisecond): // the time in which it must not return
	}
	if err := last.Close(); err != nil {
		t.Error(err)
	}
	busytest.Receive(t, "the end of the drain", drained)
}

// TestStalledCallersKeepNobodyOut: neither callers whose bodies do not come, nor those that do not read their answers, nor those
// that were answered before their bodies had come.
func TestStalledCallersKeepNobodyOut(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]string{
		"no body":             "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n",
		"a part of a body":    "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nx",
		"no last chunk":       "POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
		"a body when asked":   "POST /read HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n",
		"an unread answer":    "GET /large HTTP/1.1\r\nHost: a\r\n\r\n",
		"an unread stream":    "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n",
		"a body for nobody":   "POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n",
		"and then the end":    "POST /refused HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 100\r\n\r\n",
		"chunks for nobody":   "POST /refused HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
		"a request too early": strings.Repeat("GET /large HTTP/1.1\r\nHost: a\r\n\r\n", 2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := make(chan struct{}, 10)
			_, address := listen(t, func(w http.ResponseWriter, r *http.Request) {
				begun <- struct{}{}
				switch r.URL.Path {
				case "/read":
					_, _ = io.Copy(io.Discard, r.Body)
				case "/large":
					_, _ = w.Write(make([]byte, 64<<20))
				case "/stream":
					for err := error(nil); err == nil; err = http.NewResponseController(w).Flush() {
						_, _ = w.Write(make([]byte, 1<<10))
					}
				}
			})
			for range 2 {
				call(t, address).send(sent)
				busytest.Receive(t, "the request", begun)
			}
			honest := call(t, address)
			honest.send(request)
			honest.answered()
		})
	}
}

// TestStrangersLeaveOthersTheirConnections: however many strangers come, a caller that is known keeps its connection.
func TestStrangersLeaveOthersTheirConnections(t *testing.T) {
	t.Parallel()
	l, address := listen(t, func(http.ResponseWriter, *http.Request) {})
	known := call(t, address)
	for range 5 {
		known.send(request)
		l.answered(known)
		for range 5 {
			call(t, address)
		}
	}
}

// TestHTTP2CallersThatDoNotReadKeepNobodyOut: what is sent waits there for the caller's window, and no write does.
func TestHTTP2CallersThatDoNotReadKeepNobodyOut(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"an answer": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 64<<20)) },
		"a stream": func(w http.ResponseWriter, _ *http.Request) {
			for err := error(nil); err == nil; err = http.NewResponseController(w).Flush() {
				_, _ = w.Write(make([]byte, 1<<10))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := make(chan struct{}, 10)
			server := httptest.NewUnstartedServer(noteWork(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if begun <- struct{}{}; r.ProtoMajor == 2 {
					handler(w, r)
				}
			})))
			server.Listener.Close()
			server.Listener, server.EnableHTTP2, server.Config.ConnContext = newListener(listenPlain(t), 2, leastWait), true, connContext
			server.StartTLS()
			t.Cleanup(func() {
				server.CloseClientConnections()
				server.Close()
			})
			for range 2 {
				askWithoutWindow(t, server)
				busytest.Receive(t, "the request", begun)
			}
			conn := callOverTLS(t, server)
			honest := caller{conn, t, bufio.NewReader(conn)}
			honest.send(request)
			honest.answered()
		})
	}
}

func callOverTLS(t *testing.T, server *httptest.Server, protocols ...string) net.Conn {
	t.Helper()
	config := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	config.ServerName, config.NextProtos = "example.com", protocols // as httptest's certificate has it
	return tls.Client(call(t, server.Listener.Addr().String()), config)
}

// askWithoutWindow sends a request over HTTP/2, and takes no byte of the answer's body.
func askWithoutWindow(t *testing.T, server *httptest.Server) {
	t.Helper()
	conn := callOverTLS(t, server, "h2")
	var header bytes.Buffer
	encoder, framer := hpack.NewEncoder(&header), http2.NewFramer(conn, conn)
	_, err := io.WriteString(conn, http2.ClientPreface)
	for _, field := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "a"}, {Name: ":path", Value: "/"}} {
		err = errors.Join(err, encoder.WriteField(field))
	}
	err = errors.Join(err, framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}),
		framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: header.Bytes(), EndStream: true, EndHeaders: true}))
	if err != nil {
		t.Fatal(err)
	}
}

// TestAWriteBesideARequestsEnd: over HTTP/2 frames are written while handlers end. Afterwards the service works on nothing.
func TestAWriteBesideARequestsEnd(t *testing.T) {
	t.Parallel()
	l := newListener(listenPlain(t), 1, leastWait)
	call(t, l.Addr().String())
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c := accepted.(*conn)
	c.work()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c.Conn.Close()
	c.Conn = ours
	written := make(chan error, 1)
	go func() {
		_, err := c.Write([]byte("frame"))
		written <- err
	}()
	if _, err := theirs.Read(make([]byte, 1)); err != nil { // it is being written
		t.Fatal(err)
	}
	c.pause()
	if _, err := io.ReadFull(theirs, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if l.longest() != c {
		t.Errorf("the service seems to work on %d requests", c.requests)
	}
}

// TestAStrangerWhoHasWaitedLongerGoesFirst: also while strangers have few of the places.
func TestAStrangerWhoHasWaitedLongerGoesFirst(t *testing.T) {
	t.Parallel()
	l := newListener(listenPlain(t), 10, leastWait)
	defer func() { _ = l.Close() }()
	come := func() *conn {
		inner, outer := net.Pipe()
		t.Cleanup(func() { _, _ = inner.Close(), outer.Close() })
		return l.place(inner)
	}
	stranger, known := come(), come()
	known.admitted.Store(true)
	known.work()
	known.pause()
	if got := l.longest(); got != stranger {
		t.Errorf("%+v goes first, want the stranger, who came before the other was served", got)
	}
	stranger.work()
	stranger.pause()
	if got := l.longest(); got != known {
		t.Errorf("%+v goes first, want the known one, which has waited longer now", got)
	}
}
