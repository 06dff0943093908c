//go:build browser

// Package browsertest opens pages in Chromium, which must be on PATH, and records what they request and what the
// browser complains about.
package browsertest

import (
	"context"
	"fmt"
	"slices"
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

// patience bounds all actions in a tab.
const patience = time.Minute

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
	ctx, stop := context.WithTimeout(t.Context(), patience)
	ctx, closeBrowser := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)...)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		closeTab()
		closeBrowser()
		stop()
	})
	tab := &Tab{t: t, ctx: ctx}
	Do(tab, chromedp.Title()) // of the empty page: now the tab exists
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
	result, err := chromedp.Run(tab.ctx, action)
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
