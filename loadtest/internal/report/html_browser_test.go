//go:build browser

package report

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"inventory/internal/browsertest"
)

// TestPageInABrowser opens a page with every kind of plot from a file, as a person does who has received it, on a
// telephone and on a desk: every plot is visible, the page loads nothing, and the browser finds no fault.
func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	d := sample()
	name := filepath.Join(t.TempDir(), "report.html")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteHTML(file); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	tab := browsertest.Open(t)
	browsertest.Do(tab, chromedp.Navigate("file://"+name))
	browsertest.LookAt(tab, "report")
	for _, look := range browsertest.Looks() {
		browsertest.See(tab, look)
		wantPlotsOnPaper(t, tab, d, look.Width)
		wantVerdictsApart(t, tab)
	}
	for _, url := range tab.Asked() {
		if url != "file://"+name && url != "data:," { // the icon that keeps browsers from asking for one
			t.Errorf("the page asked for %s", url)
		}
	}
	for _, complaint := range tab.Complaints() {
		t.Errorf("the browser says: %s", complaint)
	}
}

// wantVerdictsApart demands a colour for each verdict, of targets and in tables, a shade for what lasts, and names of settings that are not broken in the middle of a word.
func wantVerdictsApart(t *testing.T, tab *browsertest.Tab) {
	t.Helper()
	for _, verdicts := range []string{"#targets ~ .verdicts span", "td span"} {
		colours := browsertest.Do(tab, chromedp.Evaluate[[]string](fmt.Sprintf(`[...new Set([...document.querySelectorAll(%q)].map((v) => getComputedStyle(v).color))]`, verdicts)))
		if len(colours) != 3 {
			t.Errorf("the colours of three verdicts in %s are %q", verdicts, colours)
		}
	}
	if shades := browsertest.Do(tab, chromedp.Evaluate[int](`document.querySelectorAll("svg path[style*=fill-opacity]").length`)); shades == 0 {
		t.Error("nothing shades the time of a mark that lasts")
	}
	broken := browsertest.Do(tab, chromedp.Evaluate[[]string](`[...document.querySelectorAll(".settings dt")].filter((n) => n.offsetHeight > 30).map((n) => n.innerText)`))
	if len(broken) > 0 {
		t.Errorf("names on several lines: %q", broken)
	}
}

// wantPlotsOnPaper demands that each plot has a size, that all of them fit, and that the page is no wider than the window.
func wantPlotsOnPaper(t *testing.T, tab *browsertest.Tab, d Document, width int64) {
	t.Helper()
	type picture struct {
		Label         string
		Width, Height float64
	}
	pictures := browsertest.Do(tab, chromedp.Evaluate[[]picture](`[...document.querySelectorAll("figure svg[role=img]")].map(svg => {
		const box = svg.getBoundingClientRect()
		return {Label: svg.getAttribute("aria-label"), Width: box.width, Height: box.height}
	})`))
	plots := d.plots()
	if len(pictures) != len(plots) {
		t.Fatalf("%d pictures of %d plots: %v", len(pictures), len(plots), pictures)
	}
	for i, p := range pictures {
		if p.Label != plots[i].Title || p.Width < 200 || p.Width > float64(width) || p.Height < 50 {
			t.Errorf("%s is %v by %v, at a width of %d", p.Label, p.Width, p.Height, width)
		}
	}
	if wide := browsertest.Do(tab, chromedp.Evaluate[float64](`document.documentElement.scrollWidth`)); wide > float64(width) {
		t.Errorf("the page is %v wide in a window of %d", wide, width)
	}
}
