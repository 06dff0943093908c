package contenders

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/servers"
)

// document is what readers of the JSON rely on.
type document struct {
	InProcess []map[string]any `json:"in_process"`
	HTTP      []map[string]any `json:"http"`
	Rows      []struct {
		What  string
		Value float64
		Bound float64
		Met   *bool
	} `json:"rows"`
	AuditOK     bool           `json:"audit_ok"`
	Environment map[string]any `json:"environment"`
}

// measure runs cases as the program does: it starts itself as the other processes.
func measure(t *testing.T, generator string, cases ...string) (Result, document) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), Config{
		Config: experiment.Config{Cases: cases, Worker: []string{program, asWorker}, Progress: func(string) {}}, Scale: Tiny(), Generator: generator,
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
		measure(t, GeneratorLab, "one caller")
		return
	}
	result, d := measure(t, GeneratorLab, "in process", "one caller", "three processes", redisCase)
	if got, want := len(d.InProcess), 2*len(designs())+4+2+2*3; got != want || len(d.HTTP) != 0 || len(d.Rows) != 5+4 {
		t.Errorf("%d entries instead of %d, %d over HTTP, targets %+v", got, want, len(d.HTTP), d.Rows)
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
		measure(t, GeneratorLab, "replays")
		return
	}
	_, d := measure(t, GeneratorLab, "over HTTP", "many orders", "replays", "terms", "bot")
	if len(d.HTTP) != 10+3+2+2+2 || len(d.InProcess) != 0 || len(d.Rows) != 8+2+1+1+1 {
		t.Errorf("%d entries, targets %+v", len(d.HTTP), d.Rows)
	}
	for _, e := range d.HTTP {
		wantFigures(t, e, "connections")
		// This client receives every answer.
		want, _ := e["accepted"].(float64)
		if e["name"] == botName { // its own units do not count as theirs
			want += buyerLimit
			if e["refused"] == 0. {
				t.Errorf("nobody was over the limit: %v", e)
			}
		}
		if e["name"] != noopName && e["rows"] != want {
			t.Errorf("rows and acceptances differ: %v", e)
		}
		if ratio, is := e["ratio_to_noop"].(float64); e["case"] == "over HTTP" && (!is || ratio <= 0) {
			t.Errorf("no ratio: %v", e)
		}
	}
}

// TestMixesAreSold plays all of the case, over HTTP too.
func TestMixesAreSold(t *testing.T) {
	t.Parallel()
	_, d := measure(t, GeneratorLab, mixCase)
	if len(d.InProcess) != 5*2*5+2 || // few and many callers; three processes sell two of the mixes
		len(d.HTTP) != 5*2 || len(d.Rows) != 6 {
		t.Errorf("%d in process, %d over HTTP, targets %+v", len(d.InProcess), len(d.HTTP), d.Rows)
	}
	for _, e := range append(d.InProcess, d.HTTP...) {
		if e["accepted"] == 0. && e["gave_up"] == 0. || e["SKUs"] == nil || e["note"] != nil || e["ratio"] == nil && e["accepted"] != 0. {
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
	if err := experiment.Check(Names(), []string{"replays"}); err != nil {
		t.Error(err)
	}
}
