package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"inventory/internal/cli"
	"inventory/loadtest/internal/report"
)

// smallSale is one that the race detector can keep up with.
func smallSale(more ...string) []string {
	return append([]string{
		"flash-sale", "--quick", "--stock=200", "--segments=4", "--connections=32", "--trickle-rate=100", "--trickle-for=500ms",
		"--spike-rate=600", "--spike-for=1s", "--storm-rate=400", "--storm-for=500ms", "--cool-down-rate=40", "--cool-down-for=500ms",
	}, more...)
}

// sold is what only the report of a flash sale has.
type sold struct {
	Requests map[string]int64 `json:"requests"`
	Units    int64            `json:"units_sold"`
	Rounds   []struct {
		SKU    string `json:"sku"`
		Stream string `json:"stream_sha256"`
		Rows   int64  `json:"orders_in_rows"`
	} `json:"rounds"`
}

// readReport reads a report, with its own members into own.
func readReport(t *testing.T, text string, own any) report.Document {
	t.Helper()
	d, err := report.Read(strings.NewReader(text))
	if err == nil {
		err = json.Unmarshal(d.Own, own)
	}
	if err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return d
}

// sell plays a small sale that must go well.
func sell(t *testing.T, more ...string) (report.Document, sold) {
	t.Helper()
	got := runWith(t.Context(), smallSale(append(more, "--json=-")...)...)
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	var own sold
	d := readReport(t, got.out, &own)
	if !d.AuditOK || d.Interrupted || len(own.Rounds) != 1 {
		t.Errorf("audit %t, wrong: %q, own: %+v", d.AuditOK, d.Wrong, own)
	}
	return d, own
}

// TestFlashSale sells 200 units to some 600 orders, on each store.
func TestFlashSale(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"--private-servers=false", "--private-servers"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			d, own := sell(t, where, "--seed=7")
			if own.Requests["accepted"] != 200 || own.Units != 200 || own.Rounds[0].Rows != 200 {
				t.Errorf("not sold out: %+v", own)
			}
			for _, outcome := range []string{"sale_closed", "sold_out", "replayed"} {
				if own.Requests[outcome] == 0 {
					t.Errorf("nothing was %s: %v", outcome, own.Requests)
				}
			}
			wantPlots(t, d, "percentiles", "throughput", "latency-over-time", "stock-left", "segments", "lag")
			if d.Seed != 7 || len(d.Figures) == 0 || !strings.HasPrefix(d.Summary[0], "Sold 200 of 200 units; sold out ") {
				t.Errorf("seed %d, figures %v, summary %q", d.Seed, d.Figures, d.Summary)
			}
		})
	}
}

// wantPlots demands plots that can be drawn.
func wantPlots(t *testing.T, d report.Document, names ...string) {
	t.Helper()
	for _, s := range d.Sections {
		for _, plot := range s.Plots {
			names = slices.DeleteFunc(names, func(name string) bool { return name == plot.Name })
			if len(plot.Series) == 0 {
				t.Errorf("%s is empty", plot.Name)
			}
			for _, line := range plot.Series {
				if len(line.X) == 0 || len(line.X) != len(line.Y) {
					t.Errorf("%s, %s: %d X, %d Y", plot.Name, line.Name, len(line.X), len(line.Y))
				}
			}
		}
	}
	if len(names) > 0 {
		t.Errorf("there are no plots %q", names)
	}
}

// TestFlashSaleOfManyUnitsUnderALimit has buyers that want too much.
func TestFlashSaleOfManyUnitsUnderALimit(t *testing.T) {
	t.Parallel()
	_, own := sell(t, "--quantity=1-5", "--per-buyer-limit=5", "--buyers=60", "--arrivals=even")
	if own.Requests["buyer_limit"] == 0 || own.Requests["accepted"] == 0 || own.Units > 200 {
		t.Errorf("%+v", own)
	}
}

func TestASeedIsSoldOnceAndRepeatsItself(t *testing.T) {
	t.Parallel()
	rates := filepath.Join(t.TempDir(), "rates.csv")
	if err := os.WriteFile(rates, []byte("seconds,rate,name\n0,50,trickle\n0.3,50\n0.3,300,spike\n1,300\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var streams []string
	for _, seed := range []string{"--seed=3", "--seed=3", "--seed=4"} {
		url, databaseURL := startService(t)
		args := []string{"flash-sale", "--rounds=2", "--stock=50", "--connections=8", "--rates", rates, "--url", url, "--database-url", databaseURL, seed, "--json=-"}
		got := runWith(t.Context(), args...)
		if got.code != 0 {
			t.Fatalf("%+v", got)
		}
		var own sold
		if readReport(t, got.out, &own); len(own.Rounds) != 2 || own.Rounds[0].Stream == own.Rounds[1].Stream {
			t.Fatalf("rounds %+v", own.Rounds)
		}
		streams = append(streams, own.Rounds[0].Stream+own.Rounds[1].Stream)
		again := runWith(t.Context(), append(args, "--json=")...)
		again.err = again.err[strings.Index(again.err, "\n")+1:] // after the line that says what begins
		again.wantOneLine(t, "was sold on this database before")
	}
	if streams[0] != streams[1] || streams[0] == streams[2] {
		t.Errorf("streams of seeds 3, 3, 4: %q", streams)
	}
}

// listener calls a function once a text was written to it.
type listener struct {
	wait string
	do   func()

	mu   sync.Mutex
	text bytes.Buffer
}

func (l *listener) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.text.Write(text)
	if strings.Contains(l.text.String(), l.wait) {
		l.do()
	}
	return n, err
}

// TestAnInterruptedSaleIsReported interrupts it before anything is sold, and while it is.
func TestAnInterruptedSaleIsReported(t *testing.T) {
	t.Parallel()
	for says, rounds := range map[string]int{"flash-sale: seed": 0, "accepted": 1} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancelCause(t.Context())
			defer interrupt(nil)
			errs := &listener{wait: says, do: func() { interrupt(errors.New("interrupted by the test")) }}
			var out bytes.Buffer
			// Long enough not to be over before it is interrupted.
			code := run(ctx, smallSale("--json=-", "--rounds=50", "--quick=false", "--spike-for=5s"), cli.Streams{Out: &out, Err: errs})
			if code != 1 || !strings.HasSuffix(errs.text.String(), "loadtest: the sale was stopped: interrupted by the test\n") {
				t.Errorf("exit status %d, told %q", code, &errs.text)
			}
			var own sold
			d := readReport(t, out.String(), &own)
			if !d.Interrupted || !d.AuditOK || len(own.Rounds) < rounds || rounds == 0 && len(own.Rounds) > 0 {
				t.Errorf("interrupted: %t, audit: %t, %d rounds", d.Interrupted, d.AuditOK, len(own.Rounds))
			}
		})
	}
}

func TestFlashSaleWithWrongFlags(t *testing.T) {
	t.Parallel()
	nobody := freeAddress(t)
	postgres := "--database-url=postgres://me:secret@" + nobody + "/db?sslmode=disable"
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"stock":       {[]string{"--stock=0"}, "--stock"},
		"segments":    {[]string{"--segments=2000"}, "--segments"},
		"quantity":    {[]string{"--quantity=5-1"}, "--quantity"},
		"no quantity": {[]string{"--quantity=some"}, "--quantity"},
		"rounds":      {[]string{"--rounds=0"}, "--rounds"},
		"rate":        {[]string{"--spike-rate=NaN"}, "--spike-rate"},
		"duration":    {[]string{"--storm-for=-1s"}, "--storm-for"},
		"arrivals":    {[]string{"--arrivals=soon"}, "--arrivals"},
		"connections": {[]string{"--connections=0"}, "--connections"},
		"no file":     {[]string{"--rates=none.csv"}, "--rates: open none.csv"},
		"not rates":   {[]string{"--rates=main.go"}, "--rates: main.go: line 1"},
		"too much":    {[]string{"--spike-rate=90000", "--spike-for=1h"}, "at most 5000000 can be planned"},
		"nothing":     {[]string{"--trickle-for=0s", "--spike-for=0s", "--storm-for=0s", "--cool-down-for=0s"}, "no request at all"},
		"report":      {[]string{"--json=none/there.json"}, "--json"},
		"PostgreSQL":  {[]string{postgres}, "start the service: reach PostgreSQL"},
		"service":     {[]string{"--url=http://me:secret@" + nobody, postgres}, "reach the service at http://" + nobody},
		"private":     {[]string{"--private-servers", postgres}, "--private-servers and --database-url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runWith(t.Context(), append([]string{"flash-sale"}, c.args...)...).wantOneLine(t, c.says)
		})
	}
}

// TestARefusedKeyIsAnError uses a service that accepts no orders.
func TestARefusedKeyIsAnError(t *testing.T) {
	t.Parallel()
	_, databaseURL := startService(t)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		switch {
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"type":"x","code":"unknown_sku","status":404,"title":"x"}`)
		case r.Method == http.MethodPut:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{}`)
		default:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"type":"x","code":"unauthenticated","status":401,"title":"x"}`)
		}
	}))
	defer service.Close()
	got := runWith(t.Context(), smallSale("--url", service.URL, "--database-url", databaseURL, "--json=-")...)
	var own sold
	d := readReport(t, got.out, &own)
	if got.code != 1 || d.AuditOK || own.Requests["refused"] == 0 || !strings.Contains(got.err, "status 401") {
		t.Errorf("exit status %d, audit %t, %v, %q", got.code, d.AuditOK, own.Requests, got.err)
	}
}
