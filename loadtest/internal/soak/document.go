package soak

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"inventory/internal/latency"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/openloop"
	"inventory/loadtest/internal/report"
)

// Scenario is the name of the report.
const Scenario = "soak"

// document is what was found.
func (s *soak) document(ctx context.Context, interrupted bool) (report.Document, error) {
	environment, unknown := s.to.Environment(ctx)
	environment.Generator = fmt.Sprintf("this program, open loop, %d connections", s.Connections)
	environment.Measurement = append(environment.Measurement, "latency from the planned send", fmt.Sprintf("%s arrivals", s.Spacing))
	wrong := s.complaints()
	d := report.Document{
		Scenario: Scenario, Started: s.started, Elapsed: time.Since(s.started).Seconds(), Interrupted: interrupted,
		Seed: s.Seed, Environment: environment, Warnings: s.warnings(), AuditOK: len(wrong) == 0, Wrong: wrong,
	}
	if len(s.result.Replies) == 0 {
		d.Summary = []string{"Stopped before anything was sent."}
		return d, unknown
	}
	all := s.quarters()
	verdict := Judge(s.course(all))
	d.Summary, d.Figures = s.summary(verdict), append(s.figures(), verdict.Figures...)
	d.Figures = append(d.Figures, s.readings.Figures(s.accepted())...)
	d.Sections = append([]report.Section{s.kindSection(), s.courseSection(all, verdict), s.generator()}, s.readings.Sections(s.accepted())...)
	return d, errors.Join(unknown, d.SetOwn(s.own()))
}

// summary is the run in sentences.
func (s *soak) summary(v Verdict) []string {
	took := min(s.Length, s.result.Elapsed).Round(time.Second)
	counts := s.result.All()
	lines := []string{fmt.Sprintf("%s requests were answered in %v, of all kinds of work over %s SKUs; %s orders were accepted.",
		humanize.Comma(counts.Answered()), took, humanize.Comma(int64(s.SKUs)), humanize.Comma(s.accepted()))}
	lines = append(lines, v.Sentences...)
	if tables, indexes := s.readings.Growth(); !math.IsNaN(tables) && s.accepted() > 0 {
		each := func(bytes float64) string { return report.Number(max(bytes, 0) / float64(s.accepted())) }
		lines = append(lines, fmt.Sprintf("Tables grew by %s bytes for each accepted order, indexes by %s.", each(tables), each(indexes)))
	}
	if len(s.complaints()) == 0 {
		lines = append(lines, fmt.Sprintf("All %s deductions in the rows are as it was answered, and every unit adds up.", humanize.Comma(s.account.rows)))
	}
	return append(lines, fmt.Sprintf("Seed %d; %s.", s.Seed, s.to.Name))
}

// figures are the few numbers that tell two runs apart, beside those of the verdict and of the machine.
func (s *soak) figures() []report.Figure {
	all := latency.New()
	for i, reply := range s.result.Replies {
		if reply.Outcome.Answered() {
			all.Record(s.result.Latency(i))
		}
	}
	lags, _ := s.result.Lags()
	counts := s.result.All()
	figures := []report.Figure{
		{Name: "answered", Unit: "/s", Value: compare.Ratio(float64(counts.Answered()), s.result.Elapsed.Seconds())},
		{Name: "accepted orders", Value: float64(s.accepted())},
		{Name: "p50", Unit: "ms", Value: compare.Milliseconds(all.Quantile(50))},
		{Name: "p99", Unit: "ms", Value: compare.Milliseconds(all.Quantile(99))},
		{Name: "lag p99", Unit: "ms", Value: compare.Milliseconds(lags.Quantile(99))},
		{Name: "dropped", Unit: "requests", Value: float64(counts[openloop.Dropped])},
	}
	if tables, indexes := s.readings.Growth(); !math.IsNaN(tables) && s.accepted() > 0 {
		figures = append(figures,
			report.Figure{Name: "tables per order", Unit: "bytes", Value: tables / float64(s.accepted())},
			report.Figure{Name: "indexes per order", Unit: "bytes", Value: indexes / float64(s.accepted())})
	}
	return figures
}

// tally is what became of the requests of one kind.
type tally struct {
	counts openloop.Counts
	waits  *latency.Histogram
}

func (s *soak) tallies() (all [kinds]tally) {
	for k := range all {
		all[k].waits = latency.New()
	}
	for i, reply := range s.result.Replies {
		t := &all[s.plan.items[i].kind]
		t.counts[reply.Outcome]++
		if reply.Outcome.Answered() {
			t.waits.Record(s.result.Latency(i))
		}
	}
	return all
}

// done counts what was done, or answered for what was done before.
func (t tally) done() int64 { return t.counts[openloop.Accepted] + t.counts[openloop.Replayed] }

// scarce counts refusals for want of stock.
func (t tally) scarce() int64 {
	return t.counts[openloop.SoldOut] + t.counts[openloop.InsufficientStock]
}

// lost counts those whose outcome is not known, or that were not connected.
func (t tally) lost() int64 {
	return t.counts[openloop.Failed] + t.counts[openloop.Unreached] + t.counts[openloop.Unknown]
}

// kindSection is a row for each kind of request.
func (s *soak) kindSection() report.Section {
	table := &report.Table{Columns: []string{
		"", "requests", "done", "no stock", "refused", "overloaded", "failed", "dropped", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "max ms",
	}}
	for k, t := range s.tallies() {
		c := t.counts
		row := []string{strings.ReplaceAll(kind(k).String(), "_", " ")}
		for _, n := range []int64{
			c.Answered() + c[openloop.Unreached] + c[openloop.Unknown] + c[openloop.Dropped],
			t.done(), t.scarce(), c[openloop.Refused] + c[openloop.BuyerLimit] + c[openloop.SaleClosed], c[openloop.Overloaded], t.lost(),
			c[openloop.Dropped],
		} {
			row = append(row, humanize.Comma(n))
		}
		table.Rows = append(table.Rows, append(row, tell(t.waits)...))
	}
	return report.Section{Name: "What was asked for, and what came of it", Table: table, Notes: s.codeNotes()}
}

// codeNotes tells the problems by which requests were refused or failed.
func (s *soak) codeNotes() (notes []string) {
	for _, code := range slices.Sorted(maps.Keys(s.result.Codes)) {
		notes = append(notes, fmt.Sprintf("%s were refused or failed as %s", humanize.Comma(s.result.Codes[code]), code))
	}
	return append(notes, "what follows on an order that got nothing, as a commit does, is refused as unknown_deduction")
}

// generator tells how far this program kept up with its own plan.
func (s *soak) generator() report.Section {
	all, own := s.result.Lags()
	table := &report.Table{Columns: []string{"lag behind the plan", "requests", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "max ms"}}
	table.Rows = append(table.Rows,
		append([]string{"all that were sent", humanize.Comma(all.Count())}, tell(all)...),
		append([]string{"those for which a connection was free in time", humanize.Comma(own.Count())}, tell(own)...))
	return report.Section{Name: "Generator", Table: table}
}
