package tail

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"inventory/internal/app"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/report"
)

func titles(killed bool) string {
	if killed {
		return "a holder killed"
	}
	return "nobody killed"
}

// of are the rounds of a kind.
func (t *Tail) of(killed bool) (rounds []Round) {
	for _, round := range t.rounds {
		if round.Killed == killed {
			rounds = append(rounds, round)
		}
	}
	return rounds
}

// gapBound is how long, in seconds, the service may take at most to sell on after a holder has died: a worker waits a tenth of a
// second for a lock, and a merge again as long, before they go on without. The rest is the machine's.
const gapBound = 1

// measure is a number of each round.
type measure = compare.Measure[Round]

func sum[N int | int64](name string, of func(Round) N) measure {
	return measure{Name: name, Of: func(r Round) float64 { return float64(of(r)) }, Sum: true}
}

// Those that are told elsewhere too.
func lastUnit() measure {
	return measure{Name: "last unit sold after", Unit: "s", Of: func(r Round) float64 { return r.LastUnit }}
}

func behind() measure {
	return measure{Name: "last unit sold behind the plan", Unit: "ms", Of: func(r Round) float64 { return r.Behind }, Figure: true}
}

func gapAfter() measure {
	return measure{Name: "longest gap after half", Unit: "ms", Of: func(r Round) float64 { return r.GapAfter }, Figure: true}
}

func stranded() measure { return sum("units stranded", func(r Round) int64 { return r.Stranded }) }

func falseRefusals() measure {
	return sum("refusals false for certain", func(r Round) int { return r.FalseRefusals })
}

func undecided() measure { return sum("refusals undecided", func(r Round) int { return r.MaybeTrue }) }

// measures are those of each round. When the last unit is sold follows from the flags; how far that is behind the plan does not.
func measures() []measure {
	return []measure{
		lastUnit(), behind(),
		{Name: "orders sold", Of: func(r Round) float64 { return float64(r.Sold) }},
		{Name: "p50 until half was sold", Unit: "ms", Of: func(r Round) float64 { return r.Before.P50 }},
		{Name: "p99 until half was sold", Unit: "ms", Of: func(r Round) float64 { return r.Before.P99 }},
		{Name: "p50 in the 5 s after", Unit: "ms", Of: func(r Round) float64 { return r.After.P50 }},
		{Name: "p99 after half", Unit: "ms", Of: func(r Round) float64 { return r.After.P99 }, Figure: true},
		{Name: "longest in the 5 s after", Unit: "ms", Of: func(r Round) float64 { return r.After.Max }},
		{Name: "longest time without a sale", Unit: "ms", Of: func(r Round) float64 { return r.LongestGap }},
		gapAfter(),
		{Name: "merges", Of: func(r Round) float64 { return r.Merges }, Figure: true},
		{Name: "waits for locks", Of: func(r Round) float64 { return r.LockWaits }},
		{Name: "wait for a lock, mean", Unit: "ms", Of: func(r Round) float64 { return r.LockMean }},
		{Name: "wait for a lock, p99", Unit: "ms", Of: func(r Round) float64 { return r.LockP99 }},
		{Name: "generator's lag, p99", Unit: "ms", Of: func(r Round) float64 { return r.LagP99 }},
		sum("refused: sold out", func(r Round) int64 { return r.SoldOut }),
		sum("refused: insufficient stock", func(r Round) int64 { return r.Short }),
		sum("refused: overloaded", func(r Round) int64 { return r.Overloaded }),
		falseRefusals(), undecided(), stranded(),
	}
}

// Document is the report.
func (t *Tail) Document() (report.Document, error) {
	d, told := t.Head(), t.neverTold()
	d.Wrong, d.AuditOK = append(d.Wrong, told...), d.AuditOK && len(told) == 0
	d.Summary, d.Warnings = t.summary(), t.told()
	if len(t.rounds) > 0 {
		d.Figures, d.Sections = t.figures(), []report.Section{t.tails(), t.kills(), t.occupancy()}
	}
	return d, d.SetOwn(map[string]any{"rounds": append([]Round{}, t.rounds...)})
}

func (t *Tail) summary() []string {
	if len(t.rounds) == 0 {
		return []string{"No round was over."}
	}
	calm, killed := t.of(false), t.of(true)
	lines := []string{fmt.Sprintf("The last %s of %s units, in %d segments, were sold by %d processes to %s orders a second.",
		report.Number(float64(t.Stock/part)), report.Number(float64(t.Stock)), t.Segments, sellers, report.Number(t.Rate))}
	if len(calm) > 0 {
		lines = append(lines, fmt.Sprintf("With nobody killed the last unit was sold after %s s, %s ms after enough orders for it had come (median of %d).",
			report.Number(lastUnit().Value(calm)), report.Number(behind().Value(calm)), len(calm)))
	}
	if len(killed) > 0 {
		lines = append(lines, fmt.Sprintf("With a holder killed when half was sold it was after %s s, %s ms after enough orders had come (median of %d); the longest time without a sale after that was %s ms.",
			report.Number(lastUnit().Value(killed)), report.Number(behind().Value(killed)), len(killed), report.Number(slices.Max(gapAfter().Over(killed)))))
	}
	return append(lines, fmt.Sprintf("Units stranded: %s. Refusals that were false: %s for certain, %s undecided.",
		report.Number(stranded().Value(t.rounds)), report.Number(falseRefusals().Value(t.rounds)), report.Number(undecided().Value(t.rounds))))
}

func (t *Tail) told() []string {
	lines := slices.Clone(t.warnings)
	for _, round := range t.rounds {
		name := round.name() + ": "
		lines = append(lines, round.course.result.Warnings(name)...)
		switch {
		case round.Left > 0 && round.Stranded == 0:
			lines = append(lines, fmt.Sprintf("%s%d units were not sold: too few came who wanted so few", name, round.Left))
		case round.Killed && round.Strike == nil:
			lines = append(lines, name+"nobody was killed: the victim was not seen with a lock before the sale was over")
		case round.Killed && !round.Strike.Held && t.Lock != app.LockNone:
			lines = append(lines, name+"the victim gave its lock back as it died")
		}
	}
	if t.Lock == app.LockNone && len(t.rounds) > 0 {
		lines = append(lines, "there are no locks: the processes were killed as they were")
	}
	return lines
}

// figures are those of both kinds of rounds.
func (t *Tail) figures() (all []report.Figure) {
	for _, killed := range []bool{false, true} {
		if rounds := t.of(killed); len(rounds) > 0 {
			all = append(all, compare.Figures(measures(), rounds, ", "+titles(killed))...)
		}
	}
	return all
}

// targets are what the rounds have to reach.
func (t *Tail) targets() []report.Target {
	targets := []report.Target{
		report.AtMost("units stranded, in all rounds", stranded().Value(t.rounds), 0),
		report.AtMost("refusals that were false, in all rounds", falseRefusals().Value(t.rounds), 0),
	}
	if killed := t.of(true); len(killed) > 0 {
		targets = append(targets, report.AtMost("longest time without a sale after a holder was killed, s", slices.Max(gapAfter().Over(killed))/1e3, gapBound))
	}
	return targets
}

// tails compares the two kinds of rounds: medians with the least and the most, or sums.
func (t *Tail) tails() report.Section {
	table := &report.Table{Columns: []string{""}, Rows: [][]string{{"rounds"}}}
	for _, m := range measures() {
		table.Rows = append(table.Rows, []string{strings.TrimSuffix(m.Name+", "+m.Unit, ", ")})
	}
	for _, killed := range []bool{false, true} {
		rounds := t.of(killed)
		if len(rounds) == 0 {
			continue
		}
		table.Columns = append(table.Columns, titles(killed))
		table.Rows[0] = append(table.Rows[0], strconv.Itoa(len(rounds)))
		for n, m := range measures() {
			table.Rows[n+1] = append(table.Rows[n+1], m.Cell(rounds))
		}
	}
	return report.Section{
		Name: "The last hundredth", Table: table, Plots: t.courses(), Targets: t.targets(),
		Notes: []string{
			"Latency counts from the moment when an order was due to the answer that said it was sold, also where it had to be asked again.",
			"A refusal is false if what it says was not so when it came, after all sales are taken off that had been sent by then; " +
				"undecided if only after those that had been answered. Units do not come back here, so what was left then was left for longer.",
			"Refusals, stranded units: of all rounds. Merges and waits of a killed process since its last 0.2 s are missing.",
		},
	}
}

// kills tells of each holder that was killed, and of the requests that it had.
func (t *Tail) kills() report.Section {
	s := report.Section{Name: "The holders that were killed", Table: &report.Table{Columns: []string{
		"round", "killed at s", "lock of segment", "held when gone", "lease left s", "tries",
		"in flight: 200", "201", "refused", "sent to the dead: 200", "201", "refused", "sent elsewhere", "never told",
	}}}
	for _, round := range t.of(true) {
		if k := round.Strike; k != nil {
			cells := []string{
				strconv.Itoa(round.Number), fmt.Sprintf("%.2f", k.At), strconv.Itoa(k.Segment), strconv.FormatBool(k.Held),
				fmt.Sprintf("%.2f", k.LeaseLeft), strconv.Itoa(k.Tries),
			}
			for _, d := range []Doubts{round.InFlight, round.SentToTheDead} {
				cells = append(cells, fmt.Sprint(d.Replayed), fmt.Sprint(d.Accepted), fmt.Sprint(d.Refused))
			}
			s.Table.Rows = append(s.Table.Rows, append(cells, fmt.Sprint(round.SentElsewhere), fmt.Sprint(round.NeverTold)))
		}
	}
	s.Notes = []string{
		"Each process was stopped while it had the lock of a segment, and killed if it had it still (tries: how often it was stopped). " +
			"Held when gone: Redis named it when it was dead, for as long as its lease was left.",
		"In flight: sent before it died, and never answered. Sent to the dead: over connections of which nobody knew yet. All were asked again " +
			"under the same order id at another process: 200 had been sold to them before, 201 was sold to them then. " +
			"Sent elsewhere: those who found no connection any more.",
		"Each order that was told of its units has one row of that quantity, and nobody else has any; or else the audit has failed.",
	}
	return s
}
