package soak

import (
	"time"

	"github.com/dustin/go-humanize"

	"inventory/internal/latency"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
)

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
	c := Course{Length: to - from, Memory: shifted(s.readings.Memory()), Goroutines: shifted(s.readings.Goroutines()), Before: s.before, AtRest: s.atRest}
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
