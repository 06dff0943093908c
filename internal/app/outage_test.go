package app_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/servertest"
	"inventory/internal/stock"
)

// TestAnOutageIsLoggedOnceAndItsEndOnce, although many requests fail meanwhile: the server is killed, and then it hangs. Most
// requests that fail have no lines. A busy server may not answer in time either: so there may be further outages.
func TestAnOutageIsLoggedOnceAndItsEndOnce(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	server, err := servertest.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, server.Stop)
	log := &busytest.Log{}
	a := startOn(t, app.Config{DatabaseURL: server.URL(), Lock: app.LockNone, Logger: log.Logger()})
	if _, _, err := a.Service().CreateSKU(t.Context(), stock.NewSKU{SKU: "shop", Stock: 1_000_000, Segments: 4}); err != nil {
		t.Fatal(err)
	}
	failed, stop := crowdOf(t, a.URL()+"/v1/skus/shop/deductions")
	for _, away := range []func() error{server.Kill, server.Pause} { // Pause: it hangs
		if err := away(); err != nil {
			t.Fatal(err)
		}
		busytest.Soon(t, "the outage is logged", func() bool { return outageIn(t, log) })
		before := failed.Load()
		busytest.Soon(t, "many requests fail, and few of them are logged", func() bool {
			n := failed.Load()
			return n >= before+100 && int64(4*strings.Count(log.String(), "level=WARN")) <= n
		})
		if err := errors.Join(server.Kill(), server.Restart(t.Context())); err != nil {
			t.Fatal(err)
		}
		busytest.Soon(t, "the end of the outage is logged", func() bool { return !outageIn(t, log) })
	}
	stop()
}

// crowdOf lets buyers order one after another, until stop. failed counts the answers 503. While the service sells, buyers rest:
// the database that starts again needs the processors as well.
func crowdOf(t *testing.T, url string) (failed *atomic.Int64, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	failed = new(atomic.Int64)
	var buyers sync.WaitGroup
	for buyer := range 64 {
		buyers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				order := fmt.Sprintf(`{"order_id":"%d-%d","quantity":1}`, buyer, n)
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(order))
				if err != nil {
					t.Error(err)
					return
				}
				request.Header.Set("Content-Type", "application/json")
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					continue
				}
				response.Body.Close()
				if response.StatusCode == http.StatusServiceUnavailable {
					failed.Add(1)
					continue
				}
				select {
				case <-ctx.Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	stop = func() {
		cancel()
		buyers.Wait()
	}
	t.Cleanup(stop)
	return failed, stop
}

// outageIn reports whether a log ends within an outage of PostgreSQL, and fails if beginnings and ends do not alternate. Those of two
// outages that follow at once may change places.
func outageIn(t *testing.T, log *busytest.Log) bool {
	t.Helper()
	text := log.String()
	begun, ended := strings.Count(text, `level=WARN msg="PostgreSQL fails`), strings.Count(text, "no longer so: PostgreSQL fails")
	if begun > ended+2 || ended > begun+1 {
		t.Fatalf("%d beginnings and %d ends of outages are logged:\n%s", begun, ended, text)
	}
	return begun > ended
}

// TestCallersWithLittleTimeAreNoOutage: their statements are cut off, and their connections with them. PostgreSQL is there. It may not
// answer in time on a busy machine: then the callers come again.
func TestCallersWithLittleTimeAreNoOutage(t *testing.T) {
	t.Parallel()
	log := &busytest.Log{}
	a := startOn(t, app.Config{DatabaseURL: emptyDatabase(t), Lock: app.LockNone, Logger: log.Logger()})
	if _, _, err := a.Service().CreateSKU(t.Context(), stock.NewSKU{SKU: "shop", Stock: 100, Segments: 4}); err != nil {
		t.Fatal(err)
	}
	busytest.Soon(t, "callers come without an outage", func() bool {
		before := strings.Count(log.String(), "PostgreSQL fails")
		hurry(t, a.URL()+"/v1/skus/shop/restock")
		return strings.Count(log.String(), "PostgreSQL fails") == before
	})
}

// hurry sends requests that wait for their answers for one to five milliseconds.
func hurry(t *testing.T, url string) {
	t.Helper()
	for n := range 200 {
		body := fmt.Sprintf(`{"ref":"%s","quantity":1}`, rand.Text())
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		deadline := time.Now().Add(time.Millisecond + time.Duration(n)*20*time.Microsecond)
		request.Header.Set("Request-Deadline", deadline.UTC().Format(time.RFC3339Nano))
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
}
