package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inventory/internal/cli"
	"inventory/loadtest/internal/report"
)

// measured is a scenario that measures nothing and reports what a test says.
type measured struct {
	reportFlags
	document report.Document
	err      error
	runs     int
}

func (m *measured) Run(ctx context.Context, s cli.Streams) error {
	return m.deliver(ctx, s, func(context.Context) (report.Document, error) {
		m.runs++
		return m.document, m.err
	})
}

// with runs the scenario, under the name tail, as the program does.
func (m *measured) with(t *testing.T, args ...string) outcome {
	t.Helper()
	var grammar struct {
		Tail measured `cmd:""`
	}
	grammar.Tail = *m
	var out, errs bytes.Buffer
	code := cli.Run(t.Context(), append([]string{"tail"}, args...), cli.Streams{Out: &out, Err: &errs}, &grammar, options()...)
	m.runs = grammar.Tail.runs
	return outcome{code, out.String(), errs.String()}
}

// aRun is a report of the scenario tail.
func aRun(p99 float64) report.Document {
	return report.Document{
		Scenario: "tail", Summary: []string{"all was sold"}, AuditOK: true, Figures: []report.Figure{{Name: "p99", Unit: "ms", Value: p99}},
		Sections: []report.Section{{Name: "latency", Plots: []report.Plot{
			{Name: "p", Title: "Latency", Kind: report.Bars, Categories: []string{"a"}, Series: []report.Series{{Name: "p99", Y: []float64{p99}}}},
		}}},
	}
}

// saved is a file with a report.
func saved(t *testing.T, d report.Document) string {
	t.Helper()
	var text bytes.Buffer
	if err := d.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "earlier.json")
	if err := os.WriteFile(name, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEverybodyIsTold delivers one run to all who can be named.
func TestEverybodyIsTold(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	page, object := filepath.Join(folder, "report.html"), filepath.Join(folder, "report.json")
	m := &measured{document: aRun(30)}
	got := m.with(t, "--html", page, "--json", object, "--compare", saved(t, aRun(60)))
	if got.code != 0 || got.err != "" || m.runs != 1 {
		t.Fatalf("%+v, %d runs", got, m.runs)
	}
	for name, text := range map[string]string{"printed": got.out, "page": readFile(t, page)} {
		if !strings.Contains(text, "all was sold") || !strings.Contains(text, "this / other") || !strings.Contains(text, "0.5") {
			t.Errorf("%s: %s", name, text)
		}
	}
	file, err := os.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if d, err := report.Read(file); err != nil || len(d.Sections) != 1 || len(d.Sections[0].Plots[0].Series) != 1 {
		t.Errorf("%v: the object is not this run's alone: %+v", err, d)
	}
}

func TestStandardOutputHoldsNothingElse(t *testing.T) {
	t.Parallel()
	for flag, begins := range map[string]string{"--json=-": "{", "--html=-": "<!doctype html>"} {
		got := (&measured{document: aRun(30)}).with(t, flag)
		if got.code != 0 || !strings.HasPrefix(got.out, begins) || strings.Count(got.out, "all was sold") != 1 {
			t.Errorf("%s: %+v", flag, got)
		}
	}
}

// TestWhatIsWrongIsKnownBeforeTheRun costs nobody the time of a run.
func TestWhatIsWrongIsKnownBeforeTheRun(t *testing.T) {
	t.Parallel()
	other := aRun(1)
	other.Scenario = "soak"
	file := filepath.Join(t.TempDir(), "file")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no such folder":  {[]string{"--html=none/there.html"}, "--html: open none/there.html"},
		"one file":        {[]string{"--html", file, "--json", file}, "cannot both be written"},
		"no such report":  {[]string{"--compare=none.json"}, "--compare: open none.json"},
		"no report":       {[]string{"--compare", writeFile(t, "order_id,at")}, "not a report of the lab"},
		"another report":  {[]string{"--compare", writeFile(t, `{"schema":"inventory-lab/9"}`)}, "inventory-lab/9"},
		"other scenario":  {[]string{"--compare", saved(t, other)}, "a report of the scenario soak cannot be compared with one of tail"},
		"a flag too much": {[]string{"--html"}, "--html"},
	} {
		m := &measured{document: aRun(30)}
		m.with(t, c.args...).wantOneLine(t, c.says)
		if m.runs > 0 {
			t.Errorf("%s: it ran", name)
		}
	}
}

// TestAnInterruptedRunIsTold writes what was measured until then.
func TestAnInterruptedRunIsTold(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "report.html")
	m := &measured{document: aRun(30), err: errors.New("interrupted")}
	m.document.Interrupted = true
	got := m.with(t, "--html", page)
	if got.code != 1 || got.err != "loadtest: interrupted\n" || !strings.Contains(got.out, "all was sold") ||
		!strings.Contains(readFile(t, page), "The run was interrupted") {
		t.Errorf("%+v", got)
	}
}
