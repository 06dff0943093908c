//go:build browser

package classroom_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"inventory/internal/browsertest"
)

// TestClassroomInABrowser sells, causes each fault, and checks that the audit holds.
func TestClassroomInABrowser(t *testing.T) {
	t.Parallel()
	url := open(t)
	tab := browsertest.Open(t)
	browsertest.See(tab, browsertest.Looks()[0])
	browsertest.Do(tab, chromedp.Navigate(url+"/"))
	tab.Shows(".acts + *, .empty", "Start a sale")
	tab.Chooses("select[name=processes]", "2")
	tab.Clicks("form[aria-label='The services'] button")
	tab.Shows(".breaks", "Stop process 2")
	tab.Writes("input[name=pace]", "200")
	tab.Chooses("select[name=mix]", "many")
	tab.Clicks("form[aria-label='The sale'] button")
	tab.Shows("#link", "Live")
	tab.Draws(".vessels", "10 segments")
	tab.Shows(".figures", "Accepted a second")
	tab.Clicks(".breaks > button:nth-child(1)")
	tab.Shows(".breaks > button:nth-child(1)", "Start Redis")
	tab.Shows(".acts li:first-child", "Stop Redis", "every unit adds up", "Locks only save waiting")
	browsertest.LookAt(tab, "classroom")
	tab.Clicks(".breaks > button:nth-child(1)")
	tab.Clicks(".breaks > button:nth-child(2)")
	tab.Clicks(".breaks .each button:nth-child(2)")
	tab.Shows(".acts", "Empty Redis", "Stop process 2")
	tab.Shows(".acts li:first-child", "every unit adds up")
	tab.Clicks(".breaks .each button:nth-child(2)")
	tab.Shows(".acts li:first-child", "Wake process 2", "every unit adds up")
	tab.Clicks("#to-sku")
	tab.Shows("main", "sale-1", "segments have stock")
	tab.Shows(".bar", "Classroom")
	tab.IsClean(url, "net::ERR_ABORTED") // streams, when the page went on
}
