package app_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"inventory/internal/app"
	"inventory/internal/stock/stocktest"
)

// TestAServiceThatStopsIsNotReadyAndServes: /readyz says so at once, and the service answers for the shutdown delay.
func TestAServiceThatStopsIsNotReadyAndServes(t *testing.T) {
	t.Parallel()
	const delay = time.Second
	a := startWith(t, app.Config{ShutdownDelay: new(delay)})
	if got := status(t, a.AdminURL()+"/readyz"); got != http.StatusOK {
		t.Fatalf("before: /readyz is %d", got)
	}
	start, closed := time.Now(), make(chan error, 1)
	go func() { closed <- a.Close(context.WithoutCancel(t.Context())) }()
	for status(t, a.AdminURL()+"/readyz") != http.StatusServiceUnavailable {
		if time.Since(start) > delay/2 {
			t.Fatal("/readyz is not 503 at once")
		}
	}
	if got := status(t, a.URL()+"/openapi.yaml"); got != http.StatusOK {
		t.Errorf("during the delay the service answers %d", got)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took < delay {
		t.Errorf("closed after %v", took)
	}
}

// TestOnLoopbackThereIsNoDelay: no balancer is involved.
func TestOnLoopbackThereIsNoDelay(t *testing.T) {
	t.Parallel()
	a := startWith(t, app.Config{})
	start := time.Now()
	if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("closed after %v", took)
	}
}

// TestBeyondLoopbackThereIsADelay, unless the supervisor's patience ends.
func TestBeyondLoopbackThereIsADelay(t *testing.T) {
	t.Parallel()
	a := startWith(t, app.Config{Listen: "0.0.0.0:0", AllowAnonymous: true})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	start := time.Now()
	if err := a.Close(ctx); err != nil {
		t.Log(err) // the drain has no time left
	}
	if took := time.Since(start); took < time.Second {
		t.Errorf("closed after %v", took)
	}
}

// startWith starts a service on a SQLite file of its own, without locks.
func startWith(t *testing.T, config app.Config) *app.App {
	t.Helper()
	config.DatabaseURL, config.Lock = "sqlite:"+stocktest.SQLiteFile(t), app.LockNone
	a, err := app.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// status returns the status of the answer to a GET.
func status(t *testing.T, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}
