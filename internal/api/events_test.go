package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/tmaxmax/go-sse"

	"inventory/internal/api"
	"inventory/internal/busytest"
	"inventory/internal/events"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// pipes are a network in memory, without buffers: a write waits until it is read, as over a connection whose buffers are full. In virtual
// time a test has no other network: while somebody waits for a real one, no time passes.
type pipes struct {
	connections chan net.Conn
	closed      chan struct{}
	close       func()
}

func newPipes() *pipes {
	p := &pipes{connections: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

// Accept implements [net.Listener].
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.connections:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (p *pipes) Close() error {
	p.close()
	return nil
}

// Addr implements [net.Listener]. The address is one for which the certificate of httptest is valid.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.connections <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// oneSKU is a store that has the SKU a.
type oneSKU struct{ brokenStore }

func (oneSKU) Status(_ context.Context, sku string, _ time.Time) (stock.Status, error) {
	if sku != "a" {
		return stock.Status{}, stock.UnknownSKU(sku)
	}
	return stock.Status{}, nil
}

// stand is a public handler in a server with short limits, so that a test can show that a stream outlives them. It is opened in
// virtual time.
type stand struct {
	t      *testing.T
	hub    *events.Hub
	pipes  *pipes
	server *httptest.Server
	client *http.Client
	schema openapi3.Schemas
}

const serverLimit = 100 * time.Millisecond // of the server, for reading a request and for answering

// standConfig says how a stand differs from the usual one.
type standConfig struct {
	heartbeat time.Duration
	listeners int
	guard     api.Guard
	http2     bool
}

func openStand(t *testing.T, c standConfig) *stand {
	t.Helper()
	s := &stand{t: t, hub: events.NewHub(events.Config{Listeners: c.listeners}), pipes: newPipes(), schema: document(t).Components.Schemas}
	service := selling.NewService(selling.Config{Store: oneSKU{}})
	s.server = httptest.NewUnstartedServer(api.New(api.Config{
		Service: service, Events: s.hub, Heartbeat: c.heartbeat, Guard: c.guard,
		Metrics: api.NewMetrics(prometheus.NewRegistry()), Logger: slog.New(slog.DiscardHandler),
	}))
	s.server.Listener.Close()
	s.server.Listener = s.pipes
	s.server.Config.ReadTimeout, s.server.Config.WriteTimeout = serverLimit, serverLimit
	if s.server.EnableHTTP2 = c.http2; c.http2 {
		s.server.StartTLS()
	} else {
		s.server.Start()
	}
	s.client = s.server.Client()
	s.client.Transport.(*http.Transport).DialContext = s.pipes.dial
	t.Cleanup(func() {
		s.hub.Dismiss()
		s.client.CloseIdleConnections()
		s.server.Close()
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(service.Close(ctx), s.hub.Close(ctx)); err != nil {
			t.Error(err)
		}
	})
	return s
}

// listening is an answer without an end.
type listening struct {
	status int
	major  int // version of HTTP
	header http.Header
	body   io.ReadCloser
}

// listen opens a stream, and returns when its head has arrived.
func (s *stand) listen(query string, header ...string) listening {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.server.URL+"/v1/events"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Set(name, value)
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { response.Body.Close() })
	return listening{response.StatusCode, response.ProtoMajor, response.Header, response.Body}
}

// pull returns a function that gives the frames of a stream one by one, each checked against the document.
func (s *stand) pull(answer listening) func() sse.Event {
	s.t.Helper()
	next, stop := iter.Pull2(sse.Read(answer.body, nil))
	s.t.Cleanup(stop)
	return func() sse.Event {
		s.t.Helper()
		f, err, ok := next()
		if err != nil || !ok {
			s.t.Fatalf("the stream ended: %v", err)
		}
		schema := "Event"
		if f.Type == "lost" {
			schema = "LostEvents"
		}
		var data any
		if err := json.Unmarshal([]byte(f.Data), &data); err != nil {
			s.t.Fatalf("%s: %v", f.Data, err)
		}
		if err := s.schema[schema].Value.VisitJSON(data); err != nil {
			s.t.Errorf("%s %s: not as the document says: %v", f.Type, f.Data, err)
		}
		return f
	}
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 5000, time.UTC)

func TestStreamSendsEvents(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openStand(t, standConfig{})
		stream := s.listen("?sku=a")
		for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
			if got := stream.header.Get(name); stream.status != http.StatusOK || got != want {
				t.Errorf("%d, %s: %s", stream.status, name, got)
			}
		}
		next := s.pull(stream)
		process := ""
		for i, c := range []struct {
			event stock.Event
			data  string
		}{
			{stock.Event{Kind: stock.EventSale, Orders: 2, Units: 7}, `{"kind":"sale","sku":"a","orders":2,"units":7,"at":"2026-01-02T12:00:00.000005Z"}`},
			{stock.Event{Kind: stock.EventMerge, Orders: 1, Units: 9}, `{"kind":"merge","sku":"a","orders":1,"units":9,"at":"2026-01-02T12:00:00.000005Z"}`},
			{stock.Event{Kind: stock.EventSoldOut}, `{"kind":"sold_out","sku":"a","at":"2026-01-02T12:00:00.000005Z"}`},
			{stock.Event{Kind: stock.EventBackInStock, Units: 3}, `{"kind":"back_in_stock","sku":"a","units":3,"at":"2026-01-02T12:00:00.000005Z"}`},
		} {
			c.event.SKU, c.event.At = "b", noon
			s.hub.Publish(c.event)
			c.event.SKU = "a"
			s.hub.Publish(c.event)
			f := next()
			id, number, _ := strings.Cut(f.LastEventID, "-")
			if process == "" {
				process = id
			}
			if f.Type != string(c.event.Kind) || f.Data != c.data || id != process || number != fmt.Sprint(2*i+2) {
				t.Errorf("got %+v, want %s", f, c.data)
			}
		}
	})
}

// TestStreamOutlivesTheServersLimits: the limits are for answers that end.
func TestStreamOutlivesTheServersLimits(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openStand(t, standConfig{heartbeat: serverLimit / 4})
		stream := s.listen("")
		text := make([]byte, 0, 1000)
		for end := time.Now().Add(4 * serverLimit); time.Now().Before(end); {
			part := make([]byte, 100)
			n, err := stream.body.Read(part)
			if err != nil {
				t.Fatalf("after %q: %v", text, err)
			}
			text = append(text, part[:n]...)
		}
		if want := "retry: 2000\n\n" + strings.Repeat(": \n\n", 16); string(text) != want {
			t.Errorf("got %q, want %q", text, want)
		}
		next := s.pull(stream)
		s.hub.Publish(stock.Event{Kind: stock.EventSoldOut, SKU: "a", At: noon})
		if f := next(); f.Type != "sold_out" {
			t.Errorf("got %+v", f)
		}
	})
}

// standStill opens a stream of all SKUs, reads its beginning, and then nothing.
func (s *stand) standStill() net.Conn {
	s.t.Helper()
	conn, err := s.pipes.dial(s.t.Context(), "", "")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	if _, err := conn.Write([]byte("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		s.t.Fatal(err)
	}
	for text := ""; !strings.Contains(text, "retry: 2000"); {
		part := make([]byte, 1000)
		n, err := conn.Read(part)
		if err != nil {
			s.t.Fatalf("after %q: %v", text, err)
		}
		text += string(part[:n])
	}
	return conn
}

// overflow publishes more events than wait for a listener that stands still, and has a listener to the SKU a, which reads, wait for none
// of them: in virtual time an event takes at most a batch and a rest.
func (s *stand) overflow(next func() sse.Event) {
	s.t.Helper()
	const most = 100 * time.Millisecond
	for range 10 {
		for i := range 1000 {
			s.hub.Publish(stock.Event{Kind: stock.EventSale, SKU: fmt.Sprint(strings.Repeat("x", 50), i), Orders: 1, Units: 1, At: noon})
		}
		published := time.Now()
		s.hub.Publish(stock.Event{Kind: stock.EventSale, SKU: "a", Orders: 1, Units: 1, At: noon})
		if f, took := next(), time.Since(published); f.Type != "sale" || took > most {
			s.t.Fatalf("got %+v after %v, want a sale within %v", f, took, most)
		}
	}
	if s.hub.Lost() == 0 {
		s.t.Error("the listener that stands still has lost nothing")
	}
	s.wantListeners(2)
}

// wantListeners checks how many listeners are left when nothing happens any more.
func (s *stand) wantListeners(n int) {
	s.t.Helper()
	synctest.Wait()
	if left := s.hub.Listeners(); left != n {
		s.t.Errorf("%d listeners are left, want %d", left, n)
	}
}

// TestListenerWhoStandsStillIsCutOff: neither publishers nor other readers wait for it.
func TestListenerWhoStandsStillIsCutOff(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openStand(t, standConfig{})
		conn := s.standStill()
		s.overflow(s.pull(s.listen("?sku=a")))
		time.Sleep(api.Patience)
		s.wantListeners(1)
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("the connection is not closed: %v", err)
		}
	})
}

// TestNobodyWaitsLongAtTheEndForAListenerWhoStandsStill.
func TestNobodyWaitsLongAtTheEndForAListenerWhoStandsStill(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openStand(t, standConfig{})
		s.standStill()
		s.overflow(s.pull(s.listen("?sku=a"))) // a write to it is in progress
		s.hub.Dismiss()
		time.Sleep(api.Patience)
		s.wantListeners(0)
	})
}

func TestListenerWhoComesBackLearnsThatEventsAreMissing(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openStand(t, standConfig{})
		if f := s.pull(s.listen("", "Last-Event-ID: x-1"))(); f.Type != "lost" || f.Data != `{"count":0}` || f.LastEventID != "" {
			t.Errorf("got %+v", f)
		}
	})
}

func TestListenersThatAreRefused(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openStand(t, standConfig{listeners: 2})
		refused := func(stream listening, status int, code string) {
			t.Helper()
			body, err := io.ReadAll(stream.body)
			if err != nil || stream.status != status || !strings.Contains(string(body), `"code":"`+code+`"`) {
				t.Errorf("got %d %s %v, want %d %s", stream.status, body, err, status, code)
			}
		}
		refused(s.listen("?sku=none"), 404, "unknown_sku")
		refused(s.listen("?sku="), 400, "invalid_request")
		refused(s.listen("?sku=a&sku=b"), 400, "invalid_request")
		first := s.listen("")
		s.listen("")
		third := s.listen("")
		refused(third, 503, "overloaded")
		if third.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		first.body.Close()
		s.wantListeners(1)
		if stream := s.listen(""); stream.status != http.StatusOK {
			t.Errorf("got %d", stream.status)
		}
		for _, method := range []string{http.MethodPost, http.MethodDelete, http.MethodPut} {
			request, err := http.NewRequestWithContext(t.Context(), method, s.server.URL+"/v1/events", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := s.client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s: %d", method, response.StatusCode)
			}
		}
	})
}

// TestStreamEndsWell: a stream ends cleanly when the service stops, also long after the last write.
func TestStreamEndsWell(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openStand(t, standConfig{})
		stream := s.listen("")
		time.Sleep(3 * api.Patience / 2) // by then the limit of its last write has passed
		s.hub.Dismiss()
		body, err := io.ReadAll(stream.body)
		if want := "retry: 2000\n\n"; err != nil || string(body) != want {
			t.Errorf("got %q, %v, want %q", body, err, want)
		}
		if stream := s.listen(""); stream.status != http.StatusServiceUnavailable {
			t.Errorf("a new listener: %d", stream.status)
		}
	})
}

// TestAQuietStreamStaysOpenOverHTTP2: there the limit of a write ends the whole stream when its time comes, also while nothing is written.
func TestAQuietStreamStaysOpenOverHTTP2(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openStand(t, standConfig{http2: true})
		stream := s.listen("")
		if stream.major != 2 {
			t.Fatalf("the stream came over HTTP/%d", stream.major)
		}
		next := s.pull(stream)
		time.Sleep(3 * api.Patience / 2) // by then the limit of its last write has passed
		s.hub.Publish(stock.Event{Kind: stock.EventSoldOut, SKU: "a", At: noon})
		if f := next(); f.Type != "sold_out" {
			t.Errorf("got %+v", f)
		}
	})
}
