//go:build browser

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"inventory/internal/browsertest"
)

// TestFlashSaleInABrowser plays a sale, and opens the page as a person does:
// every plot of the report exists and has lines, the page loads nothing, and the browser finds no fault.
func TestFlashSaleInABrowser(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	result, page := filepath.Join(folder, "sale.json"), filepath.Join(folder, "sale.html")
	if got := runWith(t.Context(), smallSale("--json", result, "--html", page)...); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	text, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, s := range readReport(t, string(text), &sold{}).Sections {
		for _, p := range s.Plots {
			titles = append(titles, p.Title)
		}
	}
	tab := browsertest.Open(t)
	browsertest.Do(tab, chromedp.Navigate("file://"+page))
	drawn := browsertest.Do(tab, chromedp.Evaluate[[]string](`[...document.querySelectorAll("figure svg[role=img]")].filter(svg =>
		svg.getBoundingClientRect().width > 200 && svg.querySelector("path, polyline, rect")).map(svg => svg.getAttribute("aria-label"))`))
	for _, title := range titles {
		if !slices.Contains(drawn, title) {
			t.Errorf("no plot %q among %q", title, drawn)
		}
	}
	if len(titles) < 6 {
		t.Errorf("a sale has the plots %q alone", titles)
	}
	for _, url := range tab.Asked() {
		if url != "file://"+page && url != "data:," {
			t.Errorf("the page asked for %s", url)
		}
	}
	for _, complaint := range tab.Complaints() {
		t.Errorf("the browser says: %s", complaint)
	}
}
