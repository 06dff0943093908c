//go:build browser

package classroom_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"inventory/internal/browsertest"
)

// pictures names a folder: make pictures.
var pictures = flag.String("pictures", "", "folder for the pictures that README.md shows")

const (
	useServices = "form[aria-label='The services'] button"
	startSale   = "form[aria-label='The sale'] button"
)

// TestClassroomInABrowser sells, causes each fault, and checks that the audit holds.
func TestClassroomInABrowser(t *testing.T) {
	t.Parallel()
	url := open(t)
	tab := browsertest.OpenAt(t, url+"/")
	tab.Shows(".acts + *, .empty", "Start a sale")
	tab.Chooses("select[name=processes]", "3")
	tab.Clicks(useServices)
	tab.Shows(".breaks", "Stop process 3")
	tab.Shows(".acts", "3 processes, reentrant lock, in batches")
	browsertest.Do(tab, chromedp.Evaluate[any](`document.querySelector("select[name=processes]").selectedOptions[0].value = "4"`))
	tab.Clicks(useServices)
	tab.Shows("#toast", "must be 1 to 3")
	tab.Shows(".runs", "Now: 3 processes, reentrant lock, in batches")
	browsertest.Do(tab, chromedp.Evaluate[any](`document.querySelector("select[name=processes]").selectedOptions[0].value = "3"`))
	tab.Writes("input[name=pace]", "200")
	tab.Chooses("select[name=mix]", "many")
	tab.Clicks(startSale)
	tab.Shows("#link", "Live")
	tab.Draws(".vessels", "10 segments")
	tab.Shows(".figures", "Accepted a second")
	tab.Shows(".acts li:first-child", "10 segments, 200 orders a second", "every unit adds up")
	tab.Clicks(".breaks .each button:nth-child(2)")
	tab.Shows(".acts li:first-child", "Stop process 2", "every unit adds up", "to another process")
	browsertest.LookAt(tab, "classroom")
	for _, look := range browsertest.Looks() {
		standsBesideItsEffect(t, tab, look)
		keepPicture(t, tab, look)
	}
	browsertest.See(tab, browsertest.Looks()[0])
	tab.Clicks(".breaks .each button:nth-child(2)")
	tab.Clicks(".breaks > button:nth-child(1)")
	tab.Shows(".breaks > button:nth-child(1)", "Start Redis")
	tab.Shows(".acts li:first-child", "Stop Redis", "every unit adds up", "Locks only save waiting")
	tab.Clicks(".breaks > button:nth-child(1)")
	tab.Clicks(".breaks > button:nth-child(2)")
	tab.Shows(".acts", "Empty Redis", "Start Redis", "Wake process 2")
	tab.Shows(".acts li:first-child", "every unit adds up")
	tab.Clicks("form[aria-label='The sale'] button[type=button]")
	tab.Shows(".figures dd", "–")
	tab.Clicks("#to-sku")
	tab.Shows("main", "sale-", "segments have stock")
	tab.Shows(".bar", "Classroom")
	tab.IsClean(url, "400 (Bad Request)", "net::ERR_ABORTED") // the refused choice, and streams when the page went on
}

// standsBesideItsEffect demands that a person who breaks something sees the figures, and what it did.
func standsBesideItsEffect(t *testing.T, tab *browsertest.Tab, look browsertest.Look) {
	t.Helper()
	browsertest.See(tab, look)
	const seen = `(() => {
		document.querySelector(".breaks").scrollIntoView({ block: innerWidth > 600 ? "end" : "center" });
		return [".now .figures", ".breaks", ".acts li:first-child .measured"].filter((what) => {
			const { top, bottom } = document.querySelector(what).getBoundingClientRect();
			return top < 0 || bottom > innerHeight + 1;
		}).join(", ");
	})()`
	if hidden := browsertest.Do(tab, chromedp.Evaluate[string](seen)); hidden != "" {
		t.Errorf("%s: beside the buttons, %s is out of view", look, hidden)
	}
}

// keepPicture writes a picture that README.md shows, of a wide window.
func keepPicture(t *testing.T, tab *browsertest.Tab, look browsertest.Look) {
	t.Helper()
	file := map[browsertest.Look]string{{Width: 1280}: "classroom.webp", {Width: 1280, Dark: true}: "classroom-dark.webp"}[look]
	if *pictures == "" || file == "" {
		return
	}
	browsertest.Do(tab, chromedp.Evaluate[any](`new Promise((drawn) => setTimeout(drawn, 1500))`, chromedp.EvalAwaitPromise)) // the charts in the new colours
	picture := browsertest.Picture(tab)
	if err := os.WriteFile(filepath.Join(*pictures, file), picture, 0o600); err != nil || len(picture) > 150<<10 {
		t.Errorf("%s has %d bytes, %v, want 150 KiB at most", file, len(picture), err)
	}
}

// TestEveningInABrowser plays step 2 of docs/EVENING.md, and holds what it explains against the figures of the page. Whatever
// else the machine does at the time makes a step slower, never faster: it may be played again, and the fastest of each step counts.
func TestEveningInABrowser(t *testing.T) {
	var f evening
	for range 3 {
		played := playEvening(t)
		t.Logf("%.0f", played)
		for step := range f {
			f[step] = max(f[step], played[step])
		}
		if f[threeOfTen] > 1.2*f[one] && f[threeOfTen] > 1.2*f[threeOfOne] && f[threeOfTen] > f[ten] && f[batches] > 2*f[threeOfOne] {
			return
		}
	}
	t.Error("want three processes with ten segments to sell more than fewer of either, and batches more than twice as much")
}

// evening is the orders a second of each step.
type evening [5]float64

// The steps: one process with one segment and with ten, three with ten and with one, and in batches.
const (
	one = iota
	ten
	threeOfTen
	threeOfOne
	batches
)

func playEvening(t *testing.T) (f evening) {
	t.Helper()
	url := open(t)
	tab := browsertest.OpenAt(t, url+"/")
	now := func(what string) float64 {
		t.Helper()
		tab.Shows(".acts li:first-child", what, "every unit adds up", "orders a second")
		said := browsertest.Do(tab, chromedp.Evaluate[string](`document.querySelector(".acts li .measured strong").innerText`))
		figures := regexp.MustCompile(`[0-9,.]+`).FindAllString(said, -1)
		pace, err := strconv.ParseFloat(strings.ReplaceAll(figures[len(figures)-1], ",", ""), 64)
		if err != nil {
			t.Fatal(said, err)
		}
		return pace
	}
	services := func(processes, writes string) {
		tab.Chooses("select[name=processes]", processes)
		tab.Chooses("select[name=writes]", writes)
		tab.Clicks(useServices)
	}
	sale := func(segments string) {
		tab.Writes("input[name=segments]", segments)
		tab.Clicks(startSale)
	}
	tab.Shows("form", "Start a sale")
	services("1", "singly")
	tab.Clicks("#fast")
	sale("1")
	f[one] = now("1 segment, as fast as it can")
	sale("10")
	f[ten] = now("10 segments")
	services("3", "singly")
	f[threeOfTen] = now("3 processes, reentrant lock, order by order")
	sale("1")
	f[threeOfOne] = now("1 segment")
	services("3", "batches")
	f[batches] = now("3 processes, reentrant lock, in batches")
	tab.Clicks("form[aria-label='The sale'] button[type=button]")
	tab.IsClean(url, "net::ERR_ABORTED")
	return f
}
