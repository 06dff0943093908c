package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"inventory/internal/busytest"
	"inventory/loadtest/internal/report"
)

// smallSale is one that the race detector can keep up with.
func smallSale(more ...string) []string {
	return append([]string{
		"flash-sale", "--quick", "--stock=200", "--segments=4", "--connections=32", "--trickle-rate=100", "--trickle-for=500ms",
		"--spike-rate=600", "--spike-for=1s", "--storm-rate=400", "--storm-for=500ms", "--cool-down-rate=40", "--cool-down-for=500ms",
	}, more...)
}

// readReport reads a report that was written as JSON.
func readReport(t *testing.T, text string) (d report.Document) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &d); err != nil || d.Schema != report.Schema {
		t.Fatalf("%v: got the schema %q, want %q, in %q", err, d.Schema, report.Schema, text)
	}
	return d
}

// told are the numbers of the second column of a report's table, by the first. An unknown number is left out.
func told(d report.Document, section string) map[string]float64 {
	all := map[string]float64{}
	for _, s := range d.Sections {
		for n := 0; s.Name == section && n < len(s.Table.Rows); n++ {
			row := s.Table.Rows[n]
			if number, err := strconv.ParseFloat(strings.ReplaceAll(row[1], ",", ""), 64); err == nil {
				all[row[0]] = number
			}
		}
	}
	return all
}

// requests are the numbers of requests by what became of them.
func requests(d report.Document) map[string]float64 { return told(d, "What buyers were answered") }

// figure is the value of a figure, -1 if there is none.
func figure(d report.Document, name string) float64 {
	for _, f := range d.Figures {
		if f.Name == name {
			return f.Value
		}
	}
	return -1
}

// sell plays a small sale that must go well.
func sell(t *testing.T, more ...string) report.Document {
	t.Helper()
	got := runWith(t.Context(), smallSale(append(more, "--json=-")...)...)
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	d := readReport(t, got.out)
	if !d.AuditOK() || d.Interrupted {
		t.Errorf("wrong: %q, want nothing; interrupted: %t, want false", d.Wrong, d.Interrupted)
	}
	return d
}

// keptUp reports whether the requests were sent when they were due. On a busy machine they are not, as the report has to say.
func keptUp(d report.Document) bool {
	return !slices.ContainsFunc(d.Warnings, func(warning string) bool { return strings.HasPrefix(warning, "round ") })
}

// TestFlashSale sells 200 units to some 600 orders on servers of its own, and tells what each process spent. Orders that a busy
// machine drops buy nothing.
func TestFlashSale(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	d := sell(t, "--private-servers", "--seed=7")
	became, units := requests(d), figure(d, "sold")
	if became["accepted"] != units || units > 200 || units < 200 && keptUp(d) {
		t.Errorf("accepted %v orders, and sold %v units; want 200", became["accepted"], units)
	}
	for _, outcome := range []string{"sale closed", "sold out", "replayed"} {
		if became[outcome] == 0 && keptUp(d) {
			t.Errorf("got %v, want some %s", became, outcome)
		}
	}
	wantPlots(t, d, "throughput", "latency-over-time", "cpu")
	sold := fmt.Sprintf("Sold %v of 200 units; ", units)
	if units == 200 {
		sold += "sold out "
	}
	if d.Seed != 7 || !strings.HasPrefix(d.Summary[0], sold) {
		t.Errorf("seed %d, summary %q, want %q", d.Seed, d.Summary, sold)
	}
	for _, process := range []string{"generator", "service", "Redis", "PostgreSQL"} {
		// The kernel counts in steps of 10 ms, which is more than Redis needs for so few orders.
		if spent, known := told(d, "What the machine did")[process]; !known || spent == 0 && process != "Redis" {
			t.Errorf("%s spent %v s, want it to be known, and more than 0", process, spent)
		}
	}
}

// TestASeedIsSoldOnceUnderItsLimit has six buyers that want too much of a running service, and sells again.
func TestASeedIsSoldOnceUnderItsLimit(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	url, databaseURL := startService(t)
	args := []string{"--url", url, "--database-url", databaseURL, "--seed=3", "--quantity=1-5", "--per-buyer-limit=5", "--buyers=6", "--arrivals=even"}
	d := sell(t, args...)
	if became := requests(d); became["buyer limit"] == 0 || became["accepted"] == 0 || figure(d, "sold") > 6*5 {
		t.Errorf("got %v, and %v units sold; want some at the limit of a buyer, some accepted, and at most 30 units", became, figure(d, "sold"))
	}
	again := runWith(t.Context(), smallSale(args...)...)
	again.err = again.err[strings.Index(again.err, "\n")+1:] // after the line that says what begins
	again.wantOneLine(t, 1, "was sold on this database before")
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
	busytest.Slow(t)
	t.Parallel()
	_, databaseURL := startService(t)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(map[string]int{http.MethodGet: http.StatusNotFound, http.MethodPut: http.StatusCreated, http.MethodPost: http.StatusUnauthorized}[r.Method])
		_, _ = io.WriteString(w, `{"code":"unknown_sku"}`)
	}))
	defer service.Close()
	got := runWith(t.Context(), smallSale("--url", service.URL, "--database-url", databaseURL, "--json=-")...)
	d := readReport(t, got.out)
	if got.code != 1 || d.AuditOK() || requests(d)["refused otherwise"] == 0 || !strings.Contains(got.err, "status 401") {
		t.Errorf("exit status %d, wrong: %q, %v, %q; want status 401 to be an error", got.code, d.Wrong, requests(d), got.err)
	}
}
