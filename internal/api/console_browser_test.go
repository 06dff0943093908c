//go:build browser

package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"inventory/internal/browsertest"
	"inventory/internal/busytest"
)

// TestConsoleInABrowser uses the console as a person does: creates a SKU, sees it sell out, restocks it, orders, and audits.
// The browser may send requests to no other server, and reports no fault.
func TestConsoleInABrowser(t *testing.T) {
	t.Parallel()
	s := open(t)
	for n := range 60 {
		s.want(s.send("PUT", fmt.Sprintf("/v1/skus/poster-%02d", n), fmt.Sprintf(`{"stock":%d,"segments":%d}`, n*20, 1+n%9)), 201, "")
	}
	s.want(s.send("PUT", "/v1/skus/later", `{"stock":5,"name":"Not yet","sale_starts_at":"2999-01-01T00:00:00Z"}`), 201, "")
	s.want(s.send("POST", "/v1/skus/poster-05/deductions", `{"order_id":"o","quantity":60,"reserve_for":"10m"}`), 201, "")
	s.want(s.send("POST", "/v1/skus/poster-05/deductions", `{"order_id":"p","quantity":10}`), 201, "")
	tab := browsertest.OpenAt(t, s.url+"/console")
	tab.Shows("main", "later", "poster-23", "1 to 25")
	tab.Shows("#link", "Live")
	browsertest.LookAt(tab, "skus")
	tab.Clicks(".pages button:last-child")
	tab.Shows("main", "poster-24", "26 to 50")
	tab.Clicks(".pages button:last-child")
	tab.Shows("main", "poster-59", "51 to 61", "61 in all")
	tab.Clicks(".pages button:first-child")
	tab.Shows("main", "poster-24", "26 to 50")
	tab.Writes("#search", "POSTER-5")
	tab.Shows("main", "poster-50", "poster-59", "10 in all")
	tab.Writes("#search", "not y")
	tab.Shows("main", "later", "1 in all")
	tab.Writes("#search", "no such")
	tab.Shows(".nothing", "Nothing matches.")

	tab.Clicks(".head button")
	tab.Writes("dialog input[name=sku]", "sneaker-42")
	tab.Writes("dialog input[name=stock]", "90")
	browsertest.LookAt(tab, "new-sku")
	tab.Types("\r") // as people do who use no mouse
	tab.Shows("main", "sneaker-42", "of 90 available", "10 of 10 segments have stock")
	if frame := browsertest.Do(tab, chromedp.Evaluate[string](`getComputedStyle(document.activeElement).outlineStyle + " of " + document.activeElement.id`)); frame != "none of main" {
		t.Errorf("got the outline %s, want none around the whole page", frame)
	}
	tab.Draws(".vessel:nth-child(10)", "Segment 9: 9 units, idle")
	for n := range 50 {
		s.want(s.send("POST", "/v1/skus/sneaker-42/deductions", fmt.Sprintf(`{"order_id":"o-%d","quantity":1}`, n)), 201, "")
	}
	tab.Shows(".total", "40\nof 90 available", "50 sold")
	tab.Draws(".vessels", "10 segments with 40 units")
	busytest.Soon(t, "the charts have a second point", func() bool {
		return browsertest.Do(tab, chromedp.Evaluate[bool](`document.querySelector("[aria-label='Refused a second, the last minute']").previousSibling.innerText !== "–"`))
	})
	browsertest.LookAt(tab, "sku")
	s.want(s.send("POST", "/v1/skus/sneaker-42/deductions", `{"order_id":"rest","quantity":40}`), 201, "")
	s.wantProblem(s.send("POST", "/v1/skus/sneaker-42/deductions", `{"order_id":"none","quantity":1}`), 409, "sold_out")
	tab.Shows(".pill", "Sold out")
	tab.Shows(".changes", "Sold out")
	tab.Draws(".vessels", "10 empty")
	browsertest.LookAt(tab, "sold-out")

	tab.Clicks("form[aria-label=Restock] button")
	tab.Shows(".pill", "On sale")
	tab.Shows(".changes", "Back in stock: 100 units")
	tab.Shows("table", "restock", "+100")
	tab.Writes("form[aria-label='Try an order'] input[name=reserve_for]", "10m")
	tab.Writes("form[aria-label='Try an order'] input[name=quantity]", "4")
	tab.Writes("form[aria-label='Try an order'] input[name=order_id]", "tried")
	tab.Clicks("form[aria-label='Try an order'] button")
	tab.Shows(".orders", "4 units, reserved until")
	tab.Opens("Change")
	tab.Writes("form[aria-label='Extend tried'] input", "PT20M")
	tab.Clicks("form[aria-label='Extend tried'] button")
	tab.Shows("form[aria-label='Extend tried']", "Done.")
	var extended struct {
		Ends time.Time `json:"expires_at"`
	}
	told := s.send("GET", "/v1/skus/sneaker-42/deductions/tried", "").body
	if err := json.Unmarshal([]byte(told), &extended); err != nil || time.Until(extended.Ends) < 15*time.Minute {
		t.Errorf("the reservation was extended: %s, %v", told, err)
	}
	tab.Clicks("form[aria-label='Give up some tried'] button")
	tab.Shows(".orders", "3 units, reserved")
	browsertest.LookAt(tab, "amended")
	tab.Clicks("button[aria-label='Commit tried']")
	tab.Shows(".orders", "3 units, committed")
	tab.Clicks("form[aria-label='Return tried'] button")
	tab.Shows(".orders", "3 units, returned")
	tab.Clicks(".verdict-button")
	tab.Shows(".verdict", "Every unit adds up.")
	browsertest.LookAt(tab, "audited")
	tab.Opens("Change the terms")
	tab.Writes("form[aria-label='Change the terms'] input[name=per_buyer_limit]", "3")
	tab.Clicks("form[aria-label='Change the terms'] button")
	tab.Shows("form[aria-label='Change the terms']", "Done.")
	tab.Shows("dl.terms", "Units of one buyer\n3")
	tab.Opens("Archive")
	tab.Writes("form[aria-label=Archive] input", "sneaker")
	tab.Clicks("form[aria-label=Archive] button")
	tab.Shows("form[aria-label=Archive]", "That is not its name.")
	tab.Writes("form[aria-label=Archive] input", "sneaker-42")
	tab.Clicks("form[aria-label=Archive] button")
	tab.Shows(".pill", "Archived")
	tab.Shows("dl.terms", "Archived")
	const visible = `[...document.querySelectorAll("main form")].filter((form) => form.checkVisibility()).length`
	if forms := browsertest.Do(tab, chromedp.Evaluate[float64](visible)); forms != 0 {
		t.Errorf("an archived SKU shows %v forms", forms)
	}
	browsertest.LookAt(tab, "archived")
	tab.IsClean(s.url, "net::ERR_ABORTED") // the list's stream, when the page went on
}

// TestReturnInABrowser writes off a part of an order, and returns the rest.
func TestReturnInABrowser(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/lamp", `{"stock":9,"segments":1}`), 201, "")
	tab := browsertest.OpenAt(t, s.url+"/console#/sku/lamp")
	tab.Shows(".total", "of 9 available")
	tab.Writes("form[aria-label='Try an order'] input[name=quantity]", "3")
	tab.Writes("form[aria-label='Try an order'] input[name=order_id]", "tried")
	tab.Clicks("form[aria-label='Try an order'] button")
	tab.Shows(".orders", "3 units, committed")
	tab.Opens("Change")
	tab.Writes("form[aria-label='Return tried'] input[name=quantity]", "1")
	tab.Chooses("form[aria-label='Return tried'] select", "false")
	tab.Writes("form[aria-label='Return tried'] input[name=reason]", "damaged")
	tab.Clicks("form[aria-label='Return tried'] button")
	tab.Shows(".orders", "2 units, committed")
	tab.Shows("table", "write off", "−1", "damaged", "tried")
	tab.Opens("History")
	tab.Shows(".orders .history", "3 units committed", "1 unit written off (damaged)")
	browsertest.LookAt(tab, "returned")
	tab.Writes("form[aria-label='Return tried'] input[name=quantity]", " ")
	tab.Chooses("form[aria-label='Return tried'] select", "true")
	tab.Clicks("form[aria-label='Return tried'] button")
	tab.Shows(".orders", "2 units, returned")
	tab.Clicks(".verdict-button")
	tab.Shows(".verdict", "Every unit adds up.")
	tab.Shows(".verdict + dl", "written off\n1")
	tab.IsClean(s.url, "net::ERR_ABORTED")
}

// TestWholeOrderInABrowser: an order of several SKUs has buttons for all of it, its lines can be changed, and each of them can be returned. A reservation that
// has expired shows so after its refusal, and may be committed late.
func TestWholeOrderInABrowser(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/lamp", `{"stock":9,"segments":1}`), 201, "")
	s.want(s.send("PUT", "/v1/skus/bulb", `{"stock":9,"segments":1}`), 201, "")
	s.want(s.send("PUT", "/v1/skus/wire", `{"stock":9,"segments":1}`), 201, "")
	tab := browsertest.OpenAt(t, s.url+"/console#/sku/lamp")
	tab.Shows(".total", "of 9 available")
	try := func(order, reserveFor, others string) {
		t.Helper()
		tab.Writes("form[aria-label='Try an order'] input[name=order_id]", order)
		tab.Writes("form[aria-label='Try an order'] input[name=reserve_for]", reserveFor)
		tab.Writes("form[aria-label='Try an order'] input[name=others]", others)
		tab.Clicks("form[aria-label='Try an order'] button")
	}
	try("basket", "10m", "bulb 3")
	tab.Shows(".orders", "lamp: 1 unit, reserved until", "bulb: 3 units, reserved until")
	s.wantProblem(s.send("POST", "/v1/skus/lamp/deductions/basket/cancel", ""), 409, "part_of_order")
	tab.Opens("Change")
	revise := func(lines string) {
		tab.Writes("form[aria-label='Change the lines of basket'] input[name=lines]", lines)
		tab.Clicks("form[aria-label='Change the lines of basket'] button")
		tab.Shows("form[aria-label='Change the lines of basket']", "Done.")
	}
	revise("lamp 2, bulb 3, wire")
	tab.Shows(".orders", "lamp: 2 units, reserved until", "bulb: 3 units, reserved until", "wire: 1 unit, reserved until")
	revise("lamp, bulb 3")
	tab.Shows(".orders", "lamp: 1 unit, reserved until", "bulb: 3 units, reserved until")
	browsertest.LookAt(tab, "changed")
	tab.Clicks("button[aria-label='Commit basket']")
	tab.Shows(".orders", "lamp: 1 unit, committed", "bulb: 3 units, committed")
	tab.Clicks("button[aria-label='Return bulb of basket']")
	tab.Shows(".orders", "lamp: 1 unit, committed", "bulb: 3 units, returned")
	tab.Opens("History")
	tab.Shows(".orders .history", "lamp: 1 unit reserved change-", "lamp: 1 unit committed", "bulb: 3 units returned", "wire: 1 unit cancelled change-")
	browsertest.LookAt(tab, "basket")
	try("basket", "10m", "bulb 3")
	tab.Shows("form[aria-label='Try an order']", "basket is")

	try("late", "1s", " ")
	tab.Shows(".orders", "1 unit, reserved until")
	s.untilStatus("/v1/skus/lamp/deductions/late", "expired")
	tab.Clicks("button[aria-label='Commit late']") // of the order "late"
	tab.Shows(".orders", "1 unit, expired")
	tab.Shows("#toast", "expired")
	const commits = `[...document.querySelectorAll("button")].filter((b) => b.ariaLabel === "Commit late" && b.checkVisibility()).length`
	if shown := browsertest.Do(tab, chromedp.Evaluate[float64](commits)); shown != 0 {
		t.Error("an expired reservation has a button to commit it")
	}
	browsertest.LookAt(tab, "expired")
	try("late", "1s", " ")
	tab.Shows("form[aria-label='Try an order']", "the order is expired, and holds nothing")
	tab.Clicks("button[aria-label='Commit late late']")
	tab.Shows(".orders", "1 unit, committed")
	tab.IsClean(s.url, "409 (Conflict)", "net::ERR_ABORTED")
}

// TestUnknownSKUInABrowser: a service without keys asks for none, and an empty form says what is missing.
func TestUnknownSKUInABrowser(t *testing.T) {
	t.Parallel()
	s := open(t)
	tab := browsertest.OpenAt(t, s.url+"/console#/sku/none")
	tab.Shows("main", "none", "There is no SKU of this name.")
	tab.Shows("#link", "Unknown SKU")
	if asks := browsertest.Do(tab, chromedp.Evaluate[bool](`document.querySelector("dialog") !== null`)); asks {
		t.Error("the page asks for a key")
	}
	browsertest.LookAt(tab, "unknown")
	tab.Clicks(".back a")
	tab.Clicks(".head button")
	tab.Clicks("dialog form button[type=submit]")
	tab.Shows("dialog", "SKU is empty.")
	tab.IsClean(s.url, "404 (Not Found)", "net::ERR_ABORTED")
}

// untilStatus reads an order until it has a status.
func (s *site) untilStatus(path, status string) {
	s.t.Helper()
	busytest.Soon(s.t, path+" is "+status, func() bool { return strings.Contains(s.send("GET", path, "").body, `"status":"`+status+`"`) })
}
