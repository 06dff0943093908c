package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inventory/internal/busytest"
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

// with runs the scenario, under the name chaos, as the program does.
func (m *measured) with(t *testing.T, args ...string) outcome {
	t.Helper()
	var grammar struct {
		Chaos measured `cmd:""`
	}
	grammar.Chaos = *m
	var out, errs busytest.Log
	code := cli.Run(t.Context(), append([]string{"chaos"}, args...), cli.Streams{Out: &out, Err: &errs}, &grammar, options()...)
	m.runs = grammar.Chaos.runs
	return outcome{code, out.String(), errs.String()}
}

// aRun is a report of the scenario chaos.
func aRun(p99 float64) report.Document {
	return report.Document{
		Scenario: "chaos", Summary: []string{"all was sold"}, Figures: []report.Figure{{Name: "p99", Unit: "ms", Value: p99}},
		Sections: []report.Section{{Name: "latency", Plots: []report.Plot{
			{Name: "p", Title: "Latency", Kind: report.Dots, Categories: []string{"a"}, Series: []report.Series{{Name: "p99", Y: []float64{p99}}}},
		}}},
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEverybodyIsTold delivers one run to all outputs that can be named.
func TestEverybodyIsTold(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	page, object, markdown := filepath.Join(folder, "report.html"), filepath.Join(folder, "report.json"), filepath.Join(folder, "report.md")
	m := &measured{document: aRun(30)}
	got := m.with(t, "--html", page, "--json", object, "--markdown", markdown)
	if got.code != 0 || got.err != "" || m.runs != 1 {
		t.Fatalf("%+v, %d runs", got, m.runs)
	}
	for name, text := range map[string]string{"printed": got.out, "page": readFile(t, page), "object": readFile(t, object), "Markdown": readFile(t, markdown)} {
		if !strings.Contains(text, "all was sold") {
			t.Errorf("%s: %s", name, text)
		}
	}
	if text, image := readFile(t, markdown), readFile(t, filepath.Join(folder, "report-p.svg")); !strings.Contains(text, "![Latency](report-p.svg)") || !strings.Contains(image, ">30<") {
		t.Errorf("no picture beside the page: %s\n%s", text, image)
	}
}

func TestStandardOutputHoldsNothingElse(t *testing.T) {
	t.Parallel()
	for flag, begins := range map[string]string{"--json=-": "{", "--html=-": "<!doctype html>", "--markdown=-": "# chaos"} {
		got := (&measured{document: aRun(30)}).with(t, flag)
		if got.code != 0 || !strings.HasPrefix(got.out, begins) || strings.Count(got.out, "all was sold") != 1 {
			t.Errorf("%s: %+v", flag, got)
		}
	}
}

// TestMistakeIsReportedBeforeTheRun: a mistake does not cost the time of a run.
func TestMistakeIsReportedBeforeTheRun(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no such folder":  {[]string{"--html=none/there.html"}, 1, "--html: open none/there.html"},
		"one file":        {[]string{"--html", file, "--json", file}, 1, "cannot both be written"},
		"a flag too much": {[]string{"--html"}, 2, "--html"},
	} {
		m := &measured{document: aRun(30)}
		m.with(t, c.args...).wantOneLine(t, c.code, c.says)
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

// TestATeamsBoundsDecide has a run in which one target is missed, one is met and one is undecided.
func TestATeamsBoundsDecide(t *testing.T) {
	t.Parallel()
	decided := func() report.Document {
		d := aRun(30)
		d.Sections[0].Targets = []report.Target{
			report.AtMost("p99 ms", 30, 20), report.AtMost("left", 1, 5),
			report.Target{What: "ratio", Value: 1, Sign: report.MoreThan, Bound: 1}.Within(0.9, 1.1),
		}
		return d
	}
	for name, c := range map[string]struct {
		args       []string
		code       int
		says, told string
	}{
		"a miss is a result":      {nil, 0, "", "targets: ✓ 1 met, ✗ 1 missed, ? 1 undecided"},
		"a miss fails":            {[]string{"--fail-on-miss"}, 1, "missed: 1 target: p99 ms", "✗ missed: p99 ms: 30 (target: at most 20)"},
		"with a bound of its own": {[]string{"--fail-on-miss", "--target", "p99 ms=40"}, 0, "", "targets: ✓ 2 met, ? 1 undecided"},
		"which may be missed":     {[]string{"--fail-on-miss", "--target=p99 ms=40", "--target=ratio=2"}, 1, "missed: 1 target: ratio", "at least 2"},
		"unknown":                 {[]string{"--target=p98=40"}, 1, `--target: there is no target "p98"; there are ["p99 ms" "left" "ratio"]`, "✓ 1 met"},
		"no number":               {[]string{"--target=p99 ms=much"}, 2, "--target", ""},
	} {
		object := filepath.Join(t.TempDir(), "report.json")
		got := (&measured{document: decided()}).with(t, append(c.args, "--json", object)...)
		if got.code != c.code || !strings.Contains(got.err, c.says) || !strings.Contains(got.out, c.told) {
			t.Errorf("%s: %+v", name, got)
		}
		if name == "with a bound of its own" {
			if text := readFile(t, object); !strings.Contains(text, `"bound":40`) || !strings.Contains(text, `{"name":"target","value":"p99 ms=40"}`) {
				t.Error(text)
			}
		}
	}
}
