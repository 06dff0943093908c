//go:build browser

package api_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"inventory/internal/browsertest"
)

// TestDocsPageInABrowser opens the page, unfolds a route, and sends its request. The browser may request nothing from
// elsewhere, not even in vain, and nothing may violate the page's policy.
func TestDocsPageInABrowser(t *testing.T) {
	t.Parallel()
	s := open(t)
	const route = "#operations-Stock-readSKU "
	tab := browsertest.OpenAt(t, s.app.URL()+"/docs")
	title := browsertest.Do(tab, chromedp.Text(chromedp.CSS(".info .title"), chromedp.NodeVisible))
	browsertest.Do(tab, chromedp.Click(chromedp.CSS(route+".opblock-summary-control"), chromedp.NodeVisible))
	browsertest.Do(tab, chromedp.Click(chromedp.CSS(route+".try-out__btn"), chromedp.NodeVisible))
	browsertest.Do(tab, chromedp.SendKeys(chromedp.CSS(route+".parameters input"), "nothing", chromedp.NodeVisible))
	browsertest.Do(tab, chromedp.Click(chromedp.CSS(route+".execute"), chromedp.NodeVisible))
	response := browsertest.Do(tab, chromedp.Text(chromedp.CSS(route+".live-responses-table .microlight"), chromedp.NodeVisible))
	if !strings.Contains(title, "inventory") || !strings.Contains(response, "unknown_sku") {
		t.Errorf("title %q, response %q", title, response)
	}
	asked := tab.Asked()
	if len(asked) < 7 {
		t.Errorf("only %d requests were seen: %q", len(asked), asked)
	}
	for _, url := range asked {
		if !strings.HasPrefix(url, s.app.URL()+"/") && !strings.HasPrefix(url, "data:") {
			t.Errorf("the page asked for %s", url)
		}
	}
	for _, complaint := range tab.Complaints() {
		if !strings.Contains(complaint, "404 (Not Found)") { // the request was meant to get it
			t.Errorf("the browser says: %s", complaint)
		}
	}
}

// TestProblemPagesInABrowser looks at the list of problems and at a page of one, on a desk and on a phone, light and dark.
func TestProblemPagesInABrowser(t *testing.T) {
	t.Parallel()
	s := open(t)
	tab := browsertest.OpenAt(t, s.app.URL()+"/docs/problems/")
	tab.Shows("h1", "Problems")
	browsertest.LookAt(tab, "problems")
	tab.Clicks(`a[href="sold_out"]`)
	tab.Shows("h1", "Sold out")
	browsertest.LookAt(tab, "problem")
	tab.IsClean(s.app.URL())
}
