package flashsale

import (
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
)

// marks are the instants that explain what is drawn over time.
func (s *Sale) marks(r *round) (marks []report.Mark) {
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

// phases is a row for each phase: rates are those of the rounds together, over the time of the phase.
func (s *Sale) phases() report.Section {
	table := &report.Table{Columns: []string{"phase", "seconds", "offered", "offered/s", "sent/s", "answered/s", "accepted/s", "lag p99 ms", "dropped"}}
	for _, p := range spans(s.Phases) {
		var offered, sent, answered, accepted, dropped int64
		var lag []float64
		var length time.Duration
		for _, r := range s.rounds {
			length += r.lengthOf(p)
			due := r.result.Counts(p.from, p.to)
			offered, dropped = offered+due.Sent()+due[load.Dropped]+due[load.Unreached], dropped+due[load.Dropped]
			lags, _ := r.result.Lags(p.from, p.to)
			lag = append(lag, compare.Milliseconds(lags.Quantile(99)))
			within := func(at time.Duration) bool { return at >= p.from && at < p.to }
			for _, reply := range r.result.Replies {
				if reply.Sent > 0 && within(reply.Sent) {
					sent++
				}
				if reply.Outcome.Answered() && within(reply.Over) {
					answered++
					if reply.Outcome == load.Accepted {
						accepted++
					}
				}
			}
		}
		rate := func(n int64) string { return report.Number(compare.Ratio(float64(n), length.Seconds())) }
		table.Rows = append(table.Rows, []string{
			p.name, report.Number(length.Seconds()), humanize.Comma(offered), rate(offered), rate(sent), rate(answered), rate(accepted),
			report.Number(slices.Max(lag)), humanize.Comma(dropped),
		})
	}
	return report.Section{Name: "Phases", Table: table, Notes: []string{
		"offered: due in the phase; sent, answered and accepted: within its time; lag and dropped: of those due in it; all rounds, the lag of the worst",
	}}
}

// lengthOf is how much of a phase was played: the last round may have been stopped.
func (r *round) lengthOf(p span) time.Duration {
	if r.account.counts[load.NotSent] == 0 {
		return p.to - p.from
	}
	return max(0, min(p.to, r.result.Elapsed)-p.from)
}

// refusals tells of refusals that came too early, and of units that nobody got.
func (s *Sale) refusals() report.Section {
	table := &report.Table{Columns: []string{"round", "refused for want of stock", "false, at least", "false, at most", "units left", "stranded"}}
	for _, r := range s.rounds {
		a := r.account
		table.Rows = append(table.Rows, []string{
			fmt.Sprint(r.number + 1), humanize.Comma(a.counts.Of(load.SoldOut, load.InsufficientStock)),
			fmt.Sprint(a.Falsely.Least), fmt.Sprint(a.Falsely.Most), humanize.Comma(a.stock.Available), humanize.Comma(a.Stranded),
		})
	}
	return report.Section{Name: "False sold-outs and stranded units", Table: table, Notes: []string{
		"false at least: what the refusal said was not so, even if all orders that had been sent by then had been sold",
		"false at most: even if those alone that had been answered; between the two nobody outside can tell which came first",
	}}
}

// stockSection draws the stock of a round.
func (s *Sale) stockSection(r *round) report.Section {
	left := report.Series{Name: "all segments"}
	for _, sample := range r.samples {
		left.X, left.Y = append(left.X, sample.At.Seconds()), append(left.Y, sample.Left)
	}
	units, marks := report.Axis{Label: "units"}, s.marks(r)
	return report.Section{
		Name: "Stock",
		Plots: []report.Plot{
			load.Lines("stock-left", "Units left over time", units, marks, left),
			load.Lines("segments", "Units left in each segment", units, marks, load.SegmentLines(r.samples)...),
		},
		Notes: []string{fmt.Sprintf("%d readings of the SKU, one every %v; %d deductions took from several segments", len(r.samples), look, r.account.stock.Merges)},
	}
}
