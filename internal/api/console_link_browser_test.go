//go:build browser

package api_test

import (
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
	tab.Writes("dialog input", d.credentials[operator])
	tab.Clicks("dialog form button")
	tab.Shows("main", "shoe", "On sale")
	tab.Shows("#link", "Live")
	kept := browsertest.Do(tab, chromedp.Evaluate[[]int](`[sessionStorage.length, localStorage.length, document.cookie.length]`))
	if kept[0] != 1 || kept[1] != 0 || kept[2] != 0 {
		t.Errorf("kept in the session, for longer, and as a cookie: %v", kept)
	}
	tab.IsClean(d.url, "401 (Unauthorized)", "net::ERR_ABORTED")
}

// TestLostConnectionInABrowser takes the service away from the page and gives it back: the page says so, and goes on.
func TestLostConnectionInABrowser(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/shoe", `{"stock":5,"segments":1}`), 201, "")
	to, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	var down atomic.Bool
	service := httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		service.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	t.Cleanup(front.CloseClientConnections)
	tab := browsertest.OpenAt(t, front.URL+"/console#/sku/shoe")
	tab.Shows("#link", "Live")
	tab.Shows(".total", "5")
	down.Store(true)
	front.CloseClientConnections()
	tab.Shows("#link", "Connection lost, trying again in")
	s.want(s.send("POST", "/v1/skus/shoe/deductions", `{"order_id":"o","quantity":5}`), 201, "")
	down.Store(false)
	tab.Shows("#link", "Live")
	tab.Shows(".pill", "Sold out")
	tab.IsClean(front.URL, "502 (Bad Gateway)", "net::ERR_", "Failed to load resource")
}
