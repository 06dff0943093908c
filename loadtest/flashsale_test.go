package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

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
		SKU  string `json:"sku"`
		Rows int64  `json:"orders_in_rows"`
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

// TestFlashSale sells 200 units to some 600 orders on servers of its own, and tells what each process spent.
func TestFlashSale(t *testing.T) {
	t.Parallel()
	d, own := sell(t, "--private-servers", "--seed=7")
	if own.Requests["accepted"] != 200 || own.Units != 200 || own.Rounds[0].Rows != 200 {
		t.Errorf("not sold out: %+v", own)
	}
	for _, outcome := range []string{"sale_closed", "sold_out", "replayed"} {
		if own.Requests[outcome] == 0 {
			t.Errorf("nothing was %s: %v", outcome, own.Requests)
		}
	}
	wantPlots(t, d, "percentiles", "throughput", "latency-over-time", "lag", "cpu")
	if d.Seed != 7 || !strings.HasPrefix(d.Summary[0], "Sold 200 of 200 units; sold out ") {
		t.Errorf("seed %d, summary %q", d.Seed, d.Summary)
	}
	for _, process := range []string{"generator", "service", "Redis", "PostgreSQL"} {
		if !slices.ContainsFunc(d.Figures, func(f report.Figure) bool { return f.Name == process+" CPU per order" && f.Value > 0 }) {
			t.Errorf("nothing tells what %s spent: %+v", process, d.Figures)
		}
	}
}

// TestASeedIsSoldOnceUnderItsLimit has buyers that want too much of a running service, and sells again.
func TestASeedIsSoldOnceUnderItsLimit(t *testing.T) {
	t.Parallel()
	url, databaseURL := startService(t)
	args := []string{"--url", url, "--database-url", databaseURL, "--seed=3", "--quantity=1-5", "--per-buyer-limit=5", "--buyers=60", "--arrivals=even"}
	_, own := sell(t, args...)
	if own.Requests["buyer_limit"] == 0 || own.Requests["accepted"] == 0 || own.Units > 200 {
		t.Errorf("%+v", own)
	}
	again := runWith(t.Context(), smallSale(args...)...)
	again.err = again.err[strings.Index(again.err, "\n")+1:] // after the line that says what begins
	again.wantOneLine(t, "was sold on this database before")
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
