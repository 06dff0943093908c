package segments

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// document is what readers of the JSON rely on.
type document struct {
	Segments []struct {
		Segments  int
		Processes int
		Accepted  float64 `json:"accepted_per_second"`
		P50       float64 `json:"p50_ms"`
		P99       float64 `json:"p99_ms"`
		Spread    Spread
		Shares    []float64
		Jain      float64
		Merges    *int64
	}
	Stopped  map[string]float64
	Overload map[string]any
	AuditOK  bool `json:"audit_ok"`
}

// TestAllCases runs them as the program does: the test starts itself as the other processes.
func TestAllCases(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Scale: Tiny(), Worker: []string{program, asWorker}, Progress: func(string) {}}
	if testing.Short() {
		c.Cases = []string{stoppedCase}
	}
	result, err := Run(t.Context(), c)
	if err != nil || result.Err() != nil {
		t.Fatal(err, result.Err())
	}
	var text, table bytes.Buffer
	var d document
	if err := result.PrintJSON(&text); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text.Bytes(), &d); err != nil || !d.AuditOK {
		t.Fatalf("%v: %s", err, &text)
	}
	if d.Stopped["accepted"] == 0 || d.Stopped["stopped_seconds"] != 0.2 || d.Stopped["two_processes_per_second"] == 0 {
		t.Errorf("%v", d.Stopped)
	}
	if testing.Short() {
		return
	}
	if len(d.Segments) != 4 || d.Overload["accepted"] == 0. || d.Overload["offered_per_second"] == 0. || d.Overload["unknown"] != 0. {
		t.Errorf("%s", &text)
	}
	for _, e := range d.Segments {
		if e.Accepted <= 0 || e.P50 <= 0 || e.P99 < e.P50 || len(e.Shares) != e.Processes || e.Jain <= 0 || e.Merges == nil || e.Spread.Least > e.Accepted {
			t.Errorf("%+v", e)
		}
	}
	if err := result.Print(&table); err != nil || strings.Count(table.String(), "audit of 7 SKUs: OK") != 1 {
		t.Errorf("%v:\n%s", err, &table)
	}
	if tables := result.Into(""); strings.Count(tables, "### ") != 3 || strings.Count(tables, "\n- ") != 4+1 {
		t.Errorf("%s", tables)
	}
}

func TestUnknownCases(t *testing.T) {
	t.Parallel()
	if _, err := Run(t.Context(), Config{Cases: []string{"two"}}); err == nil || !strings.Contains(err.Error(), `"two"`) {
		t.Error(err)
	}
}
