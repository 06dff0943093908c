package soak

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"inventory/internal/latency"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/gauges"
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
	course := s.course()
	verdict := Judge(course)
	d.Warnings, d.Summary = s.All.Warnings(""), s.summary(verdict)
	d.Figures = slices.Concat(s.figures(), verdict.Figures, s.readings.Figures(s.accepted()))
	d.Sections = append([]report.Section{s.kindSection(), s.courseSection(course, verdict), s.All.GeneratorSection(s.All, nil)}, s.readings.Sections(s.accepted())...)
	requests := map[string]map[string]int64{} // by kind and by outcome
	for k, t := range s.tallies() {
		requests[kind(k).String()] = t.counts.ByName()
	}
	return d, d.SetOwn(map[string]any{
		"stream_sha256": load.Sum(s.plan.At, s.plan.operations), "orders_accepted": s.accepted(), "deductions_in_rows": len(s.Rows.Deductions),
		"requests": requests, "codes": s.All.Codes(),
	})
}

// perOrder is the growth of tables and indexes in bytes for each accepted order; NaN where it is not known.
func (s *Soak) perOrder() (tables, indexes float64) {
	tables, indexes = s.readings.Growth()
	return compare.Ratio(tables, float64(s.accepted())), compare.Ratio(indexes, float64(s.accepted()))
}

// summary is the run in sentences.
func (s *Soak) summary(v Verdict) []string {
	took := min(s.Length, s.All.Elapsed).Round(time.Second)
	counts := s.All.Counts(0, load.Forever)
	lines := append([]string{fmt.Sprintf("%s requests were answered in %v, of all kinds of work over %s SKUs; %s orders were accepted.",
		humanize.Comma(counts.Answered()), took, humanize.Comma(int64(s.SKUs)), humanize.Comma(s.accepted()))}, v.Sentences...)
	if tables, indexes := s.perOrder(); !math.IsNaN(tables) {
		lines = append(lines, fmt.Sprintf("Tables grew by %s bytes for each accepted order, indexes by %s.",
			report.Number(max(tables, 0)), report.Number(max(indexes, 0))))
	}
	if len(s.Found.Violations) == 0 {
		lines = append(lines, fmt.Sprintf("All %s deductions in the rows are as it was answered, and every unit adds up.", humanize.Comma(int64(len(s.Rows.Deductions)))))
	}
	return append(lines, fmt.Sprintf("Seed %d; %s.", s.Config.Seed, s.to.Name))
}

// figures are the numbers by which two runs are compared, without those of the verdict and of the machine.
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

// tally has the outcomes of the requests of one kind.
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

// warmUp is how many times the part of a run that is not judged the run is.
const warmUp = 20

// judged is the part of the run that is judged, as far as the run went.
func (s *Soak) judged() (from, to time.Duration) {
	to = min(s.Length, s.All.Elapsed)
	return to / warmUp, to
}

// quarter is the time of a quarter of the judged part.
func (s *Soak) quarter(n int) (from, to time.Duration) {
	from, to = s.judged()
	each := (to - from) / quarters
	return from + time.Duration(n)*each, from + time.Duration(n+1)*each
}

// course is what the run is judged by.
func (s *Soak) course() Course {
	begin, end := s.judged()
	line := func(of gauges.Quantity) Line {
		seconds, values := s.readings.Points(of)
		l := Line{Values: values}
		for _, at := range seconds {
			l.Seconds = append(l.Seconds, at-begin.Seconds())
		}
		return l.after(0)
	}
	c := Course{
		Length: end - begin, Memory: line(gauges.Memory), Goroutines: line(gauges.Goroutines), Before: s.before, AtRest: s.atRest,
		Accepted: s.acceptedIn((begin+end)/2, end),
	}
	for n := range quarters {
		from, to := s.quarter(n)
		c.Waits[n] = s.All.All(from, to)
		_, c.Lags[n] = s.All.Lags(from, to)
	}
	return c
}

// acceptedIn counts the accepted orders that were due in a time.
func (s *Soak) acceptedIn(from, to time.Duration) (n int64) {
	for i, reply := range s.All.Replies {
		if at := s.plan.At[i]; at >= from && at < to && reply.Outcome == load.Accepted && s.plan.operations[i].Kind.Takes() {
			n++
		}
	}
	return n
}

// accepted counts all accepted orders.
func (s *Soak) accepted() int64 { return s.acceptedIn(0, load.Forever) }

// courseSection has the quarters, and the verdict.
func (s *Soak) courseSection(c Course, v Verdict) report.Section {
	table := &report.Table{Columns: append([]string{"quarter", "from s", "to s", "answered", "dropped", "lag p99 ms"}, load.Percents()...)}
	for n, name := range [quarters]string{"first", "second", "third", "last"} {
		from, to := s.quarter(n)
		counts := s.All.Counts(from, to)
		row := []string{
			name, report.Number(from.Seconds()), report.Number(to.Seconds()), humanize.Comma(counts.Answered()),
			humanize.Comma(counts[load.Dropped]), report.Number(compare.Milliseconds(c.Lags[n].Quantile(99))),
		}
		table.Rows = append(table.Rows, append(row, load.Cells(c.Waits[n])...))
	}
	notes := append([]string{
		"the first twentieth of the run is for warming up, and in none of the quarters",
		"who got no answer counts with the time until that was clear",
		"lag: of the sends for which a connection was free; where it is much, the machine was busy, with whatever it was",
	}, v.Notes...)
	begin, _ := s.judged()
	return report.Section{
		Name: "What time has brought", Table: table, Targets: v.Targets, Notes: notes,
		Plots: s.All.OverTime([]report.Mark{{X: begin.Seconds(), Label: "warmed up"}}),
	}
}
