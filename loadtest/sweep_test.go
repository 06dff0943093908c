package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"inventory/internal/cli"
	"inventory/loadtest/internal/report"
)

// swept runs a sweep and reads its report.
func swept(t *testing.T, args ...string) (d report.Document, code int, told string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"sweep", "--json=-"}, args...), cli.Streams{Out: &out, Err: &errs})
	d, err := report.Read(&out)
	if err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	return d, code, errs.String()
}

func TestSweepOfAScenario(t *testing.T) {
	t.Parallel()
	file := writeFile(t, handMade)
	d, code, told := swept(t, "--rounds=2", "--grid", "concurrency=1,2", "--grid", "stock-factor=0.5,1", "--", "replay", "--orders", file)
	if code != 0 || !d.AuditOK || d.Interrupted || d.Scenario != "sweep-replay" || d.Environment.SQLite == "" {
		t.Errorf("%d, %s, %+v", code, told, d)
	}
	for _, says := range []string{"sweep: run 1 of 8: ", "sweep: run 8 of 8: "} {
		if !strings.Contains(told, says) || strings.Count(told, ": concurrency=1, stock-factor=0.5\n") != 2 {
			t.Errorf("no %q in %s", says, told)
		}
	}
	table := d.Sections[0].Table
	last := len(table.Columns) - 1
	if table.Columns[last] != "units sold" || len(table.Rows) != 4 || table.Rows[0][last] != "12" {
		t.Errorf("%+v", table)
	}
	if p := d.Sections[0].Plots; len(p) != 4 || len(p[0].Series) != 2 || !slices.Equal(p[0].Series[0].X, []float64{1, 2}) {
		t.Errorf("%+v", p)
	}
	if strings.Count(string(d.Own), `"schema":`) != 8 {
		t.Errorf("%s", d.Own)
	}
	names := map[string]string{}
	for _, f := range d.Flags {
		if _, twice := names[f.Name]; twice {
			t.Errorf("%s is told twice", f.Name)
		}
		names[f.Name] = f.Value
	}
	if names["grid"] != "concurrency=1,2 stock-factor=0.5,1" || names["rounds"] != "2" || names["orders"] != file || names["concurrency"] != "" {
		t.Errorf("%v", names)
	}
}

// TestASweepGoesOn though a combination fails.
func TestASweepGoesOn(t *testing.T) {
	t.Parallel()
	file := writeFile(t, handMade)
	d, code, told := swept(t, "--grid", "orders=none.csv,"+file, "replay")
	if code != 1 || !strings.HasSuffix(told, "\nloadtest: 1 of 2 runs failed, first orders=none.csv: read orders: open none.csv: no such file or directory\n") {
		t.Errorf("%d, %s", code, told)
	}
	s := d.Sections[0]
	if !d.AuditOK || len(s.Notes) != 1 || s.Table.Rows[0][1] != "-" || s.Table.Rows[1][1] == "-" || d.Environment.OS == "" {
		t.Errorf("%+v", d)
	}
}

func TestSweepsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no grid":        {[]string{"replay"}, "--grid"},
		"no scenario":    {[]string{"--grid=quick=true,false"}, "name a scenario"},
		"grid":           {[]string{"--grid=quick", "replay"}, `"quick" must be FLAG=VALUE`},
		"rounds":         {[]string{"--grid=quick=true", "--rounds=0", "replay"}, "--rounds must be 1 to 100"},
		"own flag":       {[]string{"--gird=quick=true", "replay"}, "--gird"},
		"scenario":       {[]string{"--grid=quick=true", "--", "replays"}, "replays"},
		"a tool":         {[]string{"--grid=into=a", "--", "publish", "x.json"}, "publish is no scenario"},
		"a sweep":        {[]string{"--grid=rounds=1", "--", "sweep", "--grid=quick=true", "replay"}, "sweep"},
		"unknown flag":   {[]string{"--grid=segments=1", "--", "replay"}, "segments=1: unknown flag --segments"},
		"value":          {[]string{"--grid=concurrency=1,0", "--", "replay"}, "concurrency=0: replay: --concurrency must be"},
		"case":           {[]string{"--grid=quick=true", "--", "locks", "--case=no"}, `there is no case "no"`},
		"generator":      {[]string{"--grid=generator=lab,ab", "--", "contenders"}, `there is no generator "ab"`},
		"report":         {[]string{"--grid=quick=true", "--", "replay", "--json=x"}, "--json is the sweep's"},
		"report in grid": {[]string{"--grid=json=x,y", "--", "replay"}, "--json is the sweep's"},
		"twice":          {[]string{"--grid=quick=true", "--", "replay", "--quick"}, "--quick is in the grid"},
		"help":           {[]string{"--grid=quick=true", "--", "replay", "--help"}, "--help is for the scenario alone"},
		"file":           {[]string{"--grid=quick=true", "--json=none/there.json", "replay"}, "--json: open none/there.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runWith(t.Context(), append([]string{"sweep"}, c.args...)...).wantOneLine(t, c.says)
		})
	}
}
