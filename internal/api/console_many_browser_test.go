//go:build browser

package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"inventory/internal/browsertest"
)

// countMade counts elements that are created inside an element from now on.
const countMade = `(() => {
	window.made = 0;
	new MutationObserver((changes) => {
		for (const change of changes) for (const node of change.addedNodes) if (node.nodeType === Node.ELEMENT_NODE) window.made++;
	}).observe(document.querySelector(%q), { childList: true, subtree: true });
	return 0;
})()`

// busiest is the largest share of time that the page may work: the rest is for the person.
const busiest = 0.5

// TestManyInABrowser shows 1,000 SKUs, and then one with 1,024 segments, while they are sold. The page creates no element
// for an event, and has time for the person.
func TestManyInABrowser(t *testing.T) {
	t.Parallel()
	s := open(t)
	for n := range 1000 {
		s.want(s.send("PUT", fmt.Sprintf("/v1/skus/sku-%03d", n), `{"stock":100000,"segments":2}`), 201, "")
	}
	s.want(s.send("PUT", "/v1/skus/a-large-one", `{"stock":102400,"segments":1024}`), 201, "")
	tab := browsertest.OpenAt(t, s.url+"/console")
	tab.Shows("main", "1,001", "1 of 41", "a-large-one")
	s.staysSmooth(tab, "tbody", func(n int) string { return fmt.Sprintf("sku-%03d", n%24) })
	browsertest.Do(tab, chromedp.Navigate(s.url+"/console#/sku/a-large-one"))
	tab.Draws(".vessels", "1,024 segments")
	s.staysSmooth(tab, ".vessels", func(int) string { return "a-large-one" })
	browsertest.LookAt(tab, "many-segments")
	tab.IsClean(s.url, "net::ERR_ABORTED")
}

// staysSmooth sells for some seconds, and measures the page meanwhile.
func (s *site) staysSmooth(tab *browsertest.Tab, selector string, sku func(n int) string) {
	s.Helper()
	browsertest.Do(tab, chromedp.Evaluate[int](fmt.Sprintf(countMade, selector)))
	worked, begun := tab.Worked(), time.Now()
	for n := 0; time.Since(begun) < 4*time.Second; n++ {
		orders := make([]string, 100)
		for i := range orders {
			orders[i] = fmt.Sprintf(`{"sku":%q,"order_id":"%s-%d-%d","quantity":1}`, sku(n), selector, n, i)
		}
		s.want(s.send("POST", "/v1/deductions", `{"deductions":[`+strings.Join(orders, ",")+`]}`), 200, "")
	}
	elapsed := time.Since(begun)
	worked = tab.Worked() - worked
	s.Logf("%s: the page worked %v of %v", selector, worked, elapsed)
	if share := worked.Seconds() / elapsed.Seconds(); share > busiest {
		s.Errorf("%s: the page worked %.0f%% of the time", selector, 100*share)
	}
	if made := browsertest.Do(tab, chromedp.Evaluate[int]("window.made")); made > 0 {
		s.Errorf("%s: %d elements were made", selector, made)
	}
}
