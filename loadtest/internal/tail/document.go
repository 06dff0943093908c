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

// kinds are both kinds of rounds: whether a holder is killed.
func kinds() []bool { return []bool{false, true} }

// kind names a kind of round in the names of SKUs and plots.
func kind(killed bool) string { return map[bool]string{false: "calm", true: "killed"}[killed] }

// titles name a kind of round for people.
func titles(killed bool) string {
	return map[bool]string{false: "nobody killed", true: "a holder killed"}[killed]
}

// name is a round for people.
func (r *Round) name() string { return fmt.Sprintf("round %d, %s", r.Number, titles(r.Killed)) }

// of are the rounds of a kind.
func (t *Tail) of(killed bool) []*Round {
	return slices.DeleteFunc(slices.Clone(t.rounds), func(r *Round) bool { return r.Killed != killed })
}

// gapBound is how many seconds without a sale a killed holder may cost. A worker waits a tenth of a second for a lock, and a
// merge as long again, before they go on without; the rest is for a busy machine.
const gapBound = 1

// measure is a number of each round.
type measure = compare.Measure[*Round]

func sum[N int | int64](name string, of func(*Round) N) measure {
	return measure{Name: name, Of: func(r *Round) float64 { return float64(of(r)) }, Sum: true}
}

// The measures that sentences and targets have too.
const (
	lastUnit      = "last unit sold after"
	behind        = "last unit sold behind the plan"
	gapAfter      = "longest gap after half"
	falseRefusals = "refusals false for certain"
	undecided     = "refusals undecided"
	stranded      = "units stranded"
)

// measures are those of each round. When the last unit is sold follows from the flags; how far that is behind the plan does not.
func measures() []measure {
	return []measure{
		{Name: lastUnit, Unit: "s", Of: func(r *Round) float64 { return r.LastUnit }},
		{Name: behind, Unit: "ms", Of: func(r *Round) float64 { return r.Behind }, Figure: true},
		{Name: "orders sold", Of: func(r *Round) float64 { return float64(r.Sold) }},
		{Name: "p50 until half was sold", Unit: "ms", Of: func(r *Round) float64 { return r.Before.P50 }},
		{Name: "p99 until half was sold", Unit: "ms", Of: func(r *Round) float64 { return r.Before.P99 }},
		{Name: "p50 in the 5 s after", Unit: "ms", Of: func(r *Round) float64 { return r.After.P50 }},
		{Name: "p99 after half", Unit: "ms", Of: func(r *Round) float64 { return r.After.P99 }, Figure: true},
		{Name: "longest in the 5 s after", Unit: "ms", Of: func(r *Round) float64 { return r.After.Max }},
		{Name: "longest time without a sale", Unit: "ms", Of: func(r *Round) float64 { return r.LongestGap }},
		{Name: gapAfter, Unit: "ms", Of: func(r *Round) float64 { return r.GapAfter }, Figure: true},
		{Name: "merges", Of: func(r *Round) float64 { return r.Merges }, Figure: true},
		{Name: "waits for locks", Of: func(r *Round) float64 { return r.LockWaits }},
		{Name: "wait for a lock, mean", Unit: "ms", Of: func(r *Round) float64 { return r.LockMean }},
		{Name: "wait for a lock, p99", Unit: "ms", Of: func(r *Round) float64 { return r.LockP99 }},
		{Name: "generator's lag, p99", Unit: "ms", Of: func(r *Round) float64 { return r.LagP99 }},
		sum("refused: sold out", func(r *Round) int64 { return r.SoldOut }),
		sum("refused: insufficient stock", func(r *Round) int64 { return r.Short }),
		sum("refused: overloaded", func(r *Round) int64 { return r.Overloaded }),
		sum(falseRefusals, func(r *Round) int { return r.FalseRefusals }),
		sum(undecided, func(r *Round) int { return r.MaybeTrue }),
		sum(stranded, func(r *Round) int64 { return r.Stranded }),
	}
}

// named is the measure of a name.
func named(name string) measure {
	all := measures()
	return all[slices.IndexFunc(all, func(m measure) bool { return m.Name == name })]
}

// Document is the report.
func (t *Tail) Document() (report.Document, error) {
	d, lines := t.Head(), t.neverTold()
	d.Wrong, d.AuditOK = append(d.Wrong, lines...), d.AuditOK && len(lines) == 0
	d.Summary, d.Warnings = []string{"No round was over."}, t.allWarnings()
	if len(t.rounds) > 0 {
		d.Summary, d.Sections = t.summary(), []report.Section{t.comparison(), t.kills(), t.occupancy()}
		for _, r := range t.first() {
			d.Figures = append(d.Figures, compare.Figures(measures(), t.of(r.Killed), ", "+titles(r.Killed))...)
		}
	}
	return d, d.SetOwn(map[string]any{"rounds": append([]*Round{}, t.rounds...)})
}

func (t *Tail) summary() []string {
	lines := []string{fmt.Sprintf("The last %s of %s units, in %d segments, were sold by %d processes to %s orders a second.",
		report.Number(float64(t.Stock/part)), report.Number(float64(t.Stock)), t.Segments, sellers, report.Number(t.Rate))}
	for _, r := range t.first() {
		rounds, gap := t.of(r.Killed), ""
		if r.Killed {
			gap = fmt.Sprintf("; the longest time without a sale after the kill was %s ms", report.Number(slices.Max(named(gapAfter).Over(rounds))))
		}
		lines = append(lines, fmt.Sprintf("With %s the last unit was sold after %s s, %s ms after enough orders for it had come (median of %d)%s.",
			titles(r.Killed), report.Number(named(lastUnit).Value(rounds)), report.Number(named(behind).Value(rounds)), len(rounds), gap))
	}
	return append(lines, fmt.Sprintf("Units stranded: %s. Refusals that were false: %s for certain, %s undecided.",
		named(stranded).Cell(t.rounds), named(falseRefusals).Cell(t.rounds), named(undecided).Cell(t.rounds)))
}

func (t *Tail) allWarnings() []string {
	lines := slices.Clone(t.warnings)
	for _, r := range t.rounds {
		name := r.name() + ": "
		lines = append(lines, r.result.Warnings(name)...)
		switch {
		case r.Left > 0 && r.Stranded == 0:
			lines = append(lines, fmt.Sprintf("%s%d units were not sold: too few came who wanted so few", name, r.Left))
		case r.Killed && r.Strike == nil:
			lines = append(lines, name+"nobody was killed: the victim was not seen with a lock before the sale was over")
		case r.Killed && !r.Strike.Held && t.Lock != app.LockNone:
			lines = append(lines, name+"the victim gave its lock back as it died")
		}
	}
	if t.Lock == app.LockNone && len(t.rounds) > 0 {
		lines = append(lines, "there are no locks: the processes were killed as they were")
	}
	return lines
}

// targets are what the rounds have to reach.
func (t *Tail) targets() []report.Target {
	targets := []report.Target{
		report.AtMost("units stranded, in all rounds", named(stranded).Value(t.rounds), 0),
		report.AtMost("refusals that were false, in all rounds", named(falseRefusals).Value(t.rounds), 0),
	}
	if killed := t.of(true); len(killed) > 0 {
		gap := slices.Max(named(gapAfter).Over(killed)) / 1e3
		targets = append(targets, report.AtMost("longest time without a sale after a holder was killed, s", gap, gapBound))
	}
	return targets
}

// comparison has both kinds of rounds: medians with the least and the most, or sums.
func (t *Tail) comparison() report.Section {
	table := &report.Table{Columns: []string{""}, Rows: [][]string{{"rounds"}}}
	for _, m := range measures() {
		table.Rows = append(table.Rows, []string{strings.TrimSuffix(m.Name+", "+m.Unit, ", ")})
	}
	for _, r := range t.first() {
		rounds := t.of(r.Killed)
		table.Columns = append(table.Columns, titles(r.Killed))
		table.Rows[0] = append(table.Rows[0], strconv.Itoa(len(rounds)))
		for n, m := range measures() {
			table.Rows[n+1] = append(table.Rows[n+1], m.Cell(rounds))
		}
	}
	return report.Section{
		Name: "The last hundredth", Table: table, Plots: t.overTime(), Targets: t.targets(),
		Notes: []string{
			"Latency counts from the planned time of an order to the answer that it was sold, with all retries.",
			"A refusal is false if so many units were left when it came, less all sales that had been sent by then; " +
				"it is undecided if only less those that had been answered.",
			"Refusals, stranded units: of all rounds. Merges and waits of a killed process since its last 0.2 s are missing.",
		},
	}
}

// kills has each holder that was killed, and the answers to the retries of its requests.
func (t *Tail) kills() report.Section {
	s := report.Section{Name: "The holders that were killed", Table: &report.Table{Columns: []string{
		"round", "killed at s", "lock of segment", "held when gone", "lease left s", "tries",
		"in flight: 200", "201", "refused", "sent to the dead: 200", "201", "refused", "sent elsewhere", "never told",
	}}}
	for _, r := range t.of(true) {
		if k := r.Strike; k != nil {
			cells := []string{
				strconv.Itoa(r.Number), fmt.Sprintf("%.2f", k.At), strconv.Itoa(k.Segment), strconv.FormatBool(k.Held),
				fmt.Sprintf("%.2f", k.LeaseLeft), strconv.Itoa(k.Tries),
			}
			for _, d := range []Doubts{r.InFlight, r.SentToTheDead} {
				cells = append(cells, fmt.Sprint(d.Replayed), fmt.Sprint(d.Accepted), fmt.Sprint(d.Refused))
			}
			s.Table.Rows = append(s.Table.Rows, append(cells, fmt.Sprint(r.SentElsewhere), fmt.Sprint(r.NeverTold)))
		}
	}
	s.Notes = []string{
		"Tries: how often the process was stopped until the lock was still its own. Held when gone: Redis named it as the holder after its death.",
		"In flight: sent before the kill, and not answered. Sent to the dead: over connections not yet known to be broken. " +
			"Sent elsewhere: there was no connection. Retries at another process: 200 if the first request had sold, 201 if not.",
	}
	return s
}
