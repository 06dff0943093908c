//go:build browser

package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"inventory/internal/app"
	"inventory/internal/browsertest"
)

// TestKeyInABrowser: the console asks for a key, refuses a wrong one, and keeps a right one for the tab only.
func TestKeyInABrowser(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{})
	d.want(d.as(operator, "PUT", "/v1/skus/shoe", `{"stock":5}`), 201, "")
	tab := browsertest.OpenAt(t, d.url+"/console")
	tab.Shows("dialog", "This service asks for a key.")
	if focused := browsertest.Do(tab, chromedp.Evaluate[string](`document.activeElement.name`)); focused != "key" {
		t.Errorf("%q has the focus, want the field of the key", focused)
	}
	browsertest.LookAt(tab, "key")
	tab.Writes("dialog input", "inv_wrong")
	tab.Clicks("dialog form button")
	tab.Shows("dialog", "does not take this key")
	tab.Clicks("dialog header button")
	tab.Shows("#banner", "The service does not take this key (since", "Sales go on", "This page has read nothing yet.")
	browsertest.LookAt(tab, "wrong-key")
	tab.Clicks("#banner button")
	tab.Writes("dialog input", d.credentials[operator])
	tab.Clicks("dialog form button")
	tab.Shows("main", "shoe", "On sale")
	tab.Shows("#link", "Live")
	isWell(t, tab)
	kept := browsertest.Do(tab, chromedp.Evaluate[[]int](`[sessionStorage.length, localStorage.length, document.cookie.length]`))
	if kept[0] != 1 || kept[1] != 0 || kept[2] != 0 {
		t.Errorf("kept in the session, for longer, and as a cookie: %v", kept)
	}
	tab.IsClean(d.url, "401 (Unauthorized)", "net::ERR_ABORTED")
}

// TestBuyerKeyInABrowser: a key that may not see locks sees stock all the same, and is not asked for again.
func TestBuyerKeyInABrowser(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{})
	d.want(d.as(operator, "PUT", "/v1/skus/shoe", `{"stock":5,"segments":1}`), 201, "")
	tab := browsertest.OpenAt(t, d.url+"/console#/sku/shoe")
	tab.Shows("dialog", "This service asks for a key.")
	tab.Writes("dialog input", d.credentials[shop])
	tab.Clicks("dialog form button")
	tab.Shows(".total", "of 5 available")
	tab.Shows("#link", "Live")
	tab.Shows("main", "this takes a key of the scope admin") // the ledger, which is an admin's
	isWell(t, tab)
	if asks := browsertest.Do(tab, chromedp.Evaluate[bool](`document.querySelector("dialog") !== null`)); asks {
		t.Error("the page asks for another key")
	}
	tab.IsClean(d.url, "401 (Unauthorized)", "403 (Forbidden)", "net::ERR_ABORTED")
}

// TestLostConnectionInABrowser takes the service away from the page and gives it back: the page says so, and goes on.
func TestLostConnectionInABrowser(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/shoe", `{"stock":5,"segments":1}`), 201, "")
	var down atomic.Bool
	front := s.behind(func(w http.ResponseWriter, _ *http.Request) bool {
		if down.Load() {
			http.Error(w, "down", http.StatusBadGateway)
		}
		return down.Load()
	})
	tab := browsertest.OpenAt(t, front.URL+"/console#/sku/shoe")
	tab.Shows("#link", "Live")
	tab.Shows(".total", "5")
	down.Store(true)
	front.CloseClientConnections()
	tab.Shows("#link", "Connection lost, trying again in")
	tab.Shows("#banner", "The service does not answer (since", "Look whether the process runs", "The grey figures are those of")
	tab.Shows(".figure dd", "–")
	browsertest.LookAt(tab, "no-service")
	s.want(s.send("POST", "/v1/skus/shoe/deductions", `{"order_id":"o","quantity":5}`), 201, "")
	down.Store(false)
	tab.Shows("#link", "Live")
	tab.Shows(".pill", "Sold out")
	isWell(t, tab)
	tab.IsClean(front.URL, "502 (Bad Gateway)", "net::ERR_", "Failed to load resource")
}

// behind starts a server that passes on to the site all requests that it does not answer itself.
func (s *site) behind(answers func(http.ResponseWriter, *http.Request) bool) *httptest.Server {
	s.t.Helper()
	to, err := url.Parse(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	service := httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answers(w, r) {
			service.ServeHTTP(w, r)
		}
	}))
	s.t.Cleanup(front.Close)
	s.t.Cleanup(front.CloseClientConnections)
	return front
}

// TestSearchThatStopsInABrowser: the page says how far the service has looked, and goes on from there.
func TestSearchThatStopsInABrowser(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/lamp", `{"stock":5,"segments":1,"name":"far away"}`), 201, "")
	front := s.behind(func(w http.ResponseWriter, r *http.Request) bool {
		stops := r.URL.Path == "/v1/skus" && r.URL.Query().Get("q") == "far" && !r.URL.Query().Has("after")
		if stops {
			w.Header().Set("Content-Type", "application/json")
			_, err := io.WriteString(w, `{"skus":[],"next":"~lamb","stopped_at":"lamb"}`)
			if err != nil {
				t.Error(err)
			}
		}
		return stops
	})
	tab := browsertest.OpenAt(t, front.URL+"/console")
	tab.Shows("tbody", "lamp")
	tab.Writes("#search", "far")
	tab.Shows(".head", "has looked as far as lamb")
	tab.Shows(".nothing", "Nothing is found so far.")
	browsertest.LookAt(tab, "search-stopped")
	tab.Clicks(".pages button:last-child")
	tab.Shows("tbody", "lamp", "far away")
	tab.Shows(".head", "1 in all")
	tab.IsClean(front.URL, "net::ERR_ABORTED")
}
