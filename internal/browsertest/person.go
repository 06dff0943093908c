//go:build browser

package browsertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
)

// The methods in this file do and see what a person does. A CSS selector names an element.

// soon is how long a page may take to show an effect.
const soon = 15 * time.Second

// Shows waits until an element contains all of the texts.
func (tab *Tab) Shows(selector string, texts ...string) {
	tab.t.Helper()
	tab.becomes(selector, "innerText", texts)
}

// Draws waits until an element's description contains all of the texts.
func (tab *Tab) Draws(selector string, texts ...string) {
	tab.t.Helper()
	tab.becomes(selector, "ariaLabel", texts)
}

func (tab *Tab) becomes(selector, property string, texts []string) {
	tab.t.Helper()
	said := ""
	lacks := func(text string) bool { return !strings.Contains(said, text) }
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		said = Do(tab, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector(%q)?.%s ?? ""`, selector, property)))
		if !slices.ContainsFunc(texts, lacks) {
			return
		}
	}
	tab.t.Fatalf("%s says %q, want %q", selector, said, texts)
}

// Clicks clicks on an element, and again if it moved away from the pointer, as a person does.
func (tab *Tab) Clicks(selector string) {
	tab.t.Helper()
	const watch = `((node) => { node.dataset.clicked = "no"; node.addEventListener("click", () => { node.dataset.clicked = "yes"; }, { once: true, capture: true }); })(document.querySelector(%q))`
	const missed = `document.querySelector(%q)?.dataset.clicked === "no"`
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); {
		Do(tab, chromedp.WaitVisible(chromedp.CSS(selector)))
		Do(tab, chromedp.Evaluate[any](fmt.Sprintf(watch, selector)))
		Do(tab, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
		if !Do(tab, chromedp.Evaluate[bool](fmt.Sprintf(missed, selector))) {
			return
		}
	}
	tab.t.Fatalf("%s moves away from every click", selector)
}

// Opens opens the details that a summary hides.
func (tab *Tab) Opens(summary string) {
	tab.t.Helper()
	Do(tab, chromedp.Evaluate[any](fmt.Sprintf(`[...document.querySelectorAll("summary")].find((s) => s.innerText === %q).click()`, summary)))
}

// Types sends keys to the element that has the focus.
func (tab *Tab) Types(keys string) {
	tab.t.Helper()
	Do(tab, chromedp.KeyEvent(keys))
}

// Writes replaces the text of a field.
func (tab *Tab) Writes(selector, text string) {
	tab.t.Helper()
	Do(tab, chromedp.Evaluate[any](fmt.Sprintf(`document.querySelector(%q).value = ""`, selector)))
	Do(tab, chromedp.SendKeys(chromedp.CSS(selector), text, chromedp.NodeVisible))
}

// Chooses chooses an item of a list.
func (tab *Tab) Chooses(selector, value string) {
	tab.t.Helper()
	Do(tab, chromedp.SetValue(chromedp.CSS(selector), value, chromedp.NodeVisible))
}

// IsClean demands that pages sent requests to one server only, and that all complaints of the browser were expected.
func (tab *Tab) IsClean(server string, expected ...string) {
	tab.t.Helper()
	for _, url := range tab.Asked() {
		if !strings.HasPrefix(url, server+"/") && !strings.HasPrefix(url, "data:") { // data: is for pictures of the browser's own controls
			tab.t.Errorf("the page asked for %s", url)
		}
	}
	for _, complaint := range tab.Complaints() {
		if !slices.ContainsFunc(expected, func(text string) bool { return strings.Contains(complaint, text) }) {
			tab.t.Errorf("the browser says: %s", complaint)
		}
	}
}
