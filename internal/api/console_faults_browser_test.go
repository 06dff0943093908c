//go:build browser

package api_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"inventory/internal/app"
	"inventory/internal/browsertest"
	"inventory/internal/busytest"
	"inventory/internal/faultproxy"
	"inventory/internal/servertest"
)

// proxied returns the URL of a server as it is reached through a proxy, which ends with the test.
func proxied(t *testing.T, server string) (string, *faultproxy.Proxy) {
	t.Helper()
	through, proxy, err := faultproxy.StartBefore(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	closing(t, proxy.Close)
	return through, proxy
}

// isOld demands that a page shows old figures, or does not.
func isOld(t *testing.T, tab *browsertest.Tab, want bool) {
	t.Helper()
	if old := browsertest.Do(tab, chromedp.Evaluate[bool](`document.querySelector("main").hasAttribute("data-old")`)); old != want {
		t.Errorf("the figures are old: %v, want %v", old, want)
	}
}

// isWell waits until the banner is gone.
func isWell(t *testing.T, tab *browsertest.Tab) {
	t.Helper()
	busytest.Soon(t, "the banner goes", func() bool {
		return browsertest.Do(tab, chromedp.Evaluate[bool](`document.querySelector("#banner").hidden`))
	})
}

// TestDatabaseIsGoneInABrowser: pages say so, and from when their figures are. They go on when it is back.
func TestDatabaseIsGoneInABrowser(t *testing.T) {
	t.Parallel()
	database, proxy := proxied(t, postgresDatabase(t))
	s := openWith(t, app.Config{DatabaseURL: database, Lock: app.LockNone})
	t.Cleanup(proxy.Mend)
	s.want(s.send("PUT", "/v1/skus/shoe", `{"stock":49999,"segments":4}`), 201, "")
	tab := browsertest.OpenAt(t, s.url+"/console#/sku/shoe")
	tab.Shows("#link", "Live")
	tab.Shows(".total", "49,999")
	isOld(t, tab, false)
	proxy.Cut()
	tab.Shows("#banner", "The database does not answer (since", "sells nothing", "Start the database", "The grey figures are those of")
	tab.Shows("#link", "The database does not answer")
	isOld(t, tab, true)
	browsertest.LookAt(tab, "no-database")
	tab.Clicks(".back a")
	tab.Shows("#banner", "This page has read nothing yet.")
	if rows := browsertest.Do(tab, chromedp.Evaluate[float64](`[...document.querySelectorAll("tbody tr")].filter((row) => row.checkVisibility()).length`)); rows != 0 {
		t.Errorf("a list that has read nothing shows %v rows", rows)
	}
	browsertest.LookAt(tab, "no-database-list")
	proxy.Mend()
	tab.Shows("tbody", "shoe", "49,999", "On sale")
	tab.Shows("#link", "Live")
	isWell(t, tab)
	isOld(t, tab, false)
	proxy.Cut()
	tab.Shows("#banner", "The grey figures are those of")
	browsertest.LookAt(tab, "no-database-old-list")
	tab.IsClean(s.url, "503 (Service Unavailable)", "net::ERR_")
}

// TestRedisIsGoneInABrowser: sales go on, and the pages do not call their figures old.
func TestRedisIsGoneInABrowser(t *testing.T) {
	t.Parallel()
	redis, err := servertest.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	closing(t, redis.Stop)
	redisURL, proxy := proxied(t, redis.URL())
	s := openWith(t, app.Config{RedisURL: redisURL})
	t.Cleanup(proxy.Mend)
	s.want(s.send("PUT", "/v1/skus/shoe", `{"stock":9,"segments":2}`), 201, "")
	tab := browsertest.OpenAt(t, s.url+"/console#/sku/shoe")
	tab.Shows(".locks", "Locks work.")
	tab.Shows(".legend", "None is locked now.")
	proxy.Cut()
	tab.Shows("#banner", "Redis does not work (since", "Sales go on", "Start Redis again")
	tab.Shows("#link", "Live")
	s.want(s.send("POST", "/v1/skus/shoe/deductions", `{"order_id":"o","quantity":1}`), 201, "")
	tab.Shows(".total", "8\nof 9 available")
	isOld(t, tab, false)
	browsertest.LookAt(tab, "no-redis")
	tab.Clicks(".back a")
	tab.Shows("#banner", "Redis does not work (since")
	proxy.Mend()
	isWell(t, tab)
	tab.Shows("#link", "Live")
	tab.IsClean(s.url, "net::ERR_ABORTED")
}
