package tail

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
)

// slot is how finely plots divide time.
const slot = 100 * time.Millisecond

// first are the first rounds of both kinds, as far as there are any: plots show them.
func (t *Tail) first() (rounds []*Round) {
	for _, killed := range kinds() {
		if all := t.of(killed); len(all) > 0 {
			rounds = append(rounds, all[0])
		}
	}
	return rounds
}

// marks are the moments of a round in which a holder was killed.
func (r *Round) marks() (all []report.Mark) {
	if !r.Killed {
		return nil
	}
	if s := r.Strike; s != nil {
		all = append(all, report.Mark{X: s.At, Label: "a holder killed", Broke: true})
		if s.LeaseLeft > 0 {
			all = append(all, report.Mark{X: s.At + s.LeaseLeft, Label: "its lease over"})
		}
	}
	if r.LastUnit > 0 {
		all = append(all, report.Mark{X: r.LastUnit, Label: "last unit sold"})
	}
	return all
}

// overTime are latencies, sales, waits for locks and merges over time.
func (t *Tail) overTime() []report.Plot {
	rounds := t.first()
	marks := rounds[len(rounds)-1].marks()
	waits := load.Lines("tail-latency", "Latency over time", report.Axis{Label: "ms", Log: true}, marks)
	sales := load.Lines("tail-sales", "Units sold over time", report.Axis{Label: "units/s"}, marks)
	locks := load.Lines("tail-lock-wait", "Waiting for locks over time", report.Axis{Label: "ms waited per s, all workers"}, marks)
	merges := load.Lines("tail-merges", "Merges over time", report.Axis{Label: "merges/s"}, marks)
	for _, r := range rounds {
		waits.Series = append(waits.Series, r.result.LatencyLines(slot, ", "+titles(r.Killed))...)
		sales.Series = append(sales.Series, r.sold())
		locks.Series = append(locks.Series, r.rate(gauges.LockSeconds, 1e3))
		merges.Series = append(merges.Series, r.rate(gauges.Merges, 1))
	}
	return []report.Plot{waits, sales, locks, merges}
}

// sold are the units sold a second, at the time of their answers.
func (r *Round) sold() report.Series {
	units := make([]float64, r.result.Elapsed/slot+1)
	for i, reply := range r.result.Replies {
		if reply.Outcome.Done() {
			units[reply.Over/slot] += float64(r.result.Operations[i].Lines[0].Quantity)
		}
	}
	return perSecond(titles(r.Killed), units, slot)
}

// rate is the growth a second of a counter of all processes, in a unit of that many.
func (r *Round) rate(of gauges.Quantity, times float64) report.Series {
	const step = 2 * gauge // longer than the time between two readings
	grown := make([]float64, r.result.Elapsed/step+1)
	for _, readings := range r.readings {
		ahead := r.result.Start.Sub(readings.Start).Seconds()
		seconds, values := readings.Points(of)
		for i := 1; i < len(values); i++ {
			n := int(math.Floor((seconds[i] - ahead) / step.Seconds()))
			if n >= 0 && n < len(grown) {
				grown[n] += times * (values[i] - values[i-1])
			}
		}
	}
	return perSecond(titles(r.Killed), grown, step)
}

// perSecond is a line of totals, each of one step of time.
func perSecond(name string, totals []float64, step time.Duration) report.Series {
	s := report.Series{Name: name}
	for n, total := range totals {
		s.X, s.Y = append(s.X, (time.Duration(n)*step+step/2).Seconds()), append(s.Y, total/step.Seconds())
	}
	return s
}

// occupancy is the stock of the segments, over time.
func (t *Tail) occupancy() report.Section {
	table := &report.Table{Columns: []string{"when the first buyer came, units", "in all", "fullest", "emptiest"}}
	s := report.Section{Name: "What the segments held", Table: table}
	for _, r := range t.first() {
		table.Rows = append(table.Rows, []string{
			r.name(), report.Number(floats.Sum(r.Segments)), report.Number(slices.Max(r.Segments)), report.Number(slices.Min(r.Segments)),
		})
		s.Plots = append(s.Plots, load.Lines("tail-segments-"+kind(r.Killed), "Units in segments over time, "+titles(r.Killed),
			report.Axis{Label: "units"}, r.marks(), load.SegmentLines(r.levels)...))
	}
	return s
}
