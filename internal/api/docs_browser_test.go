//go:build browser

package api_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// witness writes down what a browser's page asks for and what it complains about.
type witness struct {
	mu         sync.Mutex
	asked      []string
	complaints []string
}

func (w *witness) see(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		w.asked = append(w.asked, e.Request.URL)
	case *network.EventLoadingFailed:
		w.complaints = append(w.complaints, "a request failed: "+e.ErrorText)
	case *log.EventEntryAdded:
		w.complaints = append(w.complaints, e.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			w.complaints = append(w.complaints, fmt.Sprintf("console: %+v", e.Args))
		}
	case *runtime.EventExceptionThrown:
		w.complaints = append(w.complaints, "exception: "+e.ExceptionDetails.Text)
	}
}

// step does one thing in the browser.
func step[T any](t *testing.T, ctx context.Context, action chromedp.Action[T]) T {
	t.Helper()
	result, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestDocsPageInABrowser opens the page, unfolds a route, sends its request, and holds what the browser asked for
// against the origin: not even a refused request to elsewhere is made, and nothing offends the page's policy.
func TestDocsPageInABrowser(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ctx, closeBrowser := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)...)
	defer closeBrowser()
	ctx, closeTab := chromedp.NewContext(ctx)
	defer closeTab()
	w := &witness{}
	const route = "#operations-default-readSKU "
	step(t, ctx, chromedp.Title()) // of the empty page: the tab is there
	if err := chromedp.Listen(ctx, w.see); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	step(t, ctx, chromedp.Navigate(s.app.URL()+"/docs"))
	title := step(t, ctx, chromedp.Text(chromedp.CSS(".info .title"), chromedp.NodeVisible))
	step(t, ctx, chromedp.Click(chromedp.CSS(route+".opblock-summary-control"), chromedp.NodeVisible))
	step(t, ctx, chromedp.Click(chromedp.CSS(route+".try-out__btn"), chromedp.NodeVisible))
	step(t, ctx, chromedp.SendKeys(chromedp.CSS(route+".parameters input"), "nothing", chromedp.NodeVisible))
	step(t, ctx, chromedp.Click(chromedp.CSS(route+".execute"), chromedp.NodeVisible))
	response := step(t, ctx, chromedp.Text(chromedp.CSS(route+".live-responses-table .microlight"), chromedp.NodeVisible))
	w.mu.Lock()
	defer w.mu.Unlock()
	if !strings.Contains(title, "inventory") || !strings.Contains(response, "unknown_sku") {
		t.Errorf("title %q, response %q", title, response)
	}
	if len(w.asked) < 7 {
		t.Errorf("only %d requests were seen: %q", len(w.asked), w.asked)
	}
	for _, url := range w.asked {
		if !strings.HasPrefix(url, s.app.URL()+"/") && !strings.HasPrefix(url, "data:") {
			t.Errorf("the page asked for %s", url)
		}
	}
	for _, complaint := range w.complaints {
		if !strings.Contains(complaint, "404 (Not Found)") { // what the request was for
			t.Errorf("the browser says: %s", complaint)
		}
	}
}
