package app_test

import (
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"inventory/internal/app"
	"inventory/internal/busytest"
)

// spanCollector takes spans by OTLP over HTTP.
type spanCollector struct {
	*httptest.Server
	mu       sync.Mutex
	services []string
	spans    []*trace.Span
}

func collectSpans(t *testing.T) *spanCollector {
	t.Helper()
	c := &spanCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var request collector.ExportTraceServiceRequest
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		c.takeSpans(&request)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *spanCollector) takeSpans(request *collector.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, process := range request.GetResourceSpans() {
		c.services = append(c.services, attributeOf(process.GetResource().GetAttributes(), "service.name"))
		for _, scope := range process.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
}

func attributeOf(attributes []*common.KeyValue, name string) string {
	for _, a := range attributes {
		if a.GetKey() == name {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// named returns the spans of a name whose parent is one of the given spans, or any span if none is given.
func (c *spanCollector) named(name string, parents ...*trace.Span) (found []*trace.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, span := range c.spans {
		child := len(parents) == 0
		for _, parent := range parents {
			child = child || string(span.GetParentSpanId()) == string(parent.GetSpanId())
		}
		if child && span.GetName() == name {
			found = append(found, span)
		}
	}
	return found
}

// statements returns the spans of statements of a name below some spans. The span of the message that carries them is between.
func (c *spanCollector) statements(name string, of ...*trace.Span) []*trace.Span {
	messages := c.named("batch start", of...)
	if len(messages) == 0 {
		return nil
	}
	return c.named(name, messages...)
}

// traceTo makes services that start from now on send their spans to an address, within a time and when they close.
func traceTo(t *testing.T, address string, within time.Duration) {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", strconv.FormatInt(within.Milliseconds(), 10))
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", strconv.FormatInt(busytest.Patience.Milliseconds(), 10))
}

// TestRequestsBatchesAndLocksHaveSpans cannot run in parallel: it changes the environment.
func TestRequestsBatchesAndLocksHaveSpans(t *testing.T) {
	spans := collectSpans(t)
	traceTo(t, spans.URL, 10*time.Millisecond)
	a, send := startTraced(t)
	if !strings.Contains(goroutines(), "go.opentelemetry.io/otel/sdk/trace") {
		t.Error("nothing runs that would send spans")
	}
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	send(http.MethodPut, "/v1/skus/traced", `{"stock":10}`, "")
	send(http.MethodPost, "/v1/skus/traced/deductions", `{"order_id":"o","quantity":1}`, "00-"+traceID+"-b7ad6b7169203331-01")
	send(http.MethodGet, "/v1/skus/traced", "", "")
	send(http.MethodPost, "/v1/orders", `{"order_id":"basket","reserve_for":"1m","lines":[{"sku":"traced","quantity":1}]}`, "")
	send(http.MethodPost, "/v1/orders/basket/commit", "", "")
	commits := func() []*trace.Span { return spans.named("POST /v1/orders/:order_id/commit") }
	busytest.Soon(t, "the spans of all requests and of the lock arrive", func() bool { // a closing service waits two seconds for that
		return len(spans.statements("WITH", commits()...)) > 0 && len(spans.named("evalsha")) > 0
	})
	closeNow(t, a)
	read := spans.named("GET /v1/skus/:sku")
	if len(read) != 1 || len(spans.statements("SELECT", read...)) == 0 {
		t.Errorf("a read has spans %v with statements %v", read, spans.statements("SELECT", read...))
	}
	deduct := spans.named("POST /v1/skus/:sku/deductions")
	if len(deduct) != 1 || hex.EncodeToString(deduct[0].GetTraceId()) != traceID {
		t.Errorf("a deduction has spans %v, want one in trace %s", deduct, traceID)
	}
	batch := spans.named("batch")
	if len(batch) != 1 || attributeOf(batch[0].GetAttributes(), "inventory.sku") != "traced" || len(spans.statements("WITH", batch...)) != 1 {
		t.Errorf("its batch has spans %v with statements %v", batch, spans.statements("WITH", batch...))
	}
	commit := commits()
	if len(commit) != 1 || len(spans.statements("WITH", commit...)) != 1 {
		t.Errorf("a commit of an order has spans %v with statements %v", commit, spans.statements("WITH", commit...))
	}
	if len(spans.named("evalsha")) == 0 {
		t.Error("the lock has no span")
	}
	spans.mu.Lock()
	defer spans.mu.Unlock()
	for _, service := range spans.services {
		if service != "inventory" {
			t.Errorf("the service is named %q", service)
		}
	}
}

func TestNoTracesUnlessConfigured(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	a, send := startTraced(t)
	send(http.MethodPut, "/v1/skus/untraced", `{"stock":10}`, "")
	busytest.Soon(t, "nothing of opentelemetry runs", func() bool { return !strings.Contains(goroutines(), "opentelemetry") })
	closeNow(t, a)
}

// TestASilentCollectorHoldsNobodyUp: Close gives up on it, and leaves nothing behind; TestMain checks that.
func TestASilentCollectorHoldsNobodyUp(t *testing.T) {
	busytest.Slow(t)
	asked := make(chan struct{}, 1)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the caller leaves
		select {
		case asked <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	traceTo(t, silent.URL, time.Hour)
	busytest.Soon(t, "a service that closes asks the collector", func() bool {
		a, send := startTraced(t)
		send(http.MethodPut, "/v1/skus/unheard", `{"stock":10}`, "")
		err := a.Close(context.WithoutCancel(t.Context()))
		if err == nil || !strings.Contains(err.Error(), "send the last traces") {
			t.Errorf("closing said %v", err)
		}
		return len(asked) > 0 // on a busy machine the service may have given up before
	})
}

// startTraced starts a service. send sends it a request, in a trace if one is given.
func startTraced(t *testing.T) (a *app.App, send func(method, path, body, traceparent string)) {
	t.Helper()
	a, err := tryStart(t, app.Config{DatabaseURL: emptyDatabase(t), RedisURL: redisServers[0].URL()})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	return a, func(method, path, body, traceparent string) {
		t.Helper()
		defer transport.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), method, a.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		if traceparent != "" {
			request.Header.Set("Traceparent", traceparent)
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode > 299 {
			t.Errorf("%s %s: %d", method, path, response.StatusCode)
		}
	}
}

// goroutines returns the stacks of all goroutines.
func goroutines() string {
	stacks := make([]byte, 4<<20)
	return string(stacks[:runtime.Stack(stacks, true)])
}
