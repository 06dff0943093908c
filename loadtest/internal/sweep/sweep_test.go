package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"inventory/loadtest/internal/report"
)

func grid(t *testing.T, texts ...string) Grid {
	t.Helper()
	g, err := ParseGrid(texts)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestAllCombinations(t *testing.T) {
	t.Parallel()
	var got []string
	for _, p := range grid(t, "segments=1,4", "--lock=fair,none").Points() {
		got = append(got, strings.Join(p.Arguments(), " "))
	}
	want := []string{"--segments=1 --lock=fair", "--segments=1 --lock=none", "--segments=4 --lock=fair", "--segments=4 --lock=none"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestGridsThatAreNone(t *testing.T) {
	t.Parallel()
	many := "stock=" + strings.TrimSuffix(strings.Repeat("x,", 3), ",")
	for name, c := range map[string]struct {
		texts []string
		says  string
	}{
		"no value":  {[]string{"segments="}, "must be FLAG=VALUE"},
		"no flag":   {[]string{"=1"}, "must be FLAG=VALUE"},
		"no sign":   {[]string{"segments"}, "must be FLAG=VALUE"},
		"twice":     {[]string{"a=1", "a=2"}, "a is there twice"},
		"same":      {[]string{many}, `"x" is there twice`},
		"very many": {[]string{"a=" + distinct(40), "b=" + distinct(40)}, "more than 1000 combinations"},
	} {
		if _, err := ParseGrid(c.texts); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func distinct(n int) string {
	var values []string
	for i := range n {
		values = append(values, strings.Repeat("1", i+1))
	}
	return strings.Join(values, ",")
}

// sold is the report of a run that has sold that many a second.
func sold(p Point, perSecond float64) *report.Document {
	return &report.Document{
		Schema: report.Schema, Scenario: "sale", Seed: 7, AuditOK: true, Environment: report.Environment{OS: "linux", Generator: p.String(), Measurement: []string{p.String(), "all"}},
		Figures: []report.Figure{{Name: "sold", Unit: "/s", Value: perSecond}, {Name: "p99", Unit: "ms", Value: 1 / perSecond}},
	}
}

// swept is a sweep of what was not a scenario.
func swept(ctx context.Context, g Grid, rounds int, once Scenario) Result {
	r := Result{Scenario: "sale", Grid: g, Rounds: rounds}
	r.Run(ctx, 1, once)
	return r
}

func told(t *testing.T, r Result) report.Document {
	t.Helper()
	d, err := r.Document()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestARowForEachCombination(t *testing.T) {
	t.Parallel()
	g := grid(t, "segments=16,1", "lock=fair,none")
	played, points := map[string]int{}, g.Points()
	r := swept(t.Context(), g, 6, func(_ context.Context, p Point) (*report.Document, error) {
		played[p.String()]++
		i := slices.IndexFunc(points, func(known Point) bool { return known.String() == p.String() })
		return sold(p, float64(100*(i+1)+10*(played[p.String()]%3))), nil
	})
	d := told(t, r)
	if !d.AuditOK || d.Scenario != "sweep-sale" || d.Seed != 7 || d.Environment.OS != "linux" || d.Environment.Generator != "" ||
		!slices.Equal(d.Environment.Measurement, []string{"all"}) {
		t.Errorf("%+v", d)
	}
	if got := strings.Join(d.Summary, "\n"); !strings.Contains(got, "sold a second: 110 (segments=16, lock=fair) to 410 (segments=1, lock=none)") {
		t.Errorf("%s", got)
	}
	table := d.Sections[0].Table
	if !slices.Equal(table.Columns, []string{"segments", "lock", "sold a second", "p99, ms"}) || len(table.Rows) != 4 ||
		!slices.Equal(table.Rows[0][:2], []string{"16", "fair"}) || !strings.HasPrefix(table.Rows[0][2], "110 (10") {
		t.Errorf("%+v", table)
	}
	p := d.Sections[0].Plots[0]
	want := []report.Series{{Name: "lock=fair", X: []float64{1, 16}, Y: []float64{310, 110}}, {Name: "lock=none", X: []float64{1, 16}, Y: []float64{410, 210}}}
	if len(d.Sections[0].Plots) != 2 || p.Kind != report.Lines || !p.X.Log || !reflect.DeepEqual(p.Series, want) {
		t.Errorf("%+v", p)
	}
	if len(d.Figures) != 4 || d.Figures[0] != (report.Figure{Name: "sold a second, segments=16, lock=fair", Value: 110}) {
		t.Errorf("%+v", d.Figures)
	}
}

// TestWhatWasNotMeasuredLeavesAGap: one run failed without a report, one was cut short, and one does not add up.
func TestWhatWasNotMeasuredLeavesAGap(t *testing.T) {
	t.Parallel()
	g := grid(t, "lock=fair,none,redlock,reentrant")
	ctx, cancel := context.WithCancel(t.Context())
	left := len(g.Points())
	d := told(t, swept(ctx, g, 1, func(_ context.Context, p Point) (*report.Document, error) {
		if left--; left == 0 {
			cancel()
		}
		switch p.String() {
		case "lock=fair":
			return sold(p, 10), nil
		case "lock=none":
			wrong := sold(p, 20)
			wrong.AuditOK, wrong.Wrong = false, []string{"a unit is missing"}
			return wrong, errors.New("a unit is missing")
		case "lock=redlock":
			return nil, errors.New("no server")
		}
		cut := sold(p, 5)
		cut.Interrupted = true
		return cut, errors.New("stopped")
	}))
	if d.AuditOK || !d.Interrupted || !slices.Equal(d.Wrong, []string{"lock=none: a unit is missing"}) {
		t.Errorf("%+v", d)
	}
	s := d.Sections[0]
	slices.Sort(s.Notes) // runs come in an order by chance
	if !slices.Equal(s.Notes, []string{"lock=none: a unit is missing", "lock=redlock: no server", "lock=reentrant: stopped"}) {
		t.Errorf("%q", s.Notes)
	}
	if s.Table.Rows[1][1] != "20" || s.Table.Rows[2][1] != "-" || s.Table.Rows[3][1] != "-" {
		t.Errorf("%q", s.Table.Rows)
	}
	if p := s.Plots[0]; p.Kind != report.Bars || len(p.Categories) != 4 || fmt.Sprint(p.Series[0].Y) != "[10 20 NaN NaN]" {
		t.Errorf("%+v", p)
	}
}

func TestASweepWithoutAnyReport(t *testing.T) {
	t.Parallel()
	g := grid(t, "wait=1s,2m")
	d := told(t, swept(t.Context(), g, 1, func(context.Context, Point) (*report.Document, error) { return nil, errors.New("no") }))
	if d.AuditOK || len(d.Figures) != 0 || len(d.Sections[0].Plots) != 0 || len(d.Sections[0].Notes) != 2 {
		t.Errorf("%+v", d)
	}
}

// TestTheReportsOfAllRunsAreKept writes and reads the document.
func TestTheReportsOfAllRunsAreKept(t *testing.T) {
	t.Parallel()
	g := grid(t, "segments=1")
	r := swept(t.Context(), g, 1, func(_ context.Context, p Point) (*report.Document, error) {
		d := sold(p, 10)
		return d, d.SetOwn(map[string]int{"rows": 3})
	})
	var text bytes.Buffer
	if err := told(t, r).WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), `"runs":[{"settings":[{"flag":"segments","value":"1"}],"round":1,"report":{"schema":"inventory-lab/1","scenario":"sale"`) ||
		!strings.Contains(text.String(), `"rows":3`) {
		t.Errorf("%s", &text)
	}
	if _, err := report.Read(&text); err != nil {
		t.Error(err)
	}
}
