package flashsale

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dustin/go-humanize"

	"inventory/internal/latency"
	"inventory/loadtest/internal/openloop"
	"inventory/loadtest/internal/report"
)

// Scenario is the name of the report.
const Scenario = "flash-sale"

// document is what was found.
func (s *sale) document(ctx context.Context, interrupted bool) (report.Document, error) {
	environment, unknown := s.to.Environment(ctx)
	environment.Generator = fmt.Sprintf("this program, open loop, %d connections", s.Connections)
	environment.Measurement = append(environment.Measurement,
		"latency from the planned send", fmt.Sprintf("%s arrivals", s.Spacing), fmt.Sprintf("%d rounds", len(s.rounds)))
	wrong := s.complaints()
	d := report.Document{
		Scenario: Scenario, Started: s.started, Elapsed: time.Since(s.started).Seconds(), Interrupted: interrupted,
		Seed: s.Seed, Environment: environment, Warnings: s.warnings(), AuditOK: len(wrong) == 0, Wrong: wrong,
	}
	if len(s.rounds) == 0 {
		d.Summary = []string{"Stopped before anything was sold."}
		return d, errors.Join(unknown, d.SetOwn(s.own()))
	}
	accepted := s.counts()[openloop.Accepted]
	d.Summary, d.Figures = s.summary(), append(s.figures(), s.gauges.Figures(accepted)...)
	d.Sections = []report.Section{
		s.outcomes(),
		s.phases(),
		s.overTime(),
		s.stockSection(),
		s.refusals(),
		s.retrySection(),
		s.generator(),
		s.roundSection(),
	}
	d.Sections = append(d.Sections, s.gauges.Sections(accepted)...)
	return d, errors.Join(unknown, d.SetOwn(s.own()))
}

// latencies are those of an outcome, over all rounds.
func (s *sale) latencies(o openloop.Outcome) *latency.Histogram {
	all := latency.New()
	for _, r := range s.rounds {
		all.Add(r.result.Latencies(o))
	}
	return all
}

// counts are those of all rounds.
func (s *sale) counts() (all openloop.Counts) {
	for _, r := range s.rounds {
		all.Add(r.account.counts)
	}
	return all
}

// typical is the round whose p99 of accepted orders is in the middle: the one that is drawn over time.
func (s *sale) typical() *round {
	p99 := s.each(func(r *round) float64 { return r.quantile(openloop.Accepted, 99) })
	median, best := middle(p99), 0
	for n := range p99 {
		if math.Abs(p99[n]-median) < math.Abs(p99[best]-median) {
			best = n
		}
	}
	return s.rounds[best]
}

// each is a figure of each round.
func (s *sale) each(figure func(*round) float64) []float64 {
	all := make([]float64, len(s.rounds))
	for n, r := range s.rounds {
		all[n] = figure(r)
	}
	return all
}

// quantile is one of the latency of an outcome in milliseconds; no number where nothing came to that.
func (r *round) quantile(o openloop.Outcome, percent float64) float64 {
	if r.account.counts[o] == 0 {
		return math.NaN()
	}
	return milliseconds(r.result.Latencies(o).Quantile(percent))
}

// percents are the percentiles that tables have.
var percents = []float64{50, 90, 99, 99.9, 99.99}

// outcomes is a row for each outcome, over all rounds.
func (s *sale) outcomes() report.Section {
	table := &report.Table{Columns: []string{"outcome", "requests", "share, %", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "p99.99 ms", "max ms"}}
	plot := report.Plot{
		Name: "percentiles", Title: "Latency from the planned send, by outcome", Kind: report.Percentiles,
		X: report.Axis{Label: "percentile"}, Y: report.Axis{Label: "ms", Log: true},
	}
	counts := s.counts()
	var all int64
	for _, o := range openloop.Outcomes() {
		all += counts[o]
	}
	for _, o := range openloop.Outcomes() {
		if counts[o] == 0 {
			continue
		}
		row := []string{words(o), humanize.Comma(counts[o]), report.Number(100 * float64(counts[o]) / float64(all))}
		if !o.Answered() {
			table.Rows = append(table.Rows, append(row, "-", "-", "-", "-", "-", "-"))
			continue
		}
		waits := s.latencies(o)
		for _, percent := range percents {
			row = append(row, ms(waits.Quantile(percent)))
		}
		table.Rows = append(table.Rows, append(row, ms(waits.Max())))
		plot.Series = append(plot.Series, percentiles(words(o), waits))
	}
	return report.Section{
		Name: "What buyers were answered", Table: table, Plots: []report.Plot{plot}, Notes: s.codeNotes(),
	}
}

// codeNotes tells the problems behind other refusals and failures.
func (s *sale) codeNotes() (notes []string) {
	codes := map[string]int64{}
	for _, r := range s.rounds {
		for code, n := range r.result.Codes {
			codes[code] += n
		}
	}
	for code, n := range sorted(codes) {
		notes = append(notes, fmt.Sprintf("%s of those that failed or were refused otherwise were %s", humanize.Comma(n), code))
	}
	return notes
}

// ms is a time for a table.
func ms(d time.Duration) string { return report.Number(milliseconds(d)) }

// words is an outcome for people.
func words(o openloop.Outcome) string {
	switch o {
	case openloop.SoldOut:
		return "sold out"
	case openloop.InsufficientStock:
		return "insufficient stock"
	case openloop.BuyerLimit:
		return "buyer limit"
	case openloop.SaleClosed:
		return "sale closed"
	case openloop.Refused:
		return "refused otherwise"
	case openloop.Unknown:
		return "no answer"
	case openloop.Unreached:
		return "not connected"
	}
	return o.String()
}
