//go:build browser

package browsertest

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Look is how a person looks at a page: how wide the window is, and whether they like it dark.
type Look struct {
	Width int64
	Dark  bool
}

// Looks are those in which pages have to be right.
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

// LookAt shows the page in each look, keeps a picture of each among the test's artefacts, and demands that the page is no
// wider than the window and has no faults of those that faults.js finds.
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
	}
	See(tab, Looks()[0])
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
