package flashsale

import (
	"fmt"
	"slices"

	"inventory/internal/latency"
	"inventory/loadtest/internal/openloop"
	"inventory/loadtest/internal/report"
)

// seconds is the X axis of what is drawn over time.
const seconds = "seconds since the first request could come"

// marks are the instants that explain what is drawn over time.
func (s *sale) marks(r *round) (marks []report.Mark) {
	if r.opening > 0 {
		marks = append(marks, report.Mark{X: r.opening.Seconds(), Label: "sale opens"})
	}
	switch {
	case r.account.soldOut != never:
		marks = append(marks, report.Mark{X: (r.opening + r.account.soldOut).Seconds(), Label: "sold out"})
	case r.account.firstNo != never:
		marks = append(marks, report.Mark{X: r.account.firstNo.Seconds(), Label: "first refusal"})
	}
	for _, p := range spans(s.Phases) {
		if p.name == Storm {
			marks = append(marks, report.Mark{X: p.from.Seconds(), Label: "storm of retries"})
		}
	}
	return marks
}

// groups are the outcomes that are drawn as one line.
func groups() []struct {
	name string
	of   []openloop.Outcome
} {
	return []struct {
		name string
		of   []openloop.Outcome
	}{
		{"accepted", []openloop.Outcome{openloop.Accepted}},
		{"replayed", []openloop.Outcome{openloop.Replayed}},
		{"sold out", []openloop.Outcome{openloop.SoldOut, openloop.InsufficientStock}},
		{"buyer limit", []openloop.Outcome{openloop.BuyerLimit}},
		{"sale closed", []openloop.Outcome{openloop.SaleClosed}},
		{"overloaded", []openloop.Outcome{openloop.Overloaded}},
		{"errors", []openloop.Outcome{openloop.Refused, openloop.Failed, openloop.Unreached, openloop.Unknown}},
		{"dropped", []openloop.Outcome{openloop.Dropped}},
	}
}

// overTime draws the typical round.
func (s *sale) overTime() report.Section {
	r := s.typical()
	slots := r.slots()
	width := openloop.Width(r.result.Elapsed)
	note := fmt.Sprintf("round %d of %d, whose p99 of accepted orders is the median; a point for each %v", r.number+1, len(s.rounds), width)
	return report.Section{
		Name:  "Over time",
		Plots: []report.Plot{s.throughput(r, slots, width.Seconds()), s.latencyPlot(r, slots)},
		Notes: []string{note},
	}
}

func (r *round) slots() []openloop.Slot { return r.result.Slots(openloop.Width(r.result.Elapsed)) }

// throughput draws what was offered, and what was answered, by outcome.
func (s *sale) throughput(r *round, slots []openloop.Slot, width float64) report.Plot {
	plot := report.Plot{
		Name: "throughput", Title: "Requests and answers over time", Kind: report.Lines,
		X: report.Axis{Label: seconds}, Y: report.Axis{Label: "requests a second"}, Marks: s.marks(r),
		Series: []report.Series{overSlots("offered", slots, func(t openloop.Slot) float64 { return float64(t.Offered) / width })},
	}
	for _, g := range groups() {
		rate := func(t openloop.Slot) float64 {
			var n int64
			for _, o := range g.of {
				n += t.Heard[o]
			}
			return float64(n) / width
		}
		if slices.ContainsFunc(slots, func(t openloop.Slot) bool { return rate(t) > 0 }) {
			plot.Series = append(plot.Series, overSlots(g.name, slots, rate))
		}
	}
	return plot
}

// overSlots is a line with a point in the middle of each slot.
func overSlots(name string, slots []openloop.Slot, of func(openloop.Slot) float64) report.Series {
	line := report.Series{Name: name}
	half := 0.
	if len(slots) > 1 {
		half = (slots[1].From - slots[0].From).Seconds() / 2
	}
	for _, t := range slots {
		line.X, line.Y = append(line.X, t.From.Seconds()+half), append(line.Y, of(t))
	}
	return line
}

// latencyPlot draws the latency of the requests by their planned time.
func (s *sale) latencyPlot(r *round, slots []openloop.Slot) report.Plot {
	answered := slices.DeleteFunc(slices.Clone(slots), func(t openloop.Slot) bool { return t.P99 == 0 })
	return report.Plot{
		Name: "latency-over-time", Title: "Latency over time, by the planned send", Kind: report.Lines,
		X: report.Axis{Label: seconds}, Y: report.Axis{Label: "ms", Log: true}, Marks: s.marks(r),
		Series: []report.Series{
			overSlots("p50", answered, func(t openloop.Slot) float64 { return milliseconds(t.P50) }),
			overSlots("p99", answered, func(t openloop.Slot) float64 { return milliseconds(t.P99) }),
		},
	}
}

// percentiles is a line of percentiles, at the steps of HdrHistogram's axis, as far as there are answers for them.
func percentiles(name string, waits *latency.Histogram) report.Series {
	line := report.Series{Name: name}
	for left := 100.; left*float64(waits.Count()) >= 100; left /= 1.5 {
		line.X, line.Y = append(line.X, 100-left), append(line.Y, milliseconds(waits.Quantile(100-left)))
	}
	return line
}

// generator tells how far this program kept up with its own plan.
func (s *sale) generator() report.Section {
	r := s.typical()
	all, own := latency.New(), latency.New()
	for _, r := range s.rounds {
		a, o := r.result.Lags()
		all.Add(a)
		own.Add(o)
	}
	table := &report.Table{Columns: []string{"lag behind the plan", "requests", "p50 ms", "p99 ms", "p99.9 ms", "max ms"}}
	for _, h := range []struct {
		name string
		of   *latency.Histogram
	}{{"all that were sent", all}, {"those for which a connection was free in time", own}} {
		table.Rows = append(table.Rows, []string{
			h.name, report.Number(float64(h.of.Count())), ms(h.of.Quantile(50)), ms(h.of.Quantile(99)), ms(h.of.Quantile(99.9)), ms(h.of.Max()),
		})
	}
	sent := slices.DeleteFunc(r.slots(), func(t openloop.Slot) bool { return t.LagP99 == 0 })
	plot := report.Plot{
		Name: "lag", Title: "Lag of the generator over time", Kind: report.Lines,
		X: report.Axis{Label: seconds}, Y: report.Axis{Label: "ms", Log: true}, Marks: s.marks(r),
		Series: []report.Series{overSlots("p99", sent, func(t openloop.Slot) float64 { return milliseconds(t.LagP99) })},
	}
	return report.Section{Name: "Generator", Table: table, Plots: []report.Plot{plot}}
}
