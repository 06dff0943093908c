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
	"inventory/internal/busytest"
	"inventory/internal/stock/stocktest"
)

// TestAServiceThatStopsIsNotReadyAndServes: /readyz says so, and the service answers, while the shutdown delay lasts.
func TestAServiceThatStopsIsNotReadyAndServes(t *testing.T) {
	t.Parallel()
	a := startWith(t, app.Config{ShutdownDelay: new(2 * busytest.Patience)})
	busytest.Soon(t, "the service is ready", func() bool { return status(t, a.AdminURL()+"/readyz") == http.StatusOK })
	ctx, endDelay := context.WithCancel(context.WithoutCancel(t.Context()))
	defer endDelay()
	closed := make(chan error, 1)
	go func() { closed <- a.Close(ctx) }()
	busytest.Soon(t, "the service is not ready", func() bool {
		return status(t, a.AdminURL()+"/readyz") == http.StatusServiceUnavailable
	})
	if got := status(t, a.URL()+"/openapi.yaml"); got != http.StatusOK {
		t.Errorf("during the delay the service answers %d", got)
	}
	select {
	case err := <-closed:
		t.Errorf("closed before the end of the delay: %v", err)
	default:
		endDelay()
		if err := busytest.Receive(t, "the end of Close", closed); err != nil {
			t.Log(err) // the drain has no time left
		}
	}
}

// TestTheShutdownDelayEnds, and lasts as long as it is set.
func TestTheShutdownDelayEnds(t *testing.T) {
	t.Parallel()
	const delay = 100 * time.Millisecond
	a := startWith(t, app.Config{ShutdownDelay: new(delay)})
	start := time.Now()
	closeNow(t, a)
	if took := time.Since(start); took < delay {
		t.Errorf("closed after %v", took)
	}
}

// delays is what a service logs when a shutdown delay begins.
const delays = "not ready any more, and still serving"

// TestOnLoopbackThereIsNoDelay: no balancer is involved.
func TestOnLoopbackThereIsNoDelay(t *testing.T) {
	t.Parallel()
	var log busytest.Log
	closeNow(t, startWith(t, app.Config{Logger: log.Logger()}))
	if strings.Contains(log.String(), delays) {
		t.Errorf("there was a delay:\n%s", log.String())
	}
}

// TestBeyondLoopbackThereIsADelay, unless the supervisor's patience ends.
func TestBeyondLoopbackThereIsADelay(t *testing.T) {
	t.Parallel()
	var log busytest.Log
	a := startWith(t, app.Config{Listen: "0.0.0.0:0", AllowAnonymous: true, Logger: log.Logger()})
	const patience = 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	start := time.Now()
	if err := a.Close(ctx); err != nil {
		t.Log(err) // the drain has no time left
	}
	if took := time.Since(start); took < patience || !strings.Contains(log.String(), delays) {
		t.Errorf("closed after %v, and the log says:\n%s", took, log.String())
	}
}

// TestARequestThatMeetsTheEndIsAnswered: its connection was accepted before, and its header comes after.
func TestARequestThatMeetsTheEndIsAnswered(t *testing.T) {
	t.Parallel()
	// A request has a moment only, also on a machine that is busy otherwise.
	busytest.Soon(t, "a request that comes in time is answered", func() bool {
		a := startWith(t, app.Config{})
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(a.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			closeNow(t, a)
		}()
		untilRefused(t, conn.RemoteAddr().String())
		_, _ = io.WriteString(conn, "GET /openapi.yaml HTTP/1.1\r\nHost: localhost\r\n\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		<-closed
		if err != nil {
			return false
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK || !answer.Close {
			t.Errorf("%s, the last on its connection: %t", answer.Status, answer.Close)
		}
		return true
	})
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
	a, err := tryStart(t, config)
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
