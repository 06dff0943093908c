package soak

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"inventory/internal/latency"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
)

// Document is the report.
func (s *Soak) Document() (report.Document, error) {
	d := s.Head()
	if len(s.Parts) == 0 {
		d.Summary = []string{"Stopped before anything was sent."}
		return d, nil
	}
	all := s.quarters()
	verdict := Judge(s.course(all))
	d.Warnings, d.Summary = s.All.Warnings(""), s.summary(verdict)
	d.Figures = append(s.figures(), verdict.Figures...)
	d.Figures = append(d.Figures, s.readings.Figures(s.accepted())...)
	d.Sections = append([]report.Section{s.kindSection(), s.courseSection(all, verdict), s.All.GeneratorSection(s.All, nil)}, s.readings.Sections(s.accepted())...)
	return d, d.SetOwn(s.own())
}

// perOrder is by how many bytes tables and indexes grew for each accepted order; no number where that is not known.
func (s *Soak) perOrder() (tables, indexes float64) {
	tables, indexes = s.readings.Growth()
	return compare.Ratio(tables, float64(s.accepted())), compare.Ratio(indexes, float64(s.accepted()))
}

// summary is the run in sentences.
func (s *Soak) summary(v Verdict) []string {
	took := min(s.Length, s.All.Elapsed).Round(time.Second)
	counts := s.All.Counts(0, load.Forever)
	lines := []string{fmt.Sprintf("%s requests were answered in %v, of all kinds of work over %s SKUs; %s orders were accepted.",
		humanize.Comma(counts.Answered()), took, humanize.Comma(int64(s.SKUs)), humanize.Comma(s.accepted()))}
	lines = append(lines, v.Sentences...)
	if tables, indexes := s.perOrder(); !math.IsNaN(tables) {
		lines = append(lines, fmt.Sprintf("Tables grew by %s bytes for each accepted order, indexes by %s.",
			report.Number(max(tables, 0)), report.Number(max(indexes, 0))))
	}
	if len(s.Found.Violations) == 0 {
		lines = append(lines, fmt.Sprintf("All %s deductions in the rows are as it was answered, and every unit adds up.", humanize.Comma(int64(len(s.Rows.Deductions)))))
	}
	return append(lines, fmt.Sprintf("Seed %d; %s.", s.Config.Seed, s.to.Name))
}

// figures are the few numbers that tell two runs apart, beside those of the verdict and of the machine.
func (s *Soak) figures() []report.Figure {
	counts, waits := s.All.Counts(0, load.Forever), s.All.All(0, load.Forever)
	lag, _ := s.All.LagP99()
	due := float64(int64(len(s.All.At)) - counts[load.NotSent])
	figures := []report.Figure{
		{Name: "answered, of those that were due", Unit: "%", Value: 100 * compare.Ratio(float64(counts.Answered()), due)},
		{Name: "accepted orders", Value: float64(s.accepted())},
		{Name: "p50", Unit: "ms", Value: compare.Quantile(waits, 50)},
		{Name: "p99", Unit: "ms", Value: compare.Quantile(waits, 99)},
		{Name: "lag p99", Unit: "ms", Value: lag},
		{Name: "dropped", Unit: "requests", Value: float64(counts[load.Dropped])},
	}
	if tables, indexes := s.perOrder(); !math.IsNaN(tables) {
		figures = append(figures, report.Figure{Name: "tables per order", Unit: "bytes", Value: tables},
			report.Figure{Name: "indexes per order", Unit: "bytes", Value: indexes})
	}
	return figures
}

// tally is what became of the requests of one kind.
type tally struct {
	counts load.Counts
	waits  *latency.Histogram // of all who were due
}

func (s *Soak) tallies() (all [kinds]tally) {
	for k := range all {
		all[k].waits = latency.New()
	}
	for i, reply := range s.All.Replies {
		t := &all[s.plan.kinds[i]]
		t.counts[reply.Outcome]++
		if reply.Outcome != load.NotSent {
			t.waits.Record(s.All.Latency(i))
		}
	}
	return all
}

// kindSection is a row for each kind of request.
func (s *Soak) kindSection() report.Section {
	table := &report.Table{Columns: append([]string{"", "requests", "done", "no stock", "refused", "overloaded", "failed", "dropped"}, load.Percents()...)}
	for k, t := range s.tallies() {
		c := t.counts
		row := []string{strings.ReplaceAll(kind(k).String(), "_", " ")}
		for _, n := range []int64{
			t.waits.Count(), c.Of(load.Accepted, load.Replayed), c.Of(load.SoldOut, load.InsufficientStock),
			c.Of(load.Refused, load.BuyerLimit, load.SaleClosed), c[load.Overloaded], c.Of(load.Failed, load.Unreached, load.Unknown), c[load.Dropped],
		} {
			row = append(row, humanize.Comma(n))
		}
		table.Rows = append(table.Rows, append(row, load.Cells(t.waits)...))
	}
	return report.Section{
		Name: "What was asked for, and what came of it", Table: table, Notes: append(s.All.CodeNotes(),
			"what follows on an order that got nothing, as a commit does, is refused as unknown_deduction"),
	}
}

// own are the members of the report that only this scenario has.
type own struct {
	Stream   string                      `json:"stream_sha256"`
	Accepted int64                       `json:"orders_accepted"`
	Rows     int                         `json:"deductions_in_rows"`
	Requests map[string]map[string]int64 `json:"requests"` // by kind and by outcome
	Codes    map[string]int64            `json:"codes"`    // of refusals and failures
}

func (s *Soak) own() own {
	o := own{Stream: load.Sum(s.plan.At, s.plan.operations), Accepted: s.accepted(), Rows: len(s.Rows.Deductions), Requests: map[string]map[string]int64{}, Codes: s.All.Codes()}
	for k, t := range s.tallies() {
		o.Requests[kind(k).String()] = t.counts.ByName()
	}
	return o
}
