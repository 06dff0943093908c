package tail

import (
	"fmt"
	"slices"
	"strconv"

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
func (r Result) of(killed bool) (rounds []Round) {
	for _, round := range r.Rounds {
		if round.Killed == killed {
			rounds = append(rounds, round)
		}
	}
	return rounds
}

// figures are a number of each round.
func figures(rounds []Round, of func(Round) float64) (all []float64) {
	for _, r := range rounds {
		all = append(all, of(r))
	}
	return all
}

func median(rounds []Round, of func(Round) float64) float64 {
	return compare.Median(figures(rounds, of))
}

func worst(rounds []Round, of func(Round) float64) float64 { return slices.Max(figures(rounds, of)) }

func total(rounds []Round, of func(Round) float64) (sum float64) {
	for _, value := range figures(rounds, of) {
		sum += value
	}
	return sum
}

// gapBound is how long, in seconds, the service may take at most to sell on after a holder has died: a worker waits a tenth of a
// second for a lock, and a merge again as long, before they go on without. The rest is the machine's.
const gapBound = 1

// figure is one of each round, with how it is told of several rounds.
type figure struct {
	name   string
	of     func(Round) float64
	summed bool
}

// Of each round, as tables and summaries tell them.
func lastUnit(r Round) float64      { return r.LastUnit }
func behind(r Round) float64        { return r.Behind }
func gapAfter(r Round) float64      { return r.GapAfter }
func merges(r Round) float64        { return r.Merges }
func afterP99(r Round) float64      { return r.After.P99 }
func stranded(r Round) float64      { return float64(r.Stranded) }
func falseRefusals(r Round) float64 { return float64(r.FalseRefusals) }
func undecided(r Round) float64     { return float64(r.MaybeTrue) }

func tableFigures() []figure {
	return []figure{
		{"last unit sold after, s", lastUnit, false},
		{"that is behind the plan, ms", behind, false},
		{"orders sold", func(r Round) float64 { return float64(r.Sold) }, false},
		{"p50 until half was sold, ms", func(r Round) float64 { return r.Before.P50 }, false},
		{"p99 until half was sold, ms", func(r Round) float64 { return r.Before.P99 }, false},
		{"p50 in the 5 s after, ms", func(r Round) float64 { return r.After.P50 }, false},
		{"p99 in the 5 s after, ms", afterP99, false},
		{"longest in the 5 s after, ms", func(r Round) float64 { return r.After.Max }, false},
		{"longest time without a sale, ms", func(r Round) float64 { return r.LongestGap }, false},
		{"the same after half was sold, ms", gapAfter, false},
		{"merges", merges, false},
		{"waits for locks", func(r Round) float64 { return r.LockWaits }, false},
		{"wait for a lock, mean, ms", func(r Round) float64 { return r.LockMean }, false},
		{"wait for a lock, p99, ms", func(r Round) float64 { return r.LockP99 }, false},
		{"generator's lag, p99, ms", func(r Round) float64 { return r.LagP99 }, false},
		{"refused: sold out", func(r Round) float64 { return float64(r.SoldOut) }, true},
		{"refused: insufficient stock", func(r Round) float64 { return float64(r.Short) }, true},
		{"refused: overloaded", func(r Round) float64 { return float64(r.Overloaded) }, true},
		{"refusals false for certain", falseRefusals, true},
		{"refusals undecided", undecided, true},
		{"units stranded", stranded, true},
	}
}

// Document is the result as it is told.
func (r Result) Document() (report.Document, error) {
	wrong := r.wrong()
	d := report.Document{
		Scenario: "tail", Started: r.Started, Elapsed: r.took.Seconds(), Interrupted: r.Stopped != nil, Seed: r.config.Seed,
		Environment: r.Environment, Wrong: wrong, AuditOK: len(wrong) == 0, Summary: r.summary(), Warnings: r.warnings(),
	}
	if len(r.Rounds) > 0 {
		d.Figures = r.figures()
		d.Sections = []report.Section{r.tails(), r.kills(), r.occupancy()}
	}
	rounds := r.Rounds
	if rounds == nil {
		rounds = []Round{}
	}
	return d, d.SetOwn(map[string]any{"rounds": rounds})
}

func (r Result) summary() []string {
	if len(r.Rounds) == 0 {
		return []string{"No round was over."}
	}
	calm, killed := r.of(false), r.of(true)
	lines := []string{fmt.Sprintf("The last %s of %s units, in %d segments, were sold by %d processes to %s orders a second.",
		report.Number(float64(r.config.Stock/part)), report.Number(float64(r.config.Stock)), r.config.Segments, sellers, report.Number(r.config.Rate))}
	if len(calm) > 0 {
		lines = append(lines, fmt.Sprintf("With nobody killed the last unit was sold after %s s, %s ms after enough orders for it had come (median of %d).",
			report.Number(median(calm, lastUnit)), report.Number(median(calm, behind)), len(calm)))
	}
	if len(killed) > 0 {
		lines = append(lines, fmt.Sprintf("With a holder killed when half was sold it was after %s s, %s ms after enough orders had come (median of %d); the longest time without a sale after that was %s ms.",
			report.Number(median(killed, lastUnit)), report.Number(median(killed, behind)), len(killed), report.Number(worst(killed, gapAfter))))
	}
	return append(lines, fmt.Sprintf("Units stranded: %s. Refusals that were false: %s for certain, %s undecided.",
		report.Number(total(r.Rounds, stranded)), report.Number(total(r.Rounds, falseRefusals)), report.Number(total(r.Rounds, undecided))))
}

func (r Result) warnings() []string {
	lines := slices.Clone(r.Warnings)
	for _, round := range r.Rounds {
		name := fmt.Sprintf("round %d, %s: ", round.Number, titles(round.Killed))
		lines = append(lines, round.course.result.Warnings(name)...)
		switch {
		case round.Left > 0 && round.Stranded == 0:
			lines = append(lines, fmt.Sprintf("%s%d units were not sold: too few came who wanted so few", name, round.Left))
		case round.Killed && round.Strike == nil:
			lines = append(lines, name+"nobody was killed: the victim was not seen with a lock before the sale was over")
		case round.Killed && !round.Strike.Held && r.config.Lock != app.LockNone:
			lines = append(lines, name+"the victim gave its lock back as it died")
		}
	}
	if r.config.Lock == app.LockNone && len(r.Rounds) > 0 {
		lines = append(lines, "there are no locks: the processes were killed as they were")
	}
	return lines
}

// figures tell two runs apart. When the last unit is sold follows from the flags; how far that is behind the plan does not.
func (r Result) figures() (all []report.Figure) {
	for _, killed := range []bool{false, true} {
		rounds := r.of(killed)
		for _, f := range []struct {
			name, unit string
			of         func(Round) float64
		}{
			{"last unit sold behind the plan", "ms", behind},
			{"p99 after half", "ms", afterP99},
			{"longest gap after half", "ms", gapAfter},
			{"merges", "", merges},
		} {
			if len(rounds) > 0 {
				all = append(all, report.Figure{Name: f.name + ", " + titles(killed), Unit: f.unit, Value: median(rounds, f.of)})
			}
		}
	}
	return all
}

// targets are what the rounds have to reach.
func (r Result) targets() []report.Target {
	targets := []report.Target{
		report.AtMost("units stranded, in all rounds", total(r.Rounds, stranded), 0),
		report.AtMost("refusals that were false, in all rounds", total(r.Rounds, falseRefusals), 0),
	}
	if killed := r.of(true); len(killed) > 0 {
		targets = append(targets, report.AtMost("longest time without a sale after a holder was killed, s", worst(killed, gapAfter)/1e3, gapBound))
	}
	return targets
}

// tails compares the two kinds of rounds: medians with the least and the most, or sums.
func (r Result) tails() report.Section {
	table := &report.Table{Columns: []string{""}, Rows: [][]string{{"rounds"}}}
	for _, f := range tableFigures() {
		table.Rows = append(table.Rows, []string{f.name})
	}
	for _, killed := range []bool{false, true} {
		rounds := r.of(killed)
		if len(rounds) == 0 {
			continue
		}
		table.Columns = append(table.Columns, titles(killed))
		table.Rows[0] = append(table.Rows[0], strconv.Itoa(len(rounds)))
		for n, f := range tableFigures() {
			table.Rows[n+1] = append(table.Rows[n+1], f.told(rounds))
		}
	}
	return report.Section{
		Name: "The last hundredth", Table: table, Plots: r.courses(), Targets: r.targets(),
		Notes: []string{
			"Latency counts from the moment when an order was due to the answer that said it was sold, also where it had to be asked again.",
			"A refusal is false if what it says was not so when it came, after all sales are taken off that had been sent by then; " +
				"undecided if only after those that had been answered. Units do not come back here, so what was left then was left for longer.",
			"Refusals, stranded units: of all rounds. Merges and waits of a killed process since its last 0.2 s are missing.",
		},
	}
}

// told is the figure of several rounds.
func (f figure) told(rounds []Round) string {
	all := figures(rounds, f.of)
	switch {
	case f.summed:
		return report.Number(total(rounds, f.of))
	case len(all) == 1:
		return report.Number(all[0])
	}
	return fmt.Sprintf("%s (%s to %s)", report.Number(compare.Median(all)), report.Number(slices.Min(all)), report.Number(slices.Max(all)))
}

// kills tells of each holder that was killed, and of the requests that it had.
func (r Result) kills() report.Section {
	s := report.Section{Name: "The holders that were killed", Table: &report.Table{Columns: []string{
		"round", "killed at s", "lock of segment", "held when gone", "lease left s", "tries",
		"in flight: 200", "201", "refused", "sent to the dead: 200", "201", "refused", "sent elsewhere", "never told",
	}}}
	for _, round := range r.of(true) {
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
