//go:build browser

package api_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"inventory/internal/app"
	"inventory/internal/browsertest"
)

const find = "form[aria-label='Find orders'] "

// TestOrdersInABrowser finds orders by id, buyer, status and time, pages through them, and changes one.
func TestOrdersInABrowser(t *testing.T) {
	t.Parallel()
	s := openWith(t, app.Config{DatabaseURL: listed(t)})
	for _, sku := range []string{"lamp", "bulb"} {
		s.want(s.send("PUT", "/v1/skus/"+sku, `{"stock":99,"segments":1}`), 201, "")
	}
	for n := range 30 {
		s.want(s.send("POST", "/v1/skus/lamp/deductions", fmt.Sprintf(`{"order_id":"o-%02d","buyer_id":"ann","quantity":1}`, n)), 201, "")
	}
	s.want(s.send("POST", "/v1/orders", `{"order_id":"basket/1","buyer_id":"bob","reserve_for":"1h","lines":[{"sku":"lamp","quantity":2},{"sku":"bulb","quantity":1}]}`), 201, "")
	tab := browsertest.OpenAt(t, s.url+"/console")
	tab.Clicks(".bar nav a:nth-child(2)")
	tab.Shows("tbody", "o-00", "o-24", "committed")
	tab.Shows(".pages", "1 to 25")
	browsertest.LookAt(tab, "orders")
	tab.Clicks(".pages button:last-child")
	tab.Shows("tbody", "o-29", "basket/1", "bob", "reserved")
	tab.Writes(find+"[name=buyer_id]", "bob")
	tab.Chooses(find+"[name=status]", "reserved")
	tab.Clicks(find + "button")
	tab.Shows("tbody tr:first-child", "basket/1")
	if rows := browsertest.Do(tab, chromedp.Evaluate[float64](`document.querySelectorAll("tbody tr").length`)); rows != 2 {
		t.Errorf("got %v lines of bob's order, want 2", rows)
	}

	tab.Clicks("tbody a")
	tab.Shows("main", "basket/1", "Buyer: bob", "bulb: 1 unit, reserved", "lamp: 2 units, reserved")
	tab.Shows(".history", "lamp: 2 units reserved")
	tab.Opens("Change")
	browsertest.LookAt(tab, "order")
	tab.Writes("form[aria-label='Change the lines of basket/1'] [name=lines]", "lamp 1, bulb 3")
	tab.Clicks("form[aria-label='Change the lines of basket/1'] button")
	tab.Shows(".orders", "bulb: 3 units, reserved", "lamp: 1 unit, reserved")
	tab.Shows(".history", "change-")
	s.want(s.send("POST", "/v1/orders/basket%2F1/commit", ""), 200, "")
	tab.Shows(".orders", "bulb: 3 units, committed")

	browsertest.Do(tab, chromedp.NavigateBack())
	tab.Shows(".head", "Orders")
	if kept := browsertest.Do(tab, chromedp.Evaluate[string](`document.querySelector("[name=buyer_id]").value`)); kept != "bob" {
		t.Errorf("the filter has the buyer %q, want bob", kept)
	}
	tab.Shows("main > p", "There are no such orders.") // that are still reserved
	tab.Writes(find+"[name=order_id]", "o-07")
	tab.Writes(find+"[name=buyer_id]", " ")
	tab.Clicks(find + "button")
	tab.Shows(find, "No order of several SKUs has this id.")
	tab.Writes(find+"[name=buyer_id]", "ann")
	tab.Clicks(find + "button")
	tab.Shows("main", "o-07", "1 unit, committed", "Buyer: ann")
	tab.Opens("Change")
	tab.Clicks("form[aria-label='Return o-07'] button")
	tab.Shows(".orders", "1 unit, returned")
	tab.IsClean(s.url, "404 (Not Found)", "net::ERR_ABORTED")
}

// TestOrdersAreNotListedInABrowser: the page shows what the service says, and still finds an order by its id.
func TestOrdersAreNotListedInABrowser(t *testing.T) {
	t.Parallel()
	d := openDoors(t, app.Config{})
	d.want(d.as(operator, "PUT", "/v1/skus/lamp", `{"stock":9,"segments":1}`), 201, "")
	d.want(d.as(ann, "POST", "/v1/skus/lamp/deductions", `{"order_id":"o-1","quantity":1}`), 201, "")
	d.want(d.as(shop, "POST", "/v1/skus/lamp/deductions", `{"order_id":"o-1","quantity":2}`), 201, "")
	tab := browsertest.OpenAt(t, d.url+"/console#/orders")
	tab.Shows("dialog", "This service asks for a key.")
	tab.Writes("dialog input", d.credentials[operator])
	tab.Clicks("dialog form button")
	tab.Shows("main > p", "Orders are not listed", "inventory orders on")
	browsertest.LookAt(tab, "orders-not-listed")
	tab.Writes(find+"[name=order_id]", "o-1")
	tab.Writes(find+"[name=sku]", "lamp")
	tab.Clicks(find + "button")
	tab.Shows("main", "2 units, committed", "It names no buyer.")
	browsertest.Do(tab, chromedp.Navigate(d.url+"/console#/order/o-1/lamp/ann"))
	tab.Shows("main", "1 unit, committed", "Buyer: ann")
	tab.Opens("Change")
	tab.Clicks("form[aria-label='Return o-1'] button")
	tab.Shows(".orders", "1 unit, returned")
	tab.Shows(".history", "1 unit returned")
	tab.IsClean(d.url, "401 (Unauthorized)", "409 (Conflict)", "net::ERR_ABORTED")
}
