//go:build browser

// Package browsertest opens pages in Chromium, which must be on PATH, and records what they request and what the
// browser complains about.
package browsertest

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"inventory/internal/busytest"
)

// Tab is a tab of its own browser, empty at first.
type Tab struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex
	asked      []string
	complaints []string
}

// Open starts a browser, which ends with the test.
func Open(t *testing.T) *Tab {
	t.Helper()
	ctx, closeBrowser := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.WSURLReadTimeout(busytest.Patience))...)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		closeTab()
		closeBrowser()
	})
	tab := &Tab{t: t, ctx: ctx}
	if _, err := chromedp.Run(ctx, chromedp.Title()); err != nil { // of the empty page: now there is a tab, which lasts as long as ctx
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, tab.see); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return tab
}

// OpenAt opens a page in a browser, in the first of the looks.
func OpenAt(t *testing.T, url string) *Tab {
	t.Helper()
	tab := Open(t)
	See(tab, Looks()[0])
	Do(tab, chromedp.Navigate(url))
	return tab
}

// Do runs an action in the tab.
func Do[T any](tab *Tab, action chromedp.Action[T]) T {
	tab.t.Helper()
	ctx, stop := context.WithTimeout(tab.ctx, busytest.Patience)
	defer stop()
	result, err := chromedp.Run(ctx, action)
	if err != nil {
		tab.t.Fatal(err)
	}
	return result
}

// Asked returns the URLs that the page has requested so far.
func (tab *Tab) Asked() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return slices.Clone(tab.asked)
}

// Complaints returns what went wrong so far: failed requests, errors and warnings of the console, exceptions, and what
// the page's policy has stopped.
func (tab *Tab) Complaints() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return slices.Clone(tab.complaints)
}

func (tab *Tab) see(event any) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		tab.asked = append(tab.asked, e.Request.URL)
	case *network.EventLoadingFailed:
		tab.complaints = append(tab.complaints, "a request failed: "+e.ErrorText)
	case *log.EventEntryAdded:
		tab.complaints = append(tab.complaints, strings.TrimSpace(e.Entry.Text+" "+e.Entry.URL))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			tab.complaints = append(tab.complaints, fmt.Sprintf("console: %+v", e.Args))
		}
	case *runtime.EventExceptionThrown:
		tab.complaints = append(tab.complaints, "exception: "+e.ExceptionDetails.Text)
	}
}

// The methods in this file do and see what a person does. A CSS selector names an element.

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
	defer func() {
		if tab.t.Failed() {
			tab.t.Logf("%s says %q", selector, said)
		}
	}()
	busytest.Soon(tab.t, fmt.Sprintf("%s says %q", selector, texts), func() bool {
		said = Do(tab, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector(%q)?.%s ?? ""`, selector, property)))
		return !slices.ContainsFunc(texts, lacks)
	})
}

// Clicks clicks on an element, and again if it moved away from the pointer, as a person does.
func (tab *Tab) Clicks(selector string) {
	tab.t.Helper()
	const watch = `((node) => { node.dataset.clicked = "no"; node.addEventListener("click", () => { node.dataset.clicked = "yes"; }, { once: true, capture: true }); })(document.querySelector(%q))`
	const missed = `document.querySelector(%q)?.dataset.clicked === "no"`
	busytest.Soon(tab.t, selector+" does not move away from a click", func() bool {
		Do(tab, chromedp.WaitVisible(chromedp.CSS(selector)))
		Do(tab, chromedp.Evaluate[any](fmt.Sprintf(watch, selector)))
		Do(tab, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
		return !Do(tab, chromedp.Evaluate[bool](fmt.Sprintf(missed, selector)))
	})
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

// Look is one way to display a page: the width of the window, and the light or the dark colours.
type Look struct {
	Width int64
	Dark  bool
}

// Looks returns the looks in which pages must be right.
func Looks() []Look { return []Look{{1280, false}, {1280, true}, {390, false}, {390, true}} }

// String names the look.
func (l Look) String() string {
	if l.Dark {
		return fmt.Sprint(l.Width, "-dark")
	}
	return fmt.Sprint(l.Width)
}

//go:embed faults.js
var findFaults string

// axeVariable names a file with axe-core, which no Go module has. If it is set, axe-core checks the pages too:
//
//	npm pack axe-core && tar xzf axe-core-*.tgz && AXE_CORE=$PWD/package/axe.min.js make test-browser
const axeVariable = "AXE_CORE"

// runAxe runs axe-core and makes a sentence of each fault.
const runAxe = `axe.run().then(({ violations }) => violations.flatMap((rule) => rule.nodes.map((node) => rule.id + ": " + node.html)))`

// Picture returns what the window shows, as WebP.
func Picture(tab *Tab) []byte {
	tab.t.Helper()
	shot, err := chromedp.Call(tab.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: new(int64(90))})
	if err != nil {
		tab.t.Fatal(err)
	}
	return shot.Data
}

// LookAt shows the page in each look, keeps a picture of each among the test's artefacts, and demands that the page is no
// wider than the window and that faults.js finds no faults.
func LookAt(tab *Tab, name string) {
	tab.t.Helper()
	for _, look := range Looks() {
		See(tab, look)
		picture := Do(tab, chromedp.FullScreenshot(100))
		file := filepath.Join(tab.t.ArtifactDir(), name+"-"+look.String()+".png")
		if err := os.WriteFile(file, picture, 0o600); err != nil {
			tab.t.Fatal(err)
		}
		if wide := Do(tab, chromedp.Evaluate[float64](`document.documentElement.scrollWidth`)); wide > float64(look.Width) {
			tab.t.Errorf("%s is %v wide in a window of %d", name, wide, look.Width)
		}
		for _, fault := range Do(tab, chromedp.Evaluate[[]string](findFaults)) {
			tab.t.Errorf("%s, %s: %s", name, look, fault)
		}
		for _, fault := range axeFaults(tab) {
			tab.t.Errorf("%s, %s, axe-core: %s", name, look, fault)
		}
	}
	See(tab, Looks()[0])
}

func axeFaults(tab *Tab) []string {
	tab.t.Helper()
	file := os.Getenv(axeVariable)
	if file == "" {
		return nil
	}
	axe, err := os.ReadFile(file)
	if err != nil {
		tab.t.Fatal(err)
	}
	Do(tab, chromedp.Evaluate[any](string(axe)+"; null"))
	return Do(tab, chromedp.Evaluate[[]string](runAxe, chromedp.EvalAwaitPromise))
}

// See shows the page in a look.
func See(tab *Tab, look Look) {
	tab.t.Helper()
	scheme := "light"
	if look.Dark {
		scheme = "dark"
	}
	Do(tab, chromedp.EmulateViewport(look.Width, 900))
	_, err := chromedp.Call(tab.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
	if err != nil {
		tab.t.Fatal(err)
	}
}

// Worked returns how long the page has spent on scripts, style and layout.
func (tab *Tab) Worked() (worked time.Duration) {
	tab.t.Helper()
	if _, err := chromedp.Call(tab.ctx, performance.Enable, performance.EnableParams{}); err != nil {
		tab.t.Fatal(err)
	}
	told, err := chromedp.Call(tab.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		tab.t.Fatal(err)
	}
	for _, metric := range told.Metrics {
		switch metric.Name {
		case "ScriptDuration", "LayoutDuration", "RecalcStyleDuration":
			worked += time.Duration(metric.Value * float64(time.Second))
		}
	}
	return worked
}
