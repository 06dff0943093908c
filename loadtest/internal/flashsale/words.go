package flashsale

import (
	"fmt"
	"math"
	"slices"

	"github.com/dustin/go-humanize"

	"inventory/loadtest/internal/openloop"
	"inventory/loadtest/internal/report"
)

// median is that of a figure over the rounds, with the least and the most where there are several rounds.
func (s *sale) median(figure func(*round) float64, unit string) string {
	values := s.each(figure)
	text := report.Number(middle(values)) + " " + unit
	if len(values) > 1 {
		text += fmt.Sprintf(" (median of %d rounds, %s to %s)", len(values), report.Number(slices.Min(values)), report.Number(slices.Max(values)))
	}
	return text
}

// summary is the run in sentences.
func (s *sale) summary() []string {
	lines := []string{s.soldSentence(), s.guardSentence()}
	if s.counts()[openloop.Accepted] > 0 {
		lines = append(lines, "Of those who got something 99% were answered within "+
			s.median(func(r *round) float64 { return r.quantile(openloop.Accepted, 99) }, "ms")+
			", counted from the moment their order was to be sent.")
	}
	if retried := s.retried(); retried[winner].Sent()+retried[refused].Sent() > 0 {
		lines = append(lines, s.retrySentence(retried))
	}
	return append(lines, fmt.Sprintf("Seed %d; %s.", s.Seed, s.to.Name))
}

func (s *sale) soldSentence() string {
	var units int64
	sellsOut := true
	for _, r := range s.rounds {
		units += r.account.units
		sellsOut = sellsOut && r.account.soldOut != never
	}
	all := s.Stock * int64(len(s.rounds))
	text := fmt.Sprintf("Sold %s of %s units", humanize.Comma(units), humanize.Comma(all))
	if len(s.rounds) > 1 {
		text += fmt.Sprintf(" in %d rounds", len(s.rounds))
	}
	if sellsOut {
		return text + "; sold out " + s.median((*round).sellOutSeconds, "s") + " after the sale opened."
	}
	return text + "; not sold out."
}

func (s *sale) guardSentence() string {
	var over, stranded int64
	var wrongly falsely
	for _, r := range s.rounds {
		over += r.account.oversold(s.Stock)
		stranded += r.account.stranded
		wrongly.Least += r.account.falsely.Least
		wrongly.Most += r.account.falsely.Most
	}
	name := func(units int64, what string) string {
		if units == 0 {
			return "nothing " + what
		}
		return humanize.Comma(units) + " units " + what
	}
	return fmt.Sprintf("%s, %s; false sold-outs: at least %d, at most %d.",
		upper(name(over, "oversold")), name(stranded, "stranded"), wrongly.Least, wrongly.Most)
}

func upper(text string) string {
	if text[0] >= 'a' && text[0] <= 'z' {
		return string(text[0]-'a'+'A') + text[1:]
	}
	return text
}

func (s *sale) retried() (all [standings]openloop.Counts) {
	for _, r := range s.rounds {
		for n := range all {
			all[n].Add(r.account.retried[n])
		}
	}
	return all
}

func (s *sale) retrySentence(all [standings]openloop.Counts) string {
	won, lost := all[winner], all[refused]
	var again int64
	for o, n := range lost {
		if refusal(openloop.Outcome(o)) {
			again += n
		}
	}
	return fmt.Sprintf("Of %s retries of winners %s got their order again (200); of %s retries of the refused %s were refused again, %s got something.",
		humanize.Comma(won.Sent()), humanize.Comma(won[openloop.Replayed]), humanize.Comma(lost.Sent()), humanize.Comma(again),
		humanize.Comma(lost[openloop.Accepted]))
}

// Above these the generator is said not to have kept up.
const (
	mostLag    = 50. // ms, p99 of all that was sent
	mostOwnLag = 10. // ms, p99 of what a free connection waited for
)

// warnings tell why figures may not be what they seem.
func (s *sale) warnings() (lines []string) {
	var early, late int64
	for _, r := range s.rounds {
		early += r.account.early
		late += r.account.late
		if own := r.ownLagP99(); own > mostOwnLag {
			lines = append(lines, fmt.Sprintf("round %d: the generator did not keep up: 1%% of its sends were %s ms late or more although a connection was free; "+
				"latencies have that in them, and it is not the service's", r.number+1, report.Number(own)))
		}
		if all := r.lagP99(); all > mostLag {
			lines = append(lines, fmt.Sprintf("round %d: 1%% of the sends were %s ms late or more, because all %d connections were busy; "+
				"latencies have that in them; --connections raises how much can be under way", r.number+1, report.Number(all), s.Connections))
		}
		if dropped := r.account.counts[openloop.Dropped]; dropped > 0 {
			lines = append(lines, fmt.Sprintf("round %d: %s requests were dropped: no connection was free within %v of their time, so less was sent than planned",
				r.number+1, humanize.Comma(dropped), openloop.DefaultMaxLag))
		}
	}
	if early+late > 0 {
		lines = append(lines, fmt.Sprintf("the clocks of the service and of this program differ: %d orders were accepted before the sale opened, %d turned away after it",
			early, late))
	}
	return lines
}

// figures are the few numbers that tell two runs apart: medians of the rounds, where each has that number.
func (s *sale) figures() (all []report.Figure) {
	for _, f := range []struct {
		name, unit string
		of         func(*round) float64
	}{
		{"sold", "units", func(r *round) float64 { return float64(r.account.units) }},
		{"sold out after", "s", (*round).sellOutSeconds},
		{"accepted p50", "ms", func(r *round) float64 { return r.quantile(openloop.Accepted, 50) }},
		{"accepted p99", "ms", func(r *round) float64 { return r.quantile(openloop.Accepted, 99) }},
		{"accepted p99.9", "ms", func(r *round) float64 { return r.quantile(openloop.Accepted, 99.9) }},
		{"sold out p99", "ms", func(r *round) float64 { return r.quantile(openloop.SoldOut, 99) }},
		{"lag p99", "ms", (*round).lagP99},
		{"dropped", "requests", func(r *round) float64 { return float64(r.account.counts[openloop.Dropped]) }},
		{"false sold-outs, at least", "", func(r *round) float64 { return float64(r.account.falsely.Least) }},
		{"stranded", "units", func(r *round) float64 { return float64(r.account.stranded) }},
	} {
		if value := middle(s.each(f.of)); !math.IsNaN(value) {
			all = append(all, report.Figure{Name: f.name, Unit: f.unit, Value: value})
		}
	}
	return all
}
