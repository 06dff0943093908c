package tail

import (
	"fmt"
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

// worst is the largest of all rounds.
func worst(rounds []Round, of func(Round) float64) (most float64) {
	for _, value := range figures(rounds, of) {
		most = max(most, value)
	}
	return most
}

// gapBound is how long, in seconds, the service may take at most to sell on after a holder has died: a lane waits a tenth of a
// second for a lock, and a merge again as long, before they go on without. The rest is the machine's.
const gapBound = 1

// Document is the result as it is told.
func (r Result) Document() (report.Document, error) {
	d := report.Document{
		Scenario: "tail", Started: r.Started, Elapsed: r.took.Seconds(), Interrupted: r.Stopped != nil, Seed: r.config.Seed,
		Environment: r.Environment, Wrong: r.Wrong, AuditOK: r.AuditOK,
		Summary: r.summary(), Warnings: r.warnings(),
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
	lastUnit := func(r Round) float64 { return r.LastUnit }
	lines := []string{fmt.Sprintf("The last %s of %s units, in %d segments, were sold by %d processes to %s orders a second.",
		report.Number(float64(r.config.Stock/part)), report.Number(float64(r.config.Stock)), r.config.Segments, sellers, report.Number(r.config.Rate))}
	if len(calm) > 0 {
		lines = append(lines, fmt.Sprintf("With nobody killed the last unit was sold after %s s (median of %d).",
			report.Number(median(calm, lastUnit)), len(calm)))
	}
	if len(killed) > 0 {
		lines = append(lines, fmt.Sprintf("With a holder killed when half was sold it was after %s s (median of %d); the longest time without a sale after that was %s ms.",
			report.Number(median(killed, lastUnit)), len(killed), report.Number(worst(killed, func(r Round) float64 { return r.GapAfter }))))
	}
	return append(lines, fmt.Sprintf("Units stranded: %s. Refusals that were false: %s for certain, %s undecided.",
		report.Number(total(r.Rounds, func(r Round) float64 { return float64(r.Stranded) })),
		report.Number(total(r.Rounds, func(r Round) float64 { return float64(r.FalseRefusals) })),
		report.Number(total(r.Rounds, func(r Round) float64 { return float64(r.MaybeTrue) }))))
}

func total(rounds []Round, of func(Round) float64) (sum float64) {
	for _, value := range figures(rounds, of) {
		sum += value
	}
	return sum
}

// lateness is by how much, in milliseconds, a hundredth of the orders may go out late before it is told: a tenth of what a lane
// waits for a lock, which is what shows here.
const lateness = 10

func (r Result) warnings() (lines []string) {
	for _, round := range r.Rounds {
		name := fmt.Sprintf("round %d, %s: ", round.Number, titles(round.Killed))
		if round.Dropped > 0 {
			lines = append(lines, fmt.Sprintf("%sthe generator did not send %d of %d orders in time", name, round.Dropped, round.Offered))
		}
		if round.LagP99 > lateness {
			lines = append(lines, fmt.Sprintf("%sthe generator was not in time: 1%% of orders went out more than %s ms late, which is part of their latency",
				name, report.Number(round.LagP99)))
		}
		if round.Left > 0 && round.Stranded == 0 {
			lines = append(lines, fmt.Sprintf("%s%d units were not sold: too few came who wanted so few", name, round.Left))
		}
		switch {
		case !round.Killed:
		case round.Strike == nil:
			lines = append(lines, name+"nobody was killed: the victim was not seen with a lock before the sale was over")
		case !round.Strike.Held && r.config.Lock != app.LockNone:
			lines = append(lines, name+"the victim gave its lock back as it died")
		}
	}
	if r.config.Lock == app.LockNone && len(r.Rounds) > 0 {
		lines = append(lines, "there are no locks: the processes were killed as they were")
	}
	return lines
}

func (r Result) figures() (all []report.Figure) {
	for _, killed := range []bool{false, true} {
		rounds := r.of(killed)
		for _, f := range []struct {
			name, unit string
			of         func(Round) float64
		}{
			{"last unit sold", "s", func(r Round) float64 { return r.LastUnit }},
			{"p99 after half", "ms", func(r Round) float64 { return r.After.P99 }},
			{"longest gap after half", "ms", func(r Round) float64 { return r.GapAfter }},
			{"merges", "", func(r Round) float64 { return r.Merges }},
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
		report.AtMost("units stranded, in all rounds", total(r.Rounds, func(r Round) float64 { return float64(r.Stranded) }), 0),
		report.AtMost("refusals that were false, in all rounds", total(r.Rounds, func(r Round) float64 { return float64(r.FalseRefusals) }), 0),
	}
	if killed := r.of(true); len(killed) > 0 {
		targets = append(targets, report.AtMost("longest time without a sale after a holder was killed, s",
			worst(killed, func(r Round) float64 { return r.GapAfter / 1e3 }), gapBound))
	}
	return targets
}

// tails compares the two kinds of rounds: medians, with the least and the most of some.
func (r Result) tails() report.Section {
	table := &report.Table{Columns: []string{""}}
	for _, killed := range []bool{false, true} {
		if len(r.of(killed)) > 0 {
			table.Columns = append(table.Columns, titles(killed))
		}
	}
	row := func(name string, cell func(rounds []Round) string) {
		cells := []string{name}
		for _, killed := range []bool{false, true} {
			if rounds := r.of(killed); len(rounds) > 0 {
				cells = append(cells, cell(rounds))
			}
		}
		table.Rows = append(table.Rows, cells)
	}
	spread := func(of func(Round) float64) func([]Round) string {
		return func(rounds []Round) string {
			all := figures(rounds, of)
			if len(all) == 1 {
				return report.Number(all[0])
			}
			return fmt.Sprintf("%s (%s to %s)", report.Number(compare.Median(all)), report.Number(least(all)), report.Number(worst(rounds, of)))
		}
	}
	sum := func(of func(Round) float64) func([]Round) string {
		return func(rounds []Round) string { return report.Number(total(rounds, of)) }
	}
	row("rounds", func(rounds []Round) string { return strconv.Itoa(len(rounds)) })
	row("last unit sold after, s", spread(func(r Round) float64 { return r.LastUnit }))
	row("orders sold", spread(func(r Round) float64 { return float64(r.Sold) }))
	row("p50 until half was sold, ms", spread(func(r Round) float64 { return r.Before.P50 }))
	row("p99 until half was sold, ms", spread(func(r Round) float64 { return r.Before.P99 }))
	row("p50 in the 5 s after, ms", spread(func(r Round) float64 { return r.After.P50 }))
	row("p99 in the 5 s after, ms", spread(func(r Round) float64 { return r.After.P99 }))
	row("longest in the 5 s after, ms", spread(func(r Round) float64 { return r.After.Max }))
	row("longest time without a sale, ms", spread(func(r Round) float64 { return r.LongestGap }))
	row("the same after half was sold, ms", spread(func(r Round) float64 { return r.GapAfter }))
	row("merges", spread(func(r Round) float64 { return r.Merges }))
	row("waits for locks", spread(func(r Round) float64 { return r.LockWaits }))
	row("wait for a lock, mean, ms", spread(func(r Round) float64 { return r.LockMean }))
	row("wait for a lock, p99, ms", spread(func(r Round) float64 { return r.LockP99 }))
	row("refused: sold out", sum(func(r Round) float64 { return float64(r.SoldOut) }))
	row("refused: insufficient stock", sum(func(r Round) float64 { return float64(r.Short) }))
	row("refused: overloaded", sum(func(r Round) float64 { return float64(r.Overloaded) }))
	row("refusals false for certain", sum(func(r Round) float64 { return float64(r.FalseRefusals) }))
	row("refusals undecided", sum(func(r Round) float64 { return float64(r.MaybeTrue) }))
	row("units stranded", sum(func(r Round) float64 { return float64(r.Stranded) }))
	row("generator's lag, p99, ms", spread(func(r Round) float64 { return r.LagP99 }))
	return report.Section{
		Name: "The last hundredth", Table: table, Plots: r.courses(), Targets: r.targets(),
		Notes: []string{
			"Latency counts from the moment when an order was due to the answer that said it was sold, also where it had to be asked again.",
			"A refusal is false if what it asked for was left when it came, after all sales are taken off that had been sent by then; " +
				"undecided if only after those that had been answered. Units do not come back here, so what was left then was left for longer.",
			"Refusals, stranded units: of all rounds. Merges and waits of a killed process since its last 0.2 s are missing.",
		},
	}
}

func least(all []float64) float64 {
	lowest := all[0]
	for _, value := range all {
		lowest = min(lowest, value)
	}
	return lowest
}
