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

// TestConsoleInABrowser uses the console as a person does: creates a SKU, sees it sell out, restocks it, orders, and audits.
// The browser may ask no other server for anything, and finds no fault.
func TestConsoleInABrowser(t *testing.T) {
	t.Parallel()
	s := open(t)
	tab := browsertest.Open(t)
	c := page{s, tab}
	for n := range 60 {
		s.want(s.send("PUT", fmt.Sprintf("/v1/skus/poster-%02d", n), fmt.Sprintf(`{"stock":%d,"segments":%d}`, n*20, 1+n%9)), 201, "")
	}
	s.want(s.send("PUT", "/v1/skus/later", `{"stock":5,"name":"Not yet","sale_starts_at":"2999-01-01T00:00:00Z"}`), 201, "")
	s.want(s.send("POST", "/v1/skus/poster-05/deductions", `{"order_id":"o","quantity":60,"reserve_for":"10m"}`), 201, "")
	s.want(s.send("POST", "/v1/skus/poster-05/deductions", `{"order_id":"p","quantity":10}`), 201, "")
	browsertest.See(tab, browsertest.Looks()[0])
	browsertest.Do(tab, chromedp.Navigate(s.url+"/console"))
	c.shows("main", "later", "1 of 3")
	c.shows("#link", "Live")
	browsertest.LookAt(tab, "skus")
	c.writes("#search", "POSTER-5")
	c.shows("main", "poster-55", "10 of 61")

	c.clicks(".head button")
	c.writes("dialog input[name=sku]", "sneaker-42")
	c.writes("dialog input[name=stock]", "90")
	browsertest.LookAt(tab, "new-sku")
	c.clicks("dialog form button[type=submit]")
	c.shows("main", "sneaker-42", "of 90 available", "10 of 10 segments have stock")
	for n := range 50 {
		s.want(s.send("POST", "/v1/skus/sneaker-42/deductions", fmt.Sprintf(`{"order_id":"o-%d","quantity":1}`, n)), 201, "")
	}
	c.shows(".total", "40\nof 90 available", "50 sold")
	c.draws(".vessels", "10 segments with 40 units")
	time.Sleep(1500 * time.Millisecond) // for a second point of the charts
	browsertest.LookAt(tab, "sku")
	s.want(s.send("POST", "/v1/skus/sneaker-42/deductions", `{"order_id":"rest","quantity":40}`), 201, "")
	s.wantProblem(s.send("POST", "/v1/skus/sneaker-42/deductions", `{"order_id":"none","quantity":1}`), 409, "sold_out")
	c.shows(".pill", "Sold out")
	c.shows(".changes", "Sold out")
	c.draws(".vessels", "10 empty")
	browsertest.LookAt(tab, "sold-out")

	c.clicks("form[aria-label=Restock] button")
	c.shows(".pill", "On sale")
	c.shows(".changes", "Back in stock: 100 units")
	c.shows("table", "restock", "+100")
	c.writes("form[aria-label='Try an order'] input[name=reserve_for]", "10m")
	c.clicks("form[aria-label='Try an order'] button")
	c.shows(".orders", "1 unit, reserved")
	c.clicks(".orders button")
	c.shows(".orders", "1 unit, committed")
	c.clicks("button[aria-label^=Cancel]")
	c.shows(".orders", "1 unit, cancelled")
	c.clicks(".verdict-button")
	c.shows(".verdict", "Every unit adds up.")
	browsertest.LookAt(tab, "audited")
	c.isClean("net::ERR_ABORTED") // the list's stream, when the page went on
}

// page is a page in a browser, and the site that it is of.
type page struct {
	*site
	tab *browsertest.Tab
}

// shows waits until an element says all of some texts.
func (p page) shows(selector string, texts ...string) {
	p.Helper()
	p.becomes(selector, "innerText", texts)
}

// draws waits until an element is described by all of some texts.
func (p page) draws(selector string, texts ...string) {
	p.Helper()
	p.becomes(selector, "ariaLabel", texts)
}

func (p page) becomes(selector, property string, texts []string) {
	p.Helper()
	said := ""
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		said = browsertest.Do(p.tab, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector(%q)?.%s ?? ""`, selector, property)))
		missing := false
		for _, text := range texts {
			missing = missing || !strings.Contains(said, text)
		}
		if !missing {
			return
		}
	}
	p.Fatalf("%s says %q, want %q", selector, said, texts)
}

func (p page) clicks(selector string) {
	p.Helper()
	browsertest.Do(p.tab, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// writes puts a text in the place of another one.
func (p page) writes(selector, text string) {
	p.Helper()
	browsertest.Do(p.tab, chromedp.Evaluate[any](fmt.Sprintf(`document.querySelector(%q).value = ""`, selector)))
	browsertest.Do(p.tab, chromedp.SendKeys(chromedp.CSS(selector), text, chromedp.NodeVisible))
}

// isClean demands that the page asked this server alone, and that the browser found no fault but the refusals that it was
// used for.
func (p page) isClean(expected ...string) {
	p.Helper()
	for _, url := range p.tab.Asked() {
		if !strings.HasPrefix(url, p.url+"/") && !strings.HasPrefix(url, "data:") { // pictures of the browser's own controls
			p.Errorf("the page asked for %s", url)
		}
	}
complaints:
	for _, complaint := range p.tab.Complaints() {
		for _, text := range expected {
			if strings.Contains(complaint, text) {
				continue complaints
			}
		}
		p.Errorf("the browser says: %s", complaint)
	}
}
