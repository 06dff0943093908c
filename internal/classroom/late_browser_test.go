//go:build browser

package classroom_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"inventory/internal/browsertest"
	"inventory/internal/busytest"
)

// lateStates is a proxy before a classroom. It reads each state at once, signals that, and answers when the test lets it.
type lateStates struct {
	classroom http.Handler
	read      chan struct{}
	answer    chan struct{}
}

func (l *lateStates) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.URL.Path != "/classroom/state" {
		l.classroom.ServeHTTP(w, r)
		return
	}
	state := httptest.NewRecorder()
	l.classroom.ServeHTTP(state, r)
	select {
	case l.read <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	select {
	case <-l.answer:
	case <-r.Context().Done():
		return
	}
	maps.Copy(w.Header(), state.Header())
	w.WriteHeader(state.Code)
	_, _ = w.Write(state.Body.Bytes()) // to a browser, which reports an error itself
}

// TestLateStatesInABrowser chooses services as early as possible, and receives an old state after they have started.
// Neither undoes the choice.
func TestLateStatesInABrowser(t *testing.T) {
	t.Parallel()
	classroom, err := url.Parse(open(t))
	if err != nil {
		t.Fatal(err)
	}
	late := &lateStates{httputil.NewSingleHostReverseProxy(classroom), make(chan struct{}), make(chan struct{})}
	server := httptest.NewServer(late)
	t.Cleanup(func() {
		server.CloseClientConnections() // a state may wait for its answer
		server.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	tab := browsertest.OpenAt(t, server.URL+"/")
	busytest.Receive(t, "the page's first read of a state", late.read)
	if early := browsertest.Do(tab, chromedp.Evaluate[float64](`document.querySelectorAll("select").length`)); early != 0 {
		t.Errorf("%v choices are offered before the state is known", early)
	}
	late.answer <- struct{}{}
	tab.Shows(".breaks", "Stop process 1")
	busytest.Receive(t, "the page's read of a state of one process", late.read)
	tab.Chooses("select[name=processes]", "2")
	tab.Clicks("form[aria-label='The services'] button")
	tab.Shows(".breaks", "Stop process 2")
	late.answer <- struct{}{}
	busytest.Receive(t, "the page's read after it has shown the state before", late.read)
	if said := browsertest.Do(tab, chromedp.Evaluate[string](`document.querySelector(".breaks").innerText`)); !strings.Contains(said, "Stop process 2") {
		t.Errorf("an old state has undone the choice: %q", said)
	}
}
