package flashsale

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"gonum.org/v1/gonum/floats"

	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
)

// never is later than everything.
const never = load.Forever

// settle computes the results of a round.
func (r *round) settle(rows history.Rows, found history.Findings) {
	r.refusals = found.Refusals[r.sku]
	r.soldOut, r.planned, r.firstNo = never, never, never
	r.stock, r.units = rows.Of(r.sku)
	told := make(map[int]bool) // by the first request of an order
	var last time.Duration
	var wanted int64
	for i, reply := range r.result.Replies {
		if reply.Outcome.Done() && !told[r.first[i]] {
			told[r.first[i]], last = true, max(last, reply.Over)
		}
		if r.first[i] == i && r.load.At[i] >= r.opening && r.planned == never {
			if wanted += r.load.Operations[i].Lines[0].Quantity; wanted >= r.stock.Initial {
				r.planned = r.load.At[i] - r.opening
			}
		}
		switch {
		case reply.Outcome == load.Accepted && reply.Over < r.opening: // the clocks of the service and of this program differ
			r.early++
		case reply.Outcome == load.SaleClosed && reply.Sent > r.opening: // so here
			r.late++
		case reply.Outcome.Short():
			r.firstNo = min(r.firstNo, reply.Over)
		}
	}
	if r.told = len(told); r.stock.Initial > 0 && r.stock.Available == 0 && r.told > 0 {
		r.soldOut = last - r.opening
	}
}

// oversold are the units sold beyond the stock.
func (r *round) oversold() int64 { return max(0, r.units-r.stock.Initial) }

// behind is how much later the last unit was sold than enough orders were due, in milliseconds. NaN where units were left.
func (r *round) behind() float64 {
	if r.soldOut == never || r.planned == never {
		return math.NaN()
	}
	return report.Milliseconds(r.soldOut - r.planned)
}

// tell adds the rounds to the report.
func (s *Sale) tell() {
	accepted, r := s.All.Counts(0, load.Forever)[load.Accepted], s.typical()
	s.Scenario, s.Document.Seed = "flash-sale", s.Config.Seed
	s.Environment.Add("measurement", report.Count(len(s.rounds), "round"))
	s.Summary, s.Warnings = s.summary(), s.warnings()
	for _, m := range measures() { // what is no number is left out
		if value := m.value(s.rounds); !math.IsNaN(value) {
			s.Figures = append(s.Figures, report.Figure{Name: m.name, Unit: m.unit, Value: value})
		}
	}
	s.Sections = append([]report.Section{
		s.All.OutcomeSection(), s.phases(),
		{Name: "Over time", Plots: r.result.OverTime(s.marks(r)), Notes: []string{fmt.Sprintf(
			"round %d of %d, whose p99 of accepted orders is the median; a point for each %v", r.number+1, len(s.rounds), load.Width(r.result.Elapsed))}},
		s.roundSection(),
	}, s.gauges.Sections(accepted)...)
}

// typical is the round whose p99 of accepted orders is the median: plots show it.
func (s *Sale) typical() *round {
	p99 := latency(99, load.Accepted).over(s.rounds)
	return s.rounds[floats.NearestIdx(p99, latency(99, load.Accepted).value(s.rounds))]
}

// measure is a number of each round, as tables, figures and sentences have it. It is no number where a round has none.
type measure struct {
	name, unit string
	of         func(*round) float64
}

// over is the number of each round.
func (m measure) over(rounds []*round) []float64 {
	all := make([]float64, len(rounds))
	for i, r := range rounds {
		all[i] = m.of(r)
	}
	return all
}

// value is that of all rounds together; no number where a round has none.
func (m measure) value(rounds []*round) float64 {
	all := m.over(rounds)
	if slices.ContainsFunc(all, math.IsNaN) {
		return math.NaN()
	}
	return report.Median(all)
}

// words are the value for a sentence, with its unit.
func (m measure) words(rounds []*round) string {
	text := report.Number(m.value(rounds)) + " " + m.unit
	if all := m.over(rounds); len(all) > 1 {
		text += fmt.Sprintf(" (median of %d rounds, %s to %s)", len(rounds), report.Number(slices.Min(all)), report.Number(slices.Max(all)))
	}
	return text
}

// latency is a quantile of an outcome; NaN where no request came to it.
func latency(percent float64, o load.Outcome) measure {
	return measure{name: fmt.Sprintf("%s p%v", o.String(), percent), unit: "ms", of: func(r *round) float64 {
		return report.Quantile(r.result.Latencies(0, never, o), percent)
	}}
}

func count[N int | int64](name, unit string, of func(*round) N) measure {
	return measure{name: name, unit: unit, of: func(r *round) float64 { return float64(of(r)) }}
}

// measures are those of each round. When it is sold out follows from the flags; how far that is behind the plan does not.
func measures() []measure {
	return []measure{
		count("sold", "units", func(r *round) int64 { return r.units }),
		{"sold out after", "s", func(r *round) float64 { return seconds(r.soldOut) }},
		{"sold out behind the plan", "ms", func(r *round) float64 { return r.behind() }},
		latency(50, load.Accepted), latency(99, load.Accepted), latency(99.9, load.Accepted), latency(99, load.SoldOut), latency(99, load.Replayed),
		{"all who were due p99", "ms", func(r *round) float64 { return report.Quantile(r.result.Latencies(0, never), 99) }},
		{"lag p99", "ms", func(r *round) float64 { lags, _ := r.result.Lags(0, never); return report.Quantile(lags, 99) }},
		count("dropped", "requests", func(r *round) int64 { return r.result.Counts(0, never)[load.Dropped] }),
		count("false sold-outs, at least", "", func(r *round) int { return r.refusals.False.Least }),
		count("false sold-outs, at most", "", func(r *round) int { return r.refusals.False.Most }),
		count("units left", "units", func(r *round) int64 { return r.stock.Available }),
		count("stranded", "units", func(r *round) int64 { return r.refusals.Stranded }),
	}
}

// seconds is a time; no number where it never was.
func seconds(at time.Duration) float64 {
	if at == never {
		return math.NaN()
	}
	return at.Seconds()
}

// roundSection has a row for each round, and how far apart they are.
func (s *Sale) roundSection() report.Section {
	table := &report.Table{Columns: []string{"round"}}
	for n := range s.rounds {
		table.Rows = append(table.Rows, []string{fmt.Sprint(n + 1)})
	}
	table.Rows = append(table.Rows, []string{"median"}, []string{"least"}, []string{"most"})
	for _, m := range measures() {
		table.Columns = append(table.Columns, m.name+" "+m.unit)
		values := m.over(s.rounds)
		for n, value := range append(values, m.value(s.rounds), slices.Min(values), slices.Max(values)) {
			table.Rows[n] = append(table.Rows[n], report.Number(value))
		}
	}
	return report.Section{Name: "Rounds", Table: table, Notes: []string{
		"false at least: what the refusal said was not so, even if all orders that had been sent by then had been sold",
		"false at most: even if those alone that had been answered; between the two nobody outside can tell which came first",
		"behind the plan: from when enough orders for all units were due, which follows from the flags, to the answer that sold the last unit",
	}}
}

// summary is the run in sentences.
func (s *Sale) summary() []string {
	var units, oversold, stranded int64
	var falsely history.Bounds
	for _, r := range s.rounds {
		units, oversold, stranded = units+r.units, oversold+r.oversold(), stranded+r.refusals.Stranded
		falsely = history.Bounds{Least: falsely.Least + r.refusals.False.Least, Most: falsely.Most + r.refusals.False.Most}
	}
	sold := fmt.Sprintf("Sold %s of %s units", humanize.Comma(units), humanize.Comma(s.Stock*int64(len(s.rounds))))
	if len(s.rounds) > 1 {
		sold += fmt.Sprintf(" in %d rounds", len(s.rounds))
	}
	if after, behind := measures()[1], measures()[2]; math.IsNaN(after.value(s.rounds)) {
		sold += "; not sold out."
	} else {
		sold += fmt.Sprintf("; sold out %s after the sale opened, %s after enough orders for that had come.", after.words(s.rounds), behind.words(s.rounds))
	}
	lines := []string{sold, fmt.Sprintf("Units oversold: %s, stranded: %s; false sold-outs: at least %d, at most %d.",
		humanize.Comma(oversold), humanize.Comma(stranded), falsely.Least, falsely.Most)}
	if s.All.Counts(0, load.Forever)[load.Accepted] > 0 {
		lines = append(lines, "Of those who got something 99% were answered within "+latency(99, load.Accepted).words(s.rounds)+
			", counted from the moment their order was to be sent.")
	}
	return append(lines, fmt.Sprintf("Seed %d; %s.", s.Config.Seed, s.to.Name))
}

// warnings are why figures may not be what they seem.
func (s *Sale) warnings() (lines []string) {
	var early, late int64
	for _, r := range s.rounds {
		early, late = early+r.early, late+r.late
		lines = append(lines, r.result.Warnings(fmt.Sprintf("round %d: ", r.number+1))...)
	}
	if early+late > 0 {
		lines = append(lines, fmt.Sprintf("the clocks of the service and of this program differ: %d orders were accepted before the sale opened, %d turned away after it",
			early, late))
	}
	return lines
}

// marks are the instants that explain what is drawn over time.
func (s *Sale) marks(r *round) (marks []report.Mark) {
	if r.opening > 0 {
		marks = append(marks, report.Mark{X: r.opening.Seconds(), Label: "sale opens"})
	}
	switch {
	case r.soldOut != never:
		marks = append(marks, report.Mark{X: (r.opening + r.soldOut).Seconds(), Label: "sold out"})
	case r.firstNo != never:
		marks = append(marks, report.Mark{X: r.firstNo.Seconds(), Label: "first refusal"})
	}
	for _, p := range spans(s.Phases) {
		if p.name == Storm {
			marks = append(marks, report.Mark{X: p.from.Seconds(), Label: "storm of retries"})
		}
	}
	return marks
}

// phases has a row for each phase, of all rounds.
func (s *Sale) phases() report.Section {
	table := &report.Table{Columns: []string{"phase", "seconds", "offered", "offered/s", "answered", "accepted", "dropped", "p99 ms", "lag p99 ms"}}
	for _, p := range spans(s.Phases) {
		due := s.All.Counts(p.from, p.to)
		lags, _ := s.All.Lags(p.from, p.to)
		offered, seconds := float64(due.Of(load.Outcomes()...)), (p.to - p.from).Seconds()
		table.Add(p.name, seconds, offered, offered/seconds/float64(len(s.rounds)), float64(due.Answered()), float64(due[load.Accepted]),
			float64(due[load.Dropped]), report.Quantile(s.All.Latencies(p.from, p.to), 99), report.Quantile(lags, 99))
	}
	return report.Section{Name: "Phases", Table: table, Notes: []string{"requests that were due in the phase, of all rounds, and what became of them"}}
}
