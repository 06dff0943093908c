package experiment

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"inventory/loadtest/internal/report"
)

// String is the figure with its interval.
func (e Estimate) String() string { return report.Number(e.Value) + e.Interval() }

// Interval is the interval behind a figure, and nothing where there were too few rounds.
func (e Estimate) Interval() string {
	if math.IsNaN(e.Low) {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", report.Number(e.Low), report.Number(e.High))
}

// Section tells the case: its contenders, and what came of its targets.
func (r Result) Section(name string) report.Section {
	s := report.Section{Name: name, Targets: r.Targets(), Notes: slices.Clone(r.Notes)}
	if len(r.Rounds) > 0 || len(r.Failed) > 0 {
		s.Table, s.Plots = r.table(), r.plots(name)
	}
	for _, c := range r.Case.Contenders {
		if err := r.Failed[c.Name]; err != nil {
			s.Notes = append(s.Notes, "failed: "+err.Error())
		}
	}
	if r.Interrupted {
		s.Notes = append(s.Notes, "stopped early: these are the rounds until then, and no target was tried")
	}
	for _, wrong := range r.Wrong {
		s.Notes = append(s.Notes, "audit: "+wrong)
	}
	if r.SKUs > 0 && len(r.Wrong) == 0 {
		s.Notes = append(s.Notes, audited(r.SKUs))
	}
	return s
}

// Targets are those of the case, with their verdicts. A case that was interrupted is held to none.
func (r Result) Targets() (all []report.Target) {
	if r.Interrupted {
		return nil
	}
	for _, t := range r.Case.Targets {
		e := t.Of(r)
		all = append(all, report.Target{What: t.Name, Value: e.Value, Sign: t.Sign, Bound: t.Bound}.Within(e.Low, e.High))
	}
	return all
}

// Err is what contenders of ours failed with, and what does not add up. What becomes of others is a note.
func (r Result) Err() error {
	var errs []error
	for _, c := range r.Case.Contenders {
		if c.Ours {
			errs = append(errs, r.Failed[c.Name])
		}
	}
	for _, wrong := range r.Wrong {
		errs = append(errs, errors.New(wrong))
	}
	return errors.Join(errs...)
}

// table has a row for each contender, and a column for each factor, metric and ratio.
func (r Result) table() *report.Table {
	t := &report.Table{Columns: slices.Clone(r.Case.Factors)}
	if len(t.Columns) == 0 {
		t.Columns = []string{""}
	}
	metrics := r.told()
	for _, m := range metrics {
		t.Columns = append(t.Columns, m.Name)
	}
	for _, ratio := range r.Case.Ratios {
		t.Columns = append(t.Columns, ratio.Head)
	}
	for _, c := range r.Case.Contenders {
		row := slices.Clone(c.Levels)
		if len(row) == 0 {
			row = []string{c.Name}
		}
		for _, m := range metrics {
			e := r.Of(c.Name, m.Name)
			cell := report.Number(e.Value)
			if m.Exact {
				cell = e.String()
			}
			row = append(row, cell)
		}
		for _, ratio := range r.Case.Ratios {
			row = append(row, r.ratio(ratio, c).String())
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// told are the metrics that anybody has.
func (r Result) told() []Metric {
	return slices.DeleteFunc(slices.Clone(r.Case.Metrics), func(m Metric) bool {
		return len(r.Rounds) > 0 && !slices.ContainsFunc(r.Case.Contenders, func(c Contender) bool { return r.Of(c.Name, m.Name).Rounds > 0 })
	})
}

// ratio is that of a contender; no number where it has none, and 1 for whom it is to.
func (r Result) ratio(ratio Ratio, c Contender) Estimate {
	return r.times(ratio.Metric, c.Name, ratio.To(r, c))
}

// sentences tell those whom the case is about.
func (r Result) sentences() (all []string) {
	for _, name := range r.about() {
		text := fmt.Sprintf("%s: %s:", r.Name, name)
		for i, m := range r.exact() {
			if i > 0 {
				text += ";"
			}
			text += fmt.Sprintf(" %s %s", r.Of(name, m.Name), m.Name)
			for _, ratio := range r.Case.Ratios {
				c := r.contender(name)
				if to := ratio.To(r, c); ratio.Metric == m.Name && to != name && to != "" {
					text += fmt.Sprintf(", %s times %s", r.ratio(ratio, c), to)
				}
			}
		}
		all = append(all, text+".")
	}
	return all
}

// figures are those by which two runs are told apart.
func (r Result) figures() (all []report.Figure) {
	for _, name := range r.about() {
		for _, m := range r.exact() {
			all = append(all, report.Figure{Name: r.Name + ", " + name + ", " + m.Name, Value: r.Of(name, m.Name).Value})
		}
	}
	return all
}

// about are those whom the case is about, as far as they were measured.
func (r Result) about() []string {
	if r.Case.About == nil || len(r.Rounds) == 0 {
		return nil
	}
	return slices.DeleteFunc(r.Case.About(r), func(name string) bool { return name == "" })
}

func (r Result) exact() []Metric {
	return slices.DeleteFunc(r.told(), func(m Metric) bool { return !m.Exact })
}

func (r Result) contender(name string) Contender {
	i := slices.IndexFunc(r.Case.Contenders, func(c Contender) bool { return c.Name == name })
	return r.Case.Contenders[i]
}

// Entries are all contenders that were measured, as members of an object each.
func (r Result) Entries() []map[string]any {
	all := []map[string]any{}
	for _, c := range r.Case.Contenders {
		if slices.ContainsFunc(r.Rounds, func(round Round) bool { return round[c.Name] != nil }) || r.Failed[c.Name] != nil {
			all = append(all, r.Entry(c))
		}
	}
	return all
}

// Entry is a contender as members of an object: its name or its levels, and its metrics and ratios by their names.
func (r Result) Entry(c Contender) map[string]any {
	intervals := map[string][2]float64{}
	entry := map[string]any{"name": c.Name, "ours": c.Ours, "rounds": len(r.Rounds), "intervals": intervals}
	for i, factor := range r.Case.Factors {
		entry[member(factor)] = number(c.Levels[i])
	}
	add := func(name string, e Estimate) {
		if e.Rounds == 0 {
			return
		}
		entry[member(name)] = e.Value
		if e.Low != e.High && !math.IsNaN(e.Low) {
			intervals[member(name)] = [2]float64{e.Low, e.High}
		}
	}
	for _, m := range r.Case.Metrics {
		add(m.Name, r.Of(c.Name, m.Name))
	}
	for _, ratio := range r.Case.Ratios {
		add(ratio.Name, r.ratio(ratio, c))
	}
	if err := r.Failed[c.Name]; err != nil {
		entry["note"] = err.Error()
	}
	return entry
}

// member is a name as that of a member of an object.
func member(name string) string {
	if name == "" {
		return "name"
	}
	return strings.ReplaceAll(name, " ", "_")
}

// number is a level as a number, if it is one.
func number(level string) any {
	if n, err := strconv.ParseFloat(level, 64); err == nil {
		return n
	}
	return level
}
