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

// slot is how finely plots tell time.
const slot = 100 * time.Millisecond

// first is the first round of a kind, whose course plots show; nil: there is none.
func (t *Tail) first(killed bool) *Round {
	if all := t.of(killed); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// marks are the moments of the round in which a holder was killed.
func (t *Tail) marks() (all []report.Mark) {
	killed := t.first(true)
	if killed == nil {
		return nil
	}
	if s := killed.Strike; s != nil {
		all = append(all, report.Mark{X: s.At, Label: "a holder killed", Broke: true})
		if s.LeaseLeft > 0 {
			all = append(all, report.Mark{X: s.At + s.LeaseLeft, Label: "its lease over"})
		}
	}
	if killed.LastUnit > 0 {
		all = append(all, report.Mark{X: killed.LastUnit, Label: "last unit sold"})
	}
	return all
}

// courses are latencies, sales and waits over time, of the first round of each kind.
func (t *Tail) courses() []report.Plot {
	waits := load.Lines("tail-latency", "Latency over time", report.Axis{Label: "ms", Log: true}, t.marks())
	sales := load.Lines("tail-sales", "Units sold over time", report.Axis{Label: "units/s"}, t.marks())
	locks := load.Lines("tail-lock-wait", "Waiting for locks over time", report.Axis{Label: "ms waited per s, all workers"}, t.marks())
	merges := load.Lines("tail-merges", "Merges over time", report.Axis{Label: "merges/s"}, t.marks())
	for _, killed := range []bool{false, true} {
		round := t.first(killed)
		if round == nil {
			continue
		}
		c := round.course
		waits.Series = append(waits.Series, c.result.LatencyLines(slot, ", "+titles(killed))...)
		sales.Series = append(sales.Series, c.sales(titles(killed)))
		locks.Series = append(locks.Series, c.rate(titles(killed), gauges.LockSeconds, 1e3))
		merges.Series = append(merges.Series, c.rate(titles(killed), gauges.Merges, 1))
	}
	return []report.Plot{waits, sales, locks, merges}
}

// sales are the units a second whose buyers were told.
func (c *course) sales(name string) report.Series {
	units := make([]float64, c.result.Elapsed/slot+1)
	for i, reply := range c.result.Replies {
		if reply.Outcome.Done() {
			units[reply.Over/slot] += float64(c.result.Operations[i].Lines[0].Quantity)
		}
	}
	return perSecond(name, units, slot)
}

// rate is by how much a counter of all processes grew a second, so many times.
func (c *course) rate(name string, of gauges.Quantity, times float64) report.Series {
	const step = 2 * gauge // longer than the time between two readings
	grown := make([]float64, c.result.Elapsed/step+1)
	for _, readings := range c.readings {
		ahead := c.result.Start.Sub(readings.Start).Seconds()
		seconds, values := readings.Points(of)
		for i := 1; i < len(values); i++ {
			n := int(math.Floor((seconds[i] - ahead) / step.Seconds()))
			if n >= 0 && n < len(grown) {
				grown[n] += times * (values[i] - values[i-1])
			}
		}
	}
	return perSecond(name, grown, step)
}

// perSecond draws what came in each of some steps of time.
func perSecond(name string, values []float64, step time.Duration) report.Series {
	s := report.Series{Name: name}
	for n, value := range values {
		s.X, s.Y = append(s.X, (time.Duration(n)*step+step/2).Seconds()), append(s.Y, value/step.Seconds())
	}
	return s
}

// occupancy is what segments held, over time.
func (t *Tail) occupancy() report.Section {
	table := &report.Table{Columns: []string{"when the first buyer came, units", "in all", "fullest", "emptiest"}}
	s := report.Section{Name: "What the segments held", Table: table}
	marks := map[bool][]report.Mark{true: t.marks()}
	for _, killed := range []bool{false, true} {
		round := t.first(killed)
		if round == nil {
			continue
		}
		all := round.Segments
		table.Rows = append(table.Rows, []string{
			round.name(), report.Number(floats.Sum(all)), report.Number(slices.Max(all)), report.Number(slices.Min(all)),
		})
		s.Plots = append(s.Plots, load.Lines("tail-segments-"+kind(killed), "Units in segments over time, "+titles(killed), report.Axis{Label: "units"},
			marks[killed], load.SegmentLines(round.course.levels)...))
	}
	return s
}
