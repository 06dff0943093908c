package app_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/app"
	"inventory/internal/servertest"
	"inventory/internal/stock"
)

// TestAnOutageIsLoggedOnceAndItsEndOnce, although many requests fail meanwhile: the server is killed, and then it hangs. Only
// requests that fail before the next probe have lines.
func TestAnOutageIsLoggedOnceAndItsEndOnce(t *testing.T) {
	t.Parallel()
	server, err := servertest.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, server.Stop)
	log := &lockedBuffer{}
	a, err := app.Start(t.Context(), app.Config{
		DatabaseURL: server.URL(), Lock: app.LockNone, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, func() error { return a.Close(context.WithoutCancel(t.Context())) })
	if _, _, err := a.Service().CreateSKU(t.Context(), stock.NewSKU{SKU: "shop", Stock: 1_000_000, Segments: 4}); err != nil {
		t.Fatal(err)
	}
	failed, stop := crowdOf(t, a.URL()+"/v1/skus/shop/deductions")
	for round, away := range []func() error{server.Kill, server.Pause} { // Pause: it hangs
		if err := away(); err != nil {
			t.Fatal(err)
		}
		untilLogged(t, log, `level=WARN msg="PostgreSQL fails`, round+1)
		for before := failed.Load(); failed.Load() < before+100; {
			time.Sleep(10 * time.Millisecond)
		}
		if err := errors.Join(server.Kill(), server.Restart(t.Context())); err != nil {
			t.Fatal(err)
		}
		untilLogged(t, log, "no longer so: PostgreSQL fails", round+1)
	}
	stop()
	if lines := strings.Count(log.String(), "level=WARN"); failed.Load() < 200 || lines > 60 {
		t.Errorf("%d lines of %d failures:\n%s", lines, failed.Load(), log.String())
	}
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

// untilLogged waits until a text was logged so often, and fails if it was logged more often.
func untilLogged(t *testing.T, log *lockedBuffer, text string, want int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); strings.Count(log.String(), text) < want && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if got := strings.Count(log.String(), text); got != want {
		t.Fatalf("%q was logged %d times, want %d:\n%s", text, got, want, log.String())
	}
}

// TestCallersWithLittleTimeAreNoOutage: their statements are cut off, and their connections with them. PostgreSQL is there.
func TestCallersWithLittleTimeAreNoOutage(t *testing.T) {
	t.Parallel()
	log := &lockedBuffer{}
	a, err := app.Start(t.Context(), app.Config{
		DatabaseURL: emptyDatabase(t), Lock: app.LockNone, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	if _, _, err := a.Service().CreateSKU(t.Context(), stock.NewSKU{SKU: "shop", Stock: 100, Segments: 4}); err != nil {
		t.Fatal(err)
	}
	for n := range 200 {
		body := fmt.Sprintf(`{"ref":"%d","quantity":1}`, n)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL()+"/v1/skus/shop/restock", strings.NewReader(body))
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
	untilLogged(t, log, "PostgreSQL fails", 0)
}
