package segments

import (
	"slices"

	"inventory/loadtest/internal/report"
)

// matrixPlots have a line for each number of processes.
func matrixPlots(entries []Entry) []report.Plot {
	x := report.Axis{Label: "segments", Log: true}
	sold := report.Plot{
		Name: "segments-accepted", Title: "accepted orders a second, by the number of segments", Kind: report.Lines,
		X: x, Y: report.Axis{Label: "orders a second"},
	}
	waits := report.Plot{
		Name: "segments-p99", Title: "99% have their answer within, by the number of segments", Kind: report.Lines,
		X: x, Y: report.Axis{Label: "ms"},
	}
	for _, processes := range numbers(entries, func(e Entry) int { return e.Processes }) {
		name := counted(processes, "process", "processes")
		accepted, p99 := report.Series{Name: name}, report.Series{Name: name}
		for _, e := range entries {
			if e.Processes == processes {
				accepted.X, accepted.Y = append(accepted.X, float64(e.Segments)), append(accepted.Y, e.Accepted)
				p99.X, p99.Y = append(p99.X, float64(e.Segments)), append(p99.Y, e.P99)
			}
		}
		sold.Series, waits.Series = append(sold.Series, accepted), append(waits.Series, p99)
	}
	return []report.Plot{sold, waits}
}

// plots show who sold when.
func (s *Stopped) plots() []report.Plot {
	return []report.Plot{{
		Name: "stopped-accepted", Title: "one of three processes stands still for a while", Kind: report.Lines,
		X: report.Axis{Label: "seconds"}, Y: report.Axis{Label: "orders a second"},
		Series: seen(
			s.all.series("all three"), s.one.series("the one that stands still"), s.two.series("two alone, another sale"),
		),
		Marks: []report.Mark{{X: s.stoppedAt, Label: "stopped"}, {X: s.stoppedAt + s.StillFor, Label: "continued"}},
	}}
}

// plots show what was asked for, what became of it, and how long that took.
func (o *Overload) plots() []report.Plot {
	x := report.Axis{Label: "seconds"}
	marks := []report.Mark{{X: o.from, Label: "three times the capacity"}, {X: o.to, Label: "half of it again"}}
	return []report.Plot{
		{
			Name: "overload-answers", Title: "orders asked for, accepted and refused", Kind: report.Lines,
			X: x, Y: report.Axis{Label: "orders a second"}, Marks: marks,
			Series: seen(o.offered.series("asked for"), o.accepted.series("accepted"), o.refused.series("refused")),
		},
		{
			Name: "overload-wait", Title: "from the planned time of an order to its answer", Kind: report.Lines,
			X: x, Y: report.Axis{Label: "ms", Log: true}, Marks: marks,
			Series: seen(
				o.acceptedP50.series("accepted, p50"), o.acceptedP99.series("accepted, p99"), o.refusedP99.series("refused, p99"),
			),
		},
	}
}

// seen leaves out series without any point: nothing of the kind has happened.
func seen(all ...report.Series) []report.Series {
	return slices.DeleteFunc(all, func(s report.Series) bool { return len(s.Y) == 0 })
}
