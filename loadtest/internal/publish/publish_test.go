package publish

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"inventory/loadtest/internal/report"
)

const page = `before
<!-- locks: the machine: begin -->
<!-- locks: the machine: end -->
<!-- locks: begin -->
old
<!-- locks: end -->
between
<!-- replay: begin -->
<!-- replay: end -->
after
`

// folder has a document, and a report of each of some scenarios with two plots.
func folder(t *testing.T, scenarios ...string) (job Job) {
	t.Helper()
	root := t.TempDir()
	job = Job{Documents: []string{filepath.Join(root, "docs", "page.md")}, Plots: filepath.Join(root, "docs", "plots")}
	write(t, job.Documents[0], page)
	for _, scenario := range scenarios {
		plot := func(name string) report.Plot {
			return report.Plot{
				Name: name, Title: "plot " + name, Kind: report.Lines, Series: []report.Series{{Name: "s", X: []float64{1, 2}, Y: []float64{3, 4}}},
			}
		}
		d := report.Document{Scenario: scenario, AuditOK: true, Environment: report.Environment{OS: "linux", Arch: "amd64"}, Sections: []report.Section{{
			Name:  "a case of " + scenario,
			Table: &report.Table{Columns: []string{"", "per second"}, Rows: [][]string{{"ours", "80"}}},
			Plots: []report.Plot{plot("one"), plot("two")}, Targets: []report.Target{report.AtLeast("speed", 1, 2)},
		}}}
		var text strings.Builder
		if err := d.WriteJSON(&text); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(root, "reports", scenario+".json")
		write(t, name, text.String())
		job.Reports = append(job.Reports, name)
	}
	return job
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReportsGoIntoTheDocument(t *testing.T) {
	t.Parallel()
	job := folder(t, "replay", "locks")
	stale := filepath.Join(job.Plots, "locks", "gone.svg")
	write(t, stale, "<svg/>")
	done, err := Run(job)
	if err != nil || len(done) != 2 || done[0] != (Done{"replay", 2, ""}) {
		t.Fatalf("%+v, %v", done, err)
	}
	got := text(t, job.Documents[0])
	for _, says := range []string{
		"before\n<!-- locks: the machine: begin -->\n\nlinux/amd64", "<!-- locks: begin -->\n\n", "\n\n<!-- locks: end -->\nbetween\n<!-- replay: begin -->\n\n", "<!-- replay: end -->\nafter\n",
		"### a case of locks", "| ours | 80 |", "**missed**",
	} {
		if !strings.Contains(got, says) {
			t.Errorf("no %q in\n%s", says, got)
		}
	}
	if strings.Contains(got, "old") {
		t.Errorf("%s", got)
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("an old plot stays")
	}
	images := regexp.MustCompile(`\]\(([^)]+\.svg)\)`).FindAllStringSubmatch(got, -1)
	if len(images) != 4 {
		t.Errorf("%d plots are shown: %q", len(images), images)
	}
	for _, image := range images {
		if svg := text(t, filepath.Join(filepath.Dir(job.Documents[0]), image[1])); !strings.Contains(svg, "<svg") {
			t.Errorf("%s is %q", image[1], svg)
		}
	}
	if _, err := Run(job); err != nil || text(t, job.Documents[0]) != got {
		t.Errorf("%v: published again it is another:\n%s", err, text(t, job.Documents[0]))
	}
}

func TestNothingIsWrittenOfWhatCannotBePublished(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, job *Job)
		says  string
	}{
		"no marks":    {func(t *testing.T, job *Job) { write(t, job.Documents[0], "no marks\n") }, "there are no lines <!-- replay: begin -->"},
		"no document": {func(_ *testing.T, job *Job) { job.Documents[0] += ".not" }, "no such file"},
		"no report":   {func(_ *testing.T, job *Job) { job.Reports = append(job.Reports, "none.json") }, "none.json: no such file"},
		"the same":    {func(_ *testing.T, job *Job) { job.Reports = append(job.Reports, job.Reports[0]) }, "another report is of replay, too"},
		"other JSON":  {func(t *testing.T, job *Job) { write(t, job.Reports[0], `{"lines":3}`) }, "not a report of the lab"},
		"a path": {func(t *testing.T, job *Job) {
			write(t, job.Reports[0], `{"schema":"`+report.Schema+`","scenario":"../replay"}`)
		}, `"../replay" is no name of a scenario`},
		"a plot's path": {func(t *testing.T, job *Job) {
			write(t, job.Reports[0], strings.Replace(text(t, job.Reports[0]), `"name":"two"`, `"name":"../two"`, 1))
		}, `"../two" is no name of a plot`},
	} {
		job := folder(t, "replay")
		document := job.Documents[0]
		c.spoil(t, &job)
		before := text(t, document)
		if _, err := Run(job); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(job.Plots); err == nil || text(t, document) != before {
			t.Errorf("%s: something was written", name)
		}
	}
}

func TestFiguresThatDoNotBelongTogetherAreDoubted(t *testing.T) {
	t.Parallel()
	one := []Done{{Scenario: "locks", Revision: "a"}, {Scenario: "tail", Revision: "a"}, {Scenario: "soak"}}
	if doubts := Doubts(one); len(doubts) > 0 {
		t.Errorf("%q", doubts)
	}
	doubts := Doubts(append(one, Done{Scenario: "replay", Revision: "b-dirty"}))
	if len(doubts) != 2 || doubts[0] != "replay is of a source that was changed: b-dirty" || doubts[1] != "the reports are of several revisions: a, b-dirty" {
		t.Errorf("%q", doubts)
	}
}
