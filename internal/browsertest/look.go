//go:build browser

package browsertest

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

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
