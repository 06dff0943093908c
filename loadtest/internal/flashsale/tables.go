package flashsale

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/openloop"
	"inventory/loadtest/internal/report"
)

// phases is a row for each phase: rates are those of the rounds together, over the time of the phase.
func (s *sale) phases() report.Section {
	table := &report.Table{Columns: []string{
		"phase", "seconds", "offered", "offered/s", "sent/s", "answered/s", "accepted/s", "lag p99 ms", "dropped",
	}}
	for _, p := range spans(s.Phases) {
		table.Rows = append(table.Rows, s.phase(p))
	}
	return report.Section{Name: "Phases", Table: table, Notes: []string{
		"offered: due in the phase; sent, answered and accepted: within its time; lag and dropped: of those due in it; all rounds",
	}}
}

func (s *sale) phase(p span) []string {
	var offered, sent, answered, accepted, dropped int64
	var lags []float64
	var length time.Duration
	for _, r := range s.rounds {
		length += r.lengthOf(p)
		within := func(at time.Duration) bool { return at >= p.from && at < p.to }
		for i, reply := range r.result.Replies {
			if within(r.at[i]) && reply.Outcome != openloop.NotSent {
				offered++
				switch {
				case reply.Sent > 0:
					lags = append(lags, milliseconds(r.result.Lag(i)))
				case reply.Outcome == openloop.Dropped:
					dropped++
				}
			}
			if reply.Sent > 0 && within(reply.Sent) {
				sent++
			}
			if reply.Outcome.Answered() && within(reply.Over) {
				answered++
				if reply.Outcome == openloop.Accepted {
					accepted++
				}
			}
		}
	}
	rate := func(n int64) string { return report.Number(compare.Ratio(float64(n), length.Seconds())) }
	return []string{
		p.name, report.Number(length.Seconds()), humanize.Comma(offered), rate(offered), rate(sent), rate(answered), rate(accepted),
		report.Number(quantileOf(lags, 99)), humanize.Comma(dropped),
	}
}

// lengthOf is how much of a phase was played: the last round may have been stopped.
func (r *round) lengthOf(p span) time.Duration {
	if r.account.counts[openloop.NotSent] == 0 {
		return p.to - p.from
	}
	return max(0, min(p.to, r.result.Elapsed)-p.from)
}

// quantileOf is the least value that a share of all, in percent, does not exceed; 0 of none.
func quantileOf(values []float64, percent float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(int(percent/100*float64(len(values))), len(values)-1)]
}

// refusals tells of refusals that came too early, and of units that nobody got.
func (s *sale) refusals() report.Section {
	table := &report.Table{Columns: []string{"round", "refused for want of stock", "false, at least", "false, at most", "units left", "stranded"}}
	for _, r := range s.rounds {
		a := r.account
		table.Rows = append(table.Rows, []string{
			fmt.Sprint(r.number + 1), humanize.Comma(a.counts[openloop.SoldOut] + a.counts[openloop.InsufficientStock]),
			fmt.Sprint(a.falsely.Least), fmt.Sprint(a.falsely.Most), humanize.Comma(r.balance.Available), humanize.Comma(a.stranded),
		})
	}
	return report.Section{Name: "False sold-outs and stranded units", Table: table, Notes: []string{
		"false at least: orders that were sent only after the refusal was answered got as many units as it asked for, or nobody did",
		"false at most: orders that were answered after it did; between the two nobody outside can tell which came first",
	}}
}

// retrySection is what those got who asked again.
func (s *sale) retrySection() report.Section {
	all := s.retried()
	table := &report.Table{Columns: []string{"retries"}}
	var columns []openloop.Outcome
	for _, o := range openloop.Outcomes() {
		if all[winner][o]+all[refused][o]+all[undecided][o] > 0 {
			columns, table.Columns = append(columns, o), append(table.Columns, words(o))
		}
	}
	for n, counts := range all {
		row := []string{standing(n).String()}
		for _, o := range columns {
			row = append(row, humanize.Comma(counts[o]))
		}
		table.Rows = append(table.Rows, row)
	}
	return report.Section{Name: "What retries got", Table: table}
}

// roundSection is a row for each round, and how far apart they are.
func (s *sale) roundSection() report.Section {
	figures := []struct {
		name string
		of   func(*round) float64
	}{
		{"units sold", func(r *round) float64 { return float64(r.account.units) }},
		{"sold out after s", (*round).sellOutSeconds},
		{"accepted p50 ms", func(r *round) float64 { return r.quantile(openloop.Accepted, 50) }},
		{"accepted p99 ms", func(r *round) float64 { return r.quantile(openloop.Accepted, 99) }},
		{"accepted p99.9 ms", func(r *round) float64 { return r.quantile(openloop.Accepted, 99.9) }},
		{"sold out p99 ms", func(r *round) float64 { return r.quantile(openloop.SoldOut, 99) }},
		{"replayed p99 ms", func(r *round) float64 { return r.quantile(openloop.Replayed, 99) }},
		{"lag p99 ms", (*round).lagP99},
		{"dropped", func(r *round) float64 { return float64(r.account.counts[openloop.Dropped]) }},
	}
	table := &report.Table{Columns: []string{"round"}}
	for n := range s.rounds {
		table.Rows = append(table.Rows, []string{fmt.Sprint(n + 1)})
	}
	table.Rows = append(table.Rows, []string{"median"}, []string{"least"}, []string{"most"})
	for _, f := range figures {
		table.Columns = append(table.Columns, f.name)
		values := s.each(f.of)
		for n, value := range append(values, middle(values), slices.Min(values), slices.Max(values)) {
			table.Rows[n] = append(table.Rows[n], report.Number(value))
		}
	}
	return report.Section{Name: "Rounds", Table: table}
}

// middle is the median of values that all are numbers.
func middle(values []float64) float64 {
	if slices.ContainsFunc(values, math.IsNaN) {
		return math.NaN()
	}
	return compare.Median(values)
}

// sellOutSeconds is the time from the opening to the answer that sold the last unit; no number where units were left.
func (r *round) sellOutSeconds() float64 {
	if r.account.soldOut == never {
		return math.NaN()
	}
	return r.account.soldOut.Seconds()
}

func (r *round) lagP99() float64 {
	all, _ := r.result.Lags()
	return milliseconds(all.Quantile(99))
}

func (r *round) ownLagP99() float64 {
	_, own := r.result.Lags()
	return milliseconds(own.Quantile(99))
}

// sorted goes through a map in the order of its keys.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
