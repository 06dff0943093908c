package contenders

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
)

// document is what readers of the JSON rely on.
type document struct {
	InProcess []map[string]any `json:"in_process"`
	HTTP      []map[string]any `json:"http"`
	Sections  []struct {
		Targets []any
	}
	AuditOK     bool           `json:"audit_ok"`
	Environment map[string]any `json:"environment"`
}

// targets is the number of targets.
func (d document) targets() (n int) {
	for _, s := range d.Sections {
		n += len(s.Targets)
	}
	return n
}

// measure runs cases as the program does: it starts itself as the other processes.
func measure(t *testing.T, cases ...string) (Result, document) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), Config{
		Config: experiment.Config{Cases: cases, Worker: []string{program, asWorker}, Progress: func(string) {}}, Scale: Tiny(),
		Process: target.Process{Command: []string{program, asService}, Logs: io.Discard},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Err(); err != nil {
		t.Error(err)
	}
	_, _, text := told(t, result)
	var d document
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if !d.AuditOK || d.Environment["fsync"] != "on" {
		t.Errorf("%s", text)
	}
	return result, d
}

// wantFigures demands that an entry has all figures, and that something happened.
func wantFigures(t *testing.T, e map[string]any, who string) {
	t.Helper()
	for _, name := range []string{who, "accepted_per_second", "p50_ms", "p99_ms", "refused", "ratio", "rows"} {
		if _, is := e[name].(float64); !is {
			t.Errorf("%v: %s is %v", e["name"], name, e[name])
		}
	}
	if e["note"] != nil {
		t.Errorf("%v: %v", e["name"], e["note"])
	}
	if answers, _ := e["answers_per_second"].(float64); answers <= 0 && e["gave_up"] == 0. {
		t.Errorf("did nothing: %v", e)
	}
}

func TestEveryDesignSells(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		measure(t, "one caller")
		return
	}
	result, d := measure(t, "in process", "one caller", "three processes", redisCase)
	if got, want := len(d.InProcess), 2*len(designs())+4+2+2*3; got != want || len(d.HTTP) != 0 || d.targets() != 5+4 {
		t.Errorf("%d entries instead of %d, %d over HTTP, %d targets", got, want, len(d.HTTP), d.targets())
	}
	for _, e := range d.InProcess {
		wantFigures(t, e, "callers")
		if e["rows"] != e["accepted"] {
			t.Errorf("rows and acceptances differ: %v", e)
		}
	}
	told, text, _ := told(t, result)
	if strings.Count(text, "audit of ") != 4 || strings.Count(text, "(target: ") != 9 {
		t.Errorf("%s", text)
	}
	for _, s := range told.Sections {
		if len(s.Plots) < 2 || len(s.Table.Rows) < 2 {
			t.Errorf("%s: %+v", s.Name, s)
		}
	}
}

func TestEverySiteAnswers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		measure(t, "many orders")
		return
	}
	_, d := measure(t, "over HTTP", "many orders")
	if len(d.HTTP) != 10+3 || len(d.InProcess) != 0 || d.targets() != 8+2 {
		t.Errorf("%d entries, %d targets", len(d.HTTP), d.targets())
	}
	for _, e := range d.HTTP {
		wantFigures(t, e, "connections")
		if e["name"] != noopName && e["rows"] != e["accepted"] {
			t.Errorf("rows and acceptances differ: %v", e)
		}
		if _, known := e["service_us"].(float64); known != (e["name"] != noopName) {
			t.Errorf("costs: %v", e)
		}
		if ratio, is := e["ratio_to_noop"].(float64); e["case"] == "over HTTP" && (!is || ratio <= 0) {
			t.Errorf("no ratio: %v", e)
		}
	}
}

// TestMixesAreSold plays all of the case, over HTTP too.
func TestMixesAreSold(t *testing.T) {
	t.Parallel()
	_, d := measure(t, mixCase)
	if len(d.InProcess) != 5*2*5+2+2 || // few and many callers; three processes sell two of the mixes
		len(d.HTTP) != 6*2 || d.targets() != 6 {
		t.Errorf("%d in process, %d over HTTP, %d targets", len(d.InProcess), len(d.HTTP), d.targets())
	}
	for _, e := range append(d.InProcess, d.HTTP...) {
		if e["accepted"] == 0. && e["gave_up"] == 0. || e["SKUs"] == nil || e["note"] != nil || e["ratio"] == nil && e["accepted"] != 0. && e["SKUs"] != wholeMix {
			t.Errorf("%v", e)
		}
	}
}

func TestServersThatForgetAreRefused(t *testing.T) {
	t.Parallel()
	private, err := servers.Open(t.Context(), servers.URLs{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := private.Close(); err != nil {
			t.Error(err)
		}
	}()
	forgetful := private.URLs
	forgetful.DatabaseURL += "&synchronous_commit=off"
	_, err = Run(t.Context(), Config{Config: experiment.Config{URLs: forgetful}, Scale: Tiny()})
	if err == nil || !strings.Contains(err.Error(), "synchronous_commit off") {
		t.Error(err)
	}
}

func TestUnknownCases(t *testing.T) {
	t.Parallel()
	if err := experiment.Check(Names(), []string{"one caller", "two"}); err == nil || !strings.Contains(err.Error(), `"two"`) {
		t.Error(err)
	}
	if err := experiment.Check(Names(), []string{"over HTTP"}); err != nil {
		t.Error(err)
	}
}
