package segments

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
)

// document is what readers of the JSON rely on.
type document struct {
	Segments []struct {
		Segments  int
		Processes int
		Accepted  float64 `json:"accepted_per_second"`
		P50       float64 `json:"p50_ms"`
		P99       float64 `json:"p99_ms"`
		Least     float64 `json:"least_share"`
		Jain      float64
		Merges    *int64
	}
	Stopped  map[string]any
	Overload map[string]any
	AuditOK  bool `json:"audit_ok"`

	Callers     int
	Lock        string
	Environment map[string]any
}

// TestAllCases runs them as the program does: the test starts itself as the other processes.
func TestAllCases(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Config: experiment.Config{Worker: []string{program, asWorker}, Progress: func(string) {}}, Scale: Tiny()}
	if testing.Short() {
		c.Cases = []string{stoppedCase}
	}
	result, err := Run(t.Context(), c)
	if err != nil || result.Err() != nil {
		t.Fatal(err, result.Err())
	}
	told, table, text := tell(t, result)
	var d document
	if err := json.Unmarshal([]byte(text), &d); err != nil || !d.AuditOK || d.Environment["fsync"] != "on" || d.Callers != 9 || d.Lock != "reentrant" {
		t.Fatalf("%v: %s", err, text)
	}
	if d.Stopped["accepted"] == 0. || d.Stopped["stopped_seconds"] != 0.2 || d.Stopped["two_processes_per_second"] == 0. {
		t.Errorf("%v", d.Stopped)
	}
	if testing.Short() {
		return
	}
	if len(d.Segments) != 4 || d.Overload["accepted"] == 0. || d.Overload["offered_per_second"] == 0. || d.Overload["unknown"] != 0. {
		t.Errorf("%s", text)
	}
	for _, e := range d.Segments {
		if e.Accepted <= 0 || e.P50 <= 0 || e.P99 < e.P50 || e.Least <= 0 || e.Least > 1/float64(e.Processes) || e.Jain <= 0 || e.Merges == nil {
			t.Errorf("%+v", e)
		}
	}
	if strings.Count(table, "audit of 7 SKUs: OK") != 1 || strings.Count(table, "(target: ") != 4 || len(told.Sections) != 3 {
		t.Errorf("%s", table)
	}
	for _, s := range told.Sections {
		for _, p := range s.Plots {
			for _, line := range p.Series {
				if len(line.X) == 0 || len(line.X) != len(line.Y) {
					t.Errorf("plot %s: %+v", p.Name, line)
				}
			}
		}
	}
}

// tell is a result as a document, printed and written as JSON.
func tell(t *testing.T, r Result) (d report.Document, text, object string) {
	t.Helper()
	d, err := r.Document()
	if err != nil {
		t.Fatal(err)
	}
	var printed, written strings.Builder
	if err := errors.Join(d.Print(&printed), d.WriteJSON(&written)); err != nil {
		t.Fatal(err)
	}
	return d, printed.String(), written.String()
}

func TestUnknownCases(t *testing.T) {
	t.Parallel()
	if _, err := Run(t.Context(), Config{Config: experiment.Config{Cases: []string{"two"}}}); err == nil || !strings.Contains(err.Error(), `"two"`) {
		t.Error(err)
	}
}
