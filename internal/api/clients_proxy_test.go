//go:build clients

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// failing is a service behind a proxy that fails as an order's id says: the proxy fails for "place.before.502" with 502 before it passes
// the first request to place this order on, and for "commit.after.502" after it has passed on the first commit. Of "always" and
// "never", every request fails until the proxy is mended.
type failing struct {
	*site
	proxy    *httptest.Server
	target   *httptest.Server // where redirects lead
	followed atomic.Int64
	mended   atomic.Bool

	mu     sync.Mutex
	failed map[string]bool // verbs of orders
}

func openFailing(t *testing.T) *failing {
	t.Helper()
	f := &failing{site: open(t), failed: make(map[string]bool)}
	f.target = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.followed.Add(1)
		f.pass(w, r, nil)
	}))
	f.proxy = httptest.NewServer(f)
	t.Cleanup(func() {
		f.proxy.CloseClientConnections()
		f.proxy.Close()
		f.target.Close()
	})
	return f
}

// ServeHTTP implements [http.Handler].
func (f *failing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has left
	}
	verb, id := requested(r, body)
	words := append(strings.Split(id, "."), "", "", "")
	when, fail := words[1], failures[words[2]]
	if words[0] != verb || fail == nil || !f.fails(when, verb+" "+id) {
		f.pass(w, r, body)
		return
	}
	if when == "after" || when == "always" {
		f.pass(httptest.NewRecorder(), r.WithContext(context.WithoutCancel(r.Context())), body)
	}
	fail(f, w, r)
}

// requested returns what a request wants, and of which order.
func requested(r *http.Request, body []byte) (verb, id string) {
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/orders"), "/")
	if r.Method == http.MethodPost && len(path) == 1 {
		var order struct {
			OrderID string `json:"order_id"`
		}
		_ = json.Unmarshal(body, &order) // what it is not is passed on
		return "place", order.OrderID
	}
	if len(path) == 3 {
		return path[2], path[1]
	}
	return "", ""
}

// fails reports whether a request is to fail.
func (f *failing) fails(when, what string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := !f.failed[what]
	f.failed[what] = true
	return first && (when == "before" || when == "after") || !f.mended.Load() && (when == "always" || when == "never")
}

// pass passes a request on to the service, and its answer back.
func (f *failing) pass(w http.ResponseWriter, r *http.Request, body []byte) {
	request, err := http.NewRequestWithContext(r.Context(), r.Method, f.url+r.URL.EscapedPath(), bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for _, name := range []string{"Content-Type", "Request-Deadline"} {
		if value := r.Header.Get(name); value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := f.client.Do(request)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer response.Body.Close()
	w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body) // the client may have left
}

// failures are what the proxy answers in the place of the service.
var failures = map[string]func(f *failing, w http.ResponseWriter, r *http.Request){
	"500":     page(500),
	"502":     page(502),
	"504":     page(504),
	"429":     page(429),
	"404":     page(404),
	"page":    page(200),
	"limited": refusal(429, "rate_limited"),
	"denied":  refusal(401, "unauthenticated"),
	"timeout": refusal(408, "request_timeout"),
	"moved":   redirect(http.StatusMovedPermanently),
	"other":   redirect(http.StatusTemporaryRedirect),
	"nothing": func(*failing, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"half":    half,
	"hang":    func(_ *failing, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
}

func page(status int) func(*failing, http.ResponseWriter, *http.Request) {
	return func(_ *failing, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html><body>We are busy.</body></html>") // the client may have left
	}
}

func refusal(status int, code string) func(*failing, http.ResponseWriter, *http.Request) {
	return func(_ *failing, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"type":"t","title":"t","status":%d,"detail":"d","code":%q,"final":false}`, status, code) // as above
	}
}

func redirect(status int) func(*failing, http.ResponseWriter, *http.Request) {
	return func(f *failing, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, f.target.URL+r.URL.EscapedPath(), status)
	}
}

// half cuts an answer off that looks like the service's.
func half(_ *failing, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"order_id":"o","lines":[{"sku":"lamp"`) // as above
	panic(http.ErrAbortHandler)
}
