package soak

import (
	"fmt"
	"math"
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

// warmUp is the part of a run that is not judged: one of so many.
const warmUp = 20

// judged is the part of the run that is, as far as the run went.
func (s *Soak) judged() (from, to time.Duration) {
	to = min(s.Length, s.All.Elapsed)
	return to / warmUp, to
}

// warm is when the judged part begins.
func (s *Soak) warm() time.Duration { from, _ := s.judged(); return from }

// quarter is what became of the requests that were due in a quarter of the judged part.
type quarter struct {
	from, to time.Duration
	counts   load.Counts
	waits    *latency.Histogram // of all who were due
	lags     *latency.Histogram // of what a free connection waited for
}

func (s *Soak) quarters() (all [quarters]quarter) {
	from, to := s.judged()
	for n := range all {
		q := &all[n]
		q.from, q.to = from+time.Duration(n)*(to-from)/quarters, from+time.Duration(n+1)*(to-from)/quarters
		q.counts, q.waits = s.All.Counts(q.from, q.to), s.All.All(q.from, q.to)
		_, q.lags = s.All.Lags(q.from, q.to)
	}
	return all
}

// course is what the run is judged by.
func (s *Soak) course(all [quarters]quarter) Course {
	from, to := s.judged()
	shifted := func(seconds, values []float64) Line {
		l := Line{Values: values}
		for _, at := range seconds {
			l.Seconds = append(l.Seconds, at-from.Seconds())
		}
		return l.after(0)
	}
	c := Course{Length: to - from, Memory: shifted(s.readings.Points(gauges.Memory)), Goroutines: shifted(s.readings.Points(gauges.Goroutines)), Before: s.before, AtRest: s.atRest}
	for n, q := range all {
		c.Waits[n], c.Lags[n] = q.waits, q.lags
		if n >= quarters/2 {
			c.Accepted += s.acceptedIn(q.from, q.to)
		}
	}
	return c
}

// acceptedIn counts the orders that were accepted, of the requests that were due in a time.
func (s *Soak) acceptedIn(from, to time.Duration) (n int64) {
	for i, reply := range s.All.Replies {
		if at := s.plan.At[i]; at >= from && at < to && reply.Outcome == load.Accepted && s.plan.operations[i].Kind.Takes() {
			n++
		}
	}
	return n
}

// accepted counts all orders that were accepted.
func (s *Soak) accepted() int64 { return s.acceptedIn(0, s.Length+1) }

// courseSection shows the quarters, and what they come to.
func (s *Soak) courseSection(all [quarters]quarter, v Verdict) report.Section {
	table := &report.Table{Columns: append([]string{"quarter", "from s", "to s", "answered", "dropped", "lag p99 ms"}, load.Percents()...)}
	names := [quarters]string{"first", "second", "third", "last"}
	for n, q := range all {
		row := []string{
			names[n], report.Number(q.from.Seconds()), report.Number(q.to.Seconds()), humanize.Comma(q.counts.Answered()),
			humanize.Comma(q.counts[load.Dropped]), report.Number(compare.Milliseconds(q.lags.Quantile(99))),
		}
		table.Rows = append(table.Rows, append(row, load.Cells(q.waits)...))
	}
	notes := append([]string{
		"the first twentieth of the run is for warming up, and in none of the quarters",
		"who got no answer counts with the time until that was clear",
		"lag: of the sends for which a connection was free; where it is much, the machine was busy, with whatever it was",
	}, v.Notes...)
	return report.Section{Name: "What time has brought", Table: table, Plots: s.All.OverTime([]report.Mark{{X: s.warm().Seconds(), Label: "warmed up"}}), Targets: v.Targets, Notes: notes}
}
