package soak

import (
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"inventory/internal/latency"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/openloop"
	"inventory/loadtest/internal/report"
)

// warmUp is the part of a run that is not judged: one of so many.
const warmUp = 20

// judged is the part of the run that is, as far as the run went.
func (s *soak) judged() (from, to time.Duration) {
	to = min(s.Length, s.result.Elapsed)
	return to / warmUp, to
}

// quarter is what was answered to the requests that were due in a quarter of the judged part.
type quarter struct {
	from, to time.Duration
	counts   openloop.Counts
	waits    *latency.Histogram
	lags     *latency.Histogram // of what a free connection waited for
}

func (s *soak) quarters() (all [quarters]quarter) {
	from, to := s.judged()
	for n := range all {
		q := &all[n]
		q.from, q.to = from+time.Duration(n)*(to-from)/quarters, from+time.Duration(n+1)*(to-from)/quarters
		q.counts, q.waits, q.lags = s.result.Counts(q.from, q.to), latency.New(), latency.New()
	}
	for i, reply := range s.result.Replies {
		n := slices.IndexFunc(all[:], func(q quarter) bool { return s.plan.At[i] >= q.from && s.plan.At[i] < q.to })
		if n < 0 {
			continue
		}
		if reply.Outcome.Answered() {
			all[n].waits.Record(s.result.Latency(i))
		}
		if reply.Sent > 0 && !reply.Queued {
			all[n].lags.Record(s.result.Lag(i))
		}
	}
	return all
}

// course is what the run is judged by.
func (s *soak) course(all [quarters]quarter) Course {
	from, to := s.judged()
	shifted := func(seconds, values []float64) Line {
		l := Line{Values: values}
		for _, at := range seconds {
			l.Seconds = append(l.Seconds, at-from.Seconds())
		}
		return l.after(0)
	}
	c := Course{Length: to - from, Memory: shifted(s.readings.Memory()), Goroutines: shifted(s.readings.Goroutines())}
	for n, q := range all {
		c.Waits[n], c.Lags[n] = q.waits, q.lags
		if n >= quarters/2 {
			c.Accepted += s.acceptedIn(q.from, q.to)
		}
	}
	return c
}

// takes tells whether a request of a kind takes stock for an order.
func (k kind) takes() bool { return k == deduct || k == reserve || k == order || k == retry }

// acceptedIn counts the orders that were accepted, of the requests that were due in a time.
func (s *soak) acceptedIn(from, to time.Duration) (n int64) {
	for i, reply := range s.result.Replies {
		if at := s.plan.At[i]; at >= from && at < to && reply.Outcome == openloop.Accepted && s.plan.items[i].kind.takes() {
			n++
		}
	}
	return n
}

// accepted counts all orders that were accepted.
func (s *soak) accepted() int64 { return s.acceptedIn(0, s.Length+1) }

// courseSection shows the quarters, and what they come to.
func (s *soak) courseSection(all [quarters]quarter, v Verdict) report.Section {
	table := &report.Table{Columns: []string{"quarter", "from s", "to s", "answered", "dropped", "lag p99 ms", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "max ms"}}
	names := [quarters]string{"first", "second", "third", "last"}
	for n, q := range all {
		row := []string{
			names[n], report.Number(q.from.Seconds()), report.Number(q.to.Seconds()), humanize.Comma(q.waits.Count()),
			humanize.Comma(q.counts[openloop.Dropped]), report.Number(compare.Milliseconds(q.lags.Quantile(99))),
		}
		table.Rows = append(table.Rows, append(row, tell(q.waits)...))
	}
	notes := append([]string{
		"the first twentieth of the run is for warming up, and in none of the quarters",
		"lag: of the sends for which a connection was free; where it is much, the machine was busy, with whatever it was",
	}, v.Notes...)
	return report.Section{Name: "What time has brought", Table: table, Plots: s.plots(), Targets: v.Targets, Notes: notes}
}

// tell are the cells of a histogram, from p50 to the longest.
func tell(waits *latency.Histogram) (cells []string) {
	if waits.Count() == 0 {
		return []string{"-", "-", "-", "-", "-"}
	}
	for _, percent := range []float64{50, 90, 99, 99.9} {
		cells = append(cells, report.Number(compare.Milliseconds(waits.Quantile(percent))))
	}
	return append(cells, report.Number(compare.Milliseconds(waits.Max())))
}

// plots draw the whole run, the warming up too.
func (s *soak) plots() []report.Plot {
	width := openloop.Width(s.result.Elapsed)
	slots := s.result.Slots(width)
	line := func(name string, of func(openloop.Slot) float64) report.Series {
		l := report.Series{Name: name}
		for _, t := range slots {
			l.X, l.Y = append(l.X, (t.From+width/2).Seconds()), append(l.Y, of(t))
		}
		return l
	}
	rate := func(of func(openloop.Slot) int64) func(openloop.Slot) float64 {
		return func(t openloop.Slot) float64 { return float64(of(t)) / width.Seconds() }
	}
	over := report.Axis{Label: "time, s"}
	from, _ := s.judged()
	marks := []report.Mark{{X: from.Seconds(), Label: "warmed up"}}
	return []report.Plot{
		{
			Name: "latency-over-time", Title: "Latency over time, by the planned send", Kind: report.Lines,
			X: over, Y: report.Axis{Label: "ms", Log: true}, Marks: marks,
			Series: []report.Series{
				line("p50", func(t openloop.Slot) float64 { return compare.Milliseconds(t.P50) }),
				line("p99", func(t openloop.Slot) float64 { return compare.Milliseconds(t.P99) }),
			},
		},
		{
			Name: "throughput", Title: "Requests and answers over time", Kind: report.Lines,
			X: over, Y: report.Axis{Label: "requests a second"}, Marks: marks,
			Series: []report.Series{
				line("offered", rate(func(t openloop.Slot) int64 { return t.Offered })),
				line("answered", rate(func(t openloop.Slot) int64 { return t.Heard.Answered() })),
			},
		},
	}
}
