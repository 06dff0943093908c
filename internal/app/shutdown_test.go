package app_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
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

// TestARequestThatMeetsTheEndIsAnswered: its connection was accepted before, and its header comes after.
func TestARequestThatMeetsTheEndIsAnswered(t *testing.T) {
	t.Parallel()
	for try := 1; ; try++ {
		a := startWith(t, app.Config{})
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(a.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		closed := make(chan error, 1)
		go func() { closed <- a.Close(context.WithoutCancel(t.Context())) }()
		untilRefused(t, conn.RemoteAddr().String())
		_, _ = io.WriteString(conn, "GET /openapi.yaml HTTP/1.1\r\nHost: localhost\r\n\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if late := <-closed; late != nil {
			t.Error(late)
		}
		switch {
		case err != nil && try < 5:
			continue // a request has a moment only, also on a machine that is busy otherwise
		case err != nil:
			t.Fatal(err)
		case answer.StatusCode != http.StatusOK || !answer.Close:
			t.Errorf("%s, the last on its connection: %t", answer.Status, answer.Close)
		}
		answer.Body.Close()
		return
	}
}

// untilRefused connects until nobody listens.
func untilRefused(t *testing.T, address string) {
	t.Helper()
	for {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
		if err == nil {
			conn.Close()
		}
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
