//go:build browser

package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"inventory/internal/browsertest"
	"inventory/internal/busytest"
)

// count counts elements that are created inside an element, and frames that the page draws, from now on.
const count = `(() => {
	window.made = window.drawn = 0;
	window.draw ??= window.requestAnimationFrame;
	window.requestAnimationFrame = (frame) => { window.drawn++; return window.draw.call(window, frame); };
	new MutationObserver((changes) => {
		for (const change of changes) for (const node of change.addedNodes) if (node.nodeType === Node.ELEMENT_NODE) window.made++;
	}).observe(document.querySelector(%q), { childList: true, subtree: true });
	return 0;
})()`

// calculate takes as long as a frame may: 25 ms where nothing else runs. A page draws at most 20 frames a second for events, so half of
// the time is left for the person. It returns the milliseconds that it took.
const calculate = `(() => {
	const began = performance.now();
	let x = 1;
	for (let i = 0; i < 25e6; i++) x = Math.imul(x, 1103515245) + 12345 | 0;
	return [performance.now() - began, x];
})()`

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
	tab.Shows("main", "1 to 25", "a-large-one")
	s.staysSmooth(tab, "tbody", func(n int) string { return fmt.Sprintf("sku-%03d", n%24) })
	browsertest.Do(tab, chromedp.Navigate(s.url+"/console#/sku/a-large-one"))
	tab.Draws(".vessels", "1,024 segments")
	s.staysSmooth(tab, ".vessels", func(int) string { return "a-large-one" })
	browsertest.LookAt(tab, "many-segments")
	tab.IsClean(s.url, "net::ERR_ABORTED")
}

// staysSmooth sells, and compares what a frame of the page costs with a calculation beside it, as a control.
func (s *site) staysSmooth(tab *browsertest.Tab, selector string, sku func(n int) string) {
	s.t.Helper()
	browsertest.Do(tab, chromedp.Evaluate[int](fmt.Sprintf(count, selector)))
	drawn := func() int { return browsertest.Do(tab, chromedp.Evaluate[int]("window.drawn")) }
	frame, control := time.Hour, time.Hour // the least of all turns
	for turn := range 10 {
		took := browsertest.Do(tab, chromedp.Evaluate[[]float64](calculate))[0]
		control = min(control, time.Duration(took*float64(time.Millisecond)))
		worked, before := tab.Worked(), drawn()
		for n := range 10 {
			orders := make([]string, 100)
			for i := range orders {
				orders[i] = fmt.Sprintf(`{"sku":%q,"order_id":"%s-%d-%d-%d","quantity":1}`, sku(n), selector, turn, n, i)
			}
			s.want(s.send("POST", "/v1/deductions", `{"deductions":[`+strings.Join(orders, ",")+`]}`), 200, "")
		}
		busytest.Soon(s.t, "the page draws what is sold", func() bool { return drawn() > before })
		frames := drawn() - before
		frame = min(frame, (tab.Worked()-worked)/time.Duration(frames))
	}
	s.t.Logf("%s: a frame took %v, and the calculation %v", selector, frame, control)
	if frame > control {
		s.t.Errorf("%s: a frame took %v, want at most %v", selector, frame, control)
	}
	if made := browsertest.Do(tab, chromedp.Evaluate[int]("window.made")); made > 0 {
		s.t.Errorf("%s: %d elements were made", selector, made)
	}
}
