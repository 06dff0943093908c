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
	"syscall"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/tmaxmax/go-sse"

	"inventory/internal/api"
	"inventory/internal/events"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
	"inventory/internal/stock/sqlite"
	"inventory/internal/stock/stocktest"
)

// stand is a public handler in a server with short limits, so that a test can show that a stream outlives them.
type stand struct {
	*testing.T
	hub    *events.Hub
	server *httptest.Server
	client *http.Client
	schema openapi3.Schemas
}

const serverLimit = 100 * time.Millisecond // of the server, for reading a request and for answering

func openStand(t *testing.T, heartbeat time.Duration, listeners int) *stand {
	t.Helper()
	store, err := sqlite.Open(t.Context(), stocktest.SQLiteFile(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{T: t, hub: events.NewHub(events.Config{Listeners: listeners}), client: &http.Client{Transport: &http.Transport{}}}
	service := selling.NewService(selling.Config{Store: store})
	s.server = httptest.NewUnstartedServer(api.New(api.Config{
		Service: service, Events: s.hub, Heartbeat: heartbeat,
		Metrics: api.NewMetrics(prometheus.NewRegistry()), Logger: slog.New(slog.DiscardHandler),
	}))
	s.server.Config.ReadTimeout, s.server.Config.WriteTimeout = serverLimit, serverLimit
	s.server.Start()
	t.Cleanup(func() {
		s.hub.Dismiss()
		s.client.CloseIdleConnections()
		s.server.Close()
		ctx := context.WithoutCancel(t.Context())
		for _, close := range []func() error{
			func() error { return service.Close(ctx) }, func() error { return s.hub.Close(ctx) }, store.Close,
		} {
			if err := close(); err != nil {
				t.Error(err)
			}
		}
	})
	s.schema = document(t).Components.Schemas
	if _, _, err := service.CreateSKU(t.Context(), stock.NewSKU{SKU: "a", Stock: 1, Segments: 1}); err != nil {
		t.Fatal(err)
	}
	return s
}

// listening is an answer without an end.
type listening struct {
	status int
	header http.Header
	body   io.ReadCloser
}

// listen opens a stream, and returns when its head has arrived.
func (s *stand) listen(query string, header ...string) listening {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.server.URL+"/v1/events"+query, nil)
	if err != nil {
		s.Fatal(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Set(name, value)
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { response.Body.Close() })
	return listening{response.StatusCode, response.Header, response.Body}
}

// pull returns a function that gives the frames of a stream one by one, each checked against the document.
func (s *stand) pull(answer listening) func() sse.Event {
	s.Helper()
	next, stop := iter.Pull2(sse.Read(answer.body, nil))
	s.Cleanup(stop)
	return func() sse.Event {
		s.Helper()
		f, err, ok := next()
		if err != nil || !ok {
			s.Fatalf("the stream ended: %v", err)
		}
		schema := "Event"
		if f.Type == "lost" {
			schema = "LostEvents"
		}
		var data any
		if err := json.Unmarshal([]byte(f.Data), &data); err != nil {
			s.Fatalf("%s: %v", f.Data, err)
		}
		if err := s.schema[schema].Value.VisitJSON(data); err != nil {
			s.Errorf("%s %s: not as the document says: %v", f.Type, f.Data, err)
		}
		return f
	}
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 5000, time.UTC)

func TestStreamSendsEvents(t *testing.T) {
	t.Parallel()
	s := openStand(t, 0, 0)
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
}

// TestStreamOutlivesTheServersLimits: the limits are for answers that end.
func TestStreamOutlivesTheServersLimits(t *testing.T) {
	t.Parallel()
	s := openStand(t, serverLimit/4, 0)
	stream := s.listen("")
	text := make([]byte, 0, 1000)
	for end := time.Now().Add(4 * serverLimit); time.Now().Before(end); { // the time in which it must not end
		part := make([]byte, 100)
		n, err := stream.body.Read(part)
		if err != nil {
			t.Fatalf("after %q: %v", text, err)
		}
		text = append(text, part[:n]...)
	}
	if !strings.HasPrefix(string(text), "retry: 2000\n\n: \n\n: \n\n") {
		t.Errorf("got %q", text)
	}
	next := s.pull(stream)
	s.hub.Publish(stock.Event{Kind: stock.EventSoldOut, SKU: "a", At: noon})
	if f := next(); f.Type != "sold_out" {
		t.Errorf("got %+v", f)
	}
}

// untilListeners waits until that many listeners are left.
func (s *stand) untilListeners(n int) {
	s.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); s.hub.Listeners() != n; <-tick.C {
		if time.Now().After(end) {
			s.Fatalf("%d listeners, want %d", s.hub.Listeners(), n)
		}
	}
}

// standStill opens a stream and reads nothing from it.
func (s *stand) standStill() net.Conn {
	s.Helper()
	conn, err := (&net.Dialer{}).DialContext(s.Context(), "tcp", s.server.Listener.Addr().String())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { conn.Close() })
	if _, err := conn.Write([]byte("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		s.Fatal(err)
	}
	return conn
}

// fill publishes many events for listeners to all SKUs, and one event of the SKU a, until a condition holds.
func (s *stand) fill(next func() sse.Event, is func() bool) {
	s.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); {
		for i := range 1000 {
			s.hub.Publish(stock.Event{Kind: stock.EventSale, SKU: fmt.Sprint(strings.Repeat("x", 50), i), Orders: 1, Units: 1, At: noon})
		}
		s.hub.Publish(stock.Event{Kind: stock.EventSale, SKU: "a", Orders: 1, Units: 1, At: noon})
		if f := next(); f.Type != "sale" {
			s.Fatalf("got %+v", f)
		}
		if time.Now().After(end) {
			s.Fatalf("%d listeners, %d events lost", s.hub.Listeners(), s.hub.Lost())
		}
	}
}

// TestListenerWhoStandsStillIsCutOff: neither publishers nor other readers wait for it.
func TestListenerWhoStandsStillIsCutOff(t *testing.T) { // not in parallel: it publishes without a pause
	s := openStand(t, 0, 0)
	conn := s.standStill()
	next := s.pull(s.listen("?sku=a"))
	s.fill(next, func() bool { return s.hub.Lost() > 0 })
	s.fill(next, func() bool { return s.hub.Listeners() == 1 })
	if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection is not closed: %v", err)
	}
}

// TestNobodyWaitsLongAtTheEndForAListenerWhoStandsStill.
func TestNobodyWaitsLongAtTheEndForAListenerWhoStandsStill(t *testing.T) { // not in parallel: it publishes without a pause
	s := openStand(t, 0, 0)
	s.standStill()
	s.fill(s.pull(s.listen("?sku=a")), func() bool { return s.hub.Lost() > 0 }) // a write to it is in progress
	s.hub.Dismiss()
	s.untilListeners(0)
}

func TestListenerWhoComesBackLearnsThatEventsAreMissing(t *testing.T) {
	t.Parallel()
	s := openStand(t, 0, 0)
	if f := s.pull(s.listen("", "Last-Event-ID: x-1"))(); f.Type != "lost" || f.Data != `{"count":0}` || f.LastEventID != "" {
		t.Errorf("got %+v", f)
	}
}

func TestListenersThatAreRefused(t *testing.T) {
	t.Parallel()
	s := openStand(t, 0, 2)
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
	s.untilListeners(1)
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
}

// TestStreamEndsWell: a stream ends cleanly when the service stops, also long after the last write.
func TestStreamEndsWell(t *testing.T) {
	t.Parallel()
	s := openStand(t, 0, 0)
	stream := s.listen("")
	select {
	case <-time.After(3 * time.Second): // by then the limit of its last write has passed
	case <-t.Context().Done():
	}
	s.hub.Dismiss()
	body, err := io.ReadAll(stream.body)
	if want := "retry: 2000\n\n"; err != nil || string(body) != want {
		t.Errorf("got %q, %v, want %q", body, err, want)
	}
	if stream := s.listen(""); stream.status != http.StatusServiceUnavailable {
		t.Errorf("a new listener: %d", stream.status)
	}
}

// TestAQuietStreamStaysOpenOverHTTP2: there the limit of a write ends the whole stream when its time comes, also while nothing is written.
func TestAQuietStreamStaysOpenOverHTTP2(t *testing.T) {
	t.Parallel()
	s := openStand(t, 0, 0)
	s.server.Close()
	s.server = httptest.NewUnstartedServer(s.server.Config.Handler)
	s.server.EnableHTTP2, s.server.Config.WriteTimeout = true, serverLimit
	s.server.StartTLS()
	s.client = s.server.Client()
	next := s.pull(s.listen(""))
	select {
	case <-time.After(3 * time.Second): // by then the limit of its last write has passed
	case <-t.Context().Done():
	}
	s.hub.Publish(stock.Event{Kind: stock.EventSoldOut, SKU: "a", At: noon})
	if f := next(); f.Type != "sold_out" {
		t.Errorf("got %+v", f)
	}
}
