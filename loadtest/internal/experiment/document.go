package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// Narrow is how many times its low end the high end of an interval may be: none need be narrower.
const Narrow = 1.05

// Config says what a comparison asks, where, and how long.
type Config struct {
	servers.URLs
	Size     Size
	Seed     uint64            // of the order of contenders in each round
	Cases    []string          // names; none: all
	Progress func(line string) // is told what happens
}

// Size is how much is measured.
type Size int

// The sizes: that of published figures, a short round of each case for a first look, and what shows a test that all of it works.
const (
	Full Size = iota
	Quick
	Tiny
)

// Rules are the rules of a case that plays rounds until every figure is narrow enough.
func (c Config) Rules(window time.Duration, rounds int) Rules {
	return Rules{Seed: c.Seed, Window: window, Rounds: rounds, Narrow: Narrow}
}

// Report has the results of several cases.
type Report struct {
	report.Document
	Results []Result
}

// Asked is a case to be played.
type Asked struct {
	Name string
	Ask  func(ctx context.Context) (Result, error)
}

// Check checks the names of cases.
func Check(known, wanted []string) error {
	for _, name := range wanted {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no case %q; there are %q", name, known)
		}
	}
	return nil
}

// Compare opens servers, and plays the wanted cases on them one after the other, until ctx ends or a case fails. With an error it
// returns what was measured until then.
func Compare(ctx context.Context, c Config, scenario string, needs servers.Needs, cases func(on *servers.Servers) ([]Asked, error)) (r Report, err error) {
	on, err := servers.Prepare(ctx, c.URLs, needs)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	all, err := cases(on)
	if err != nil {
		return Report{}, err
	}
	r.Document = report.Document{Scenario: scenario, Seed: c.Seed, Environment: on.About, Warnings: on.Warnings}
	err = r.Run(ctx, "comparison", func(ctx context.Context) error { return r.ask(ctx, c, all) })
	r.tell(on.LeftOut)
	return r, err
}

// ask plays the wanted cases.
func (r *Report) ask(ctx context.Context, c Config, all []Asked) error {
	for _, a := range all {
		if len(c.Cases) > 0 && !slices.Contains(c.Cases, a.Name) {
			continue
		}
		c.Progress("case: " + a.Name)
		result, err := a.Ask(ctx)
		if len(result.Case.Contenders) > 0 {
			result.Name, result.Interrupted = a.Name, ctx.Err() != nil
			r.Results = append(r.Results, result)
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return fmt.Errorf("case %q: %w", a.Name, err)
		}
	}
	return nil
}

// tell adds all cases to the report. If a contender of ours fails, or rows do not add up, that is a fault; a missed
// target is a result.
func (r *Report) tell(leftOut []string) {
	for _, one := range r.Results {
		r.Sections = append(r.Sections, one.Section())
		for _, wrong := range one.wrong() {
			r.Wrong = append(r.Wrong, fmt.Sprintf("case %q: %s", one.Name, wrong))
		}
		if sentence := one.sentence(); sentence != "" {
			r.Summary = append(r.Summary, sentence)
		}
	}
	r.Summary = append(r.Summary, leftOut...)
}

// String is the figure with its interval, if there were enough rounds for one.
func (e Estimate) String() string { return report.Interval(e.Value, e.Low, e.High) }

// Section is the case in a report.
func (r Result) Section() report.Section {
	s := report.Section{Name: r.Name, Targets: r.Targets()}
	if len(r.Rounds) > 0 || len(r.Failed) > 0 {
		s.Table, s.Plots = r.table(), r.plots()
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
		s.Notes = append(s.Notes, fmt.Sprintf("audit of %s: OK, the rows are those that callers were told of", report.Count(r.SKUs, "SKU")))
	}
	return s
}

// Targets are the targets of the case with their verdicts. An interrupted case has none.
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

// wrong is what must not happen. A contender of others that fails is a note.
func (r Result) wrong() (all []string) {
	for _, c := range r.Case.Contenders {
		if err := r.Failed[c.Name]; c.Ours && err != nil {
			all = append(all, err.Error())
		}
	}
	return append(all, r.Wrong...)
}

// table has a row for each contender, and a column for each factor, metric and ratio.
func (r Result) table() *report.Table {
	t := &report.Table{Columns: slices.Clone(r.Case.Factors)}
	metrics := r.shown()
	for _, m := range metrics {
		t.Columns = append(t.Columns, m.Name)
	}
	for _, ratio := range r.Case.Ratios {
		t.Columns = append(t.Columns, ratio.Head)
	}
	for _, c := range r.Case.Contenders {
		row := slices.Clone(c.Levels)
		for _, m := range metrics {
			e := r.Of(c.Name, m.Name)
			cell := report.Number(e.Value)
			if m.Exact {
				cell = e.String()
			}
			row = append(row, cell)
		}
		for _, ratio := range r.Case.Ratios {
			row = append(row, r.Ratio(ratio.Metric, Pair{c.Name, ratio.To(r, c)}).String())
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// shown are the metrics that some contender has; those that are rare, if they are not 0.
func (r Result) shown() []Metric {
	return slices.DeleteFunc(slices.Clone(r.Case.Metrics), func(m Metric) bool {
		return len(r.Rounds) > 0 && !slices.ContainsFunc(r.Case.Contenders, func(c Contender) bool {
			value := r.Of(c.Name, m.Name).Value
			return !math.IsNaN(value) && (value != 0 || !m.Rare)
		})
	})
}

// sentence has the figures of the contender that the case is about, if it was measured.
func (r Result) sentence() string {
	if r.Case.About == "" || len(r.Rounds) == 0 {
		return ""
	}
	var figures []string
	for _, m := range r.exact() {
		figures = append(figures, fmt.Sprintf("%s %s", r.Of(r.Case.About, m.Name), m.Name))
	}
	return fmt.Sprintf("%s: %s: %s.", r.Name, r.Case.About, strings.Join(figures, "; "))
}

func (r Result) exact() []Metric {
	return slices.DeleteFunc(r.shown(), func(m Metric) bool { return !m.Exact })
}

// plots have a dot of each contender for the first exact metric: a row for each case that was measured, and in it a colour for each
// of those that are compared in it.
func (r Result) plots() []report.Plot {
	exact := r.exact()
	if len(exact) == 0 {
		return nil
	}
	metric := exact[0].Name
	p := report.Plot{Name: report.PlotName(r.Name, metric), Title: metric, Kind: report.Dots, Y: report.Axis{Label: metric, Log: true}}
	for _, c := range r.Case.Contenders {
		e := r.Of(c.Name, metric)
		if math.IsNaN(e.Value) && len(r.Rounds) > 0 {
			continue
		}
		colour, row := r.Case.place(c)
		i := slices.Index(p.Categories, row)
		if i < 0 {
			i, p.Categories = len(p.Categories), append(p.Categories, row)
		}
		n := slices.IndexFunc(p.Series, func(s report.Series) bool { return s.Name == colour })
		if n < 0 {
			n, p.Series = len(p.Series), append(p.Series, report.Series{Name: colour})
		}
		s := &p.Series[n]
		for len(s.Y) <= i { // the rows before, of which it has none
			s.Y, s.Low, s.High = append(s.Y, math.NaN()), append(s.Low, math.NaN()), append(s.High, math.NaN())
		}
		s.Y[i], s.Low[i], s.High[i] = e.Value, e.Low, e.High
	}
	return []report.Plot{p}
}

// mostColours bounds how many contenders share a row.
const mostColours = 3

// place returns the colour and the row of a contender. If contenders differ in several factors, and in the first of them by few levels,
// those have colours, and the other factors make the rows.
func (c Case) place(one Contender) (colour, row string) {
	levels := make(map[string]bool)
	for _, other := range c.Contenders {
		if len(other.Levels) < 2 {
			return "", one.Name
		}
		levels[other.Levels[0]] = true
	}
	if len(levels) > mostColours {
		return "", one.Name
	}
	words := slices.Clone(one.Levels[1:])
	for i, word := range words {
		if _, err := strconv.Atoi(strings.ReplaceAll(word, ",", "")); err == nil {
			words[i] = word + " " + c.Factors[i+1]
		}
	}
	return one.Levels[0], strings.Join(words, ", ")
}
