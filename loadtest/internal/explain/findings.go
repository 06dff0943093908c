package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
)

// finding is what a factor buys.
type finding struct {
	Factor string              `json:"factor"` // with its level, if it has more than two
	Ratio  experiment.Estimate `json:"ratio"`  // over all cells
	Cases  []findingAt         `json:"combinations"`
	doing  string
}

// findingAt is what a factor buys with one combination of the others.
type findingAt struct {
	With  string              `json:"with"`
	Ratio experiment.Estimate `json:"ratio"`
}

// find has what each level of each factor buys, the most first.
func (d design) find(r experiment.Result) (all []finding) {
	for i, f := range d {
		for n := 1; n < len(f.levels); n++ {
			found := finding{Factor: f.name, doing: f.levels[n].doing, Ratio: r.Compare(d.effect(i, n, everywhere()))}
			if len(f.levels) > 2 {
				found.Factor += ", " + f.levels[n].cell
			}
			for _, l := range d.combinations(everywhere(), i) {
				found.Cases = append(found.Cases, findingAt{d.words(l), r.Compare(d.effect(i, n, l))})
			}
			slices.SortFunc(found.Cases, func(a, b findingAt) int { return cmp.Compare(a.Ratio.Value, b.Ratio.Value) })
			all = append(all, found)
		}
	}
	slices.SortStableFunc(all, func(a, b finding) int { return cmp.Compare(b.Ratio.Value, a.Ratio.Value) })
	return all
}

// sentences are the findings in words.
func (d design) sentences(r experiment.Result) (all []string) {
	for i, f := range d.find(r) {
		all = append(all, f.sentence(i == 0))
	}
	return append(all, d.lockSentence(r))
}

// sentence is the finding in words.
func (f finding) sentence(first bool) string {
	var text string
	switch buys := capital(f.doing) + " buys"; {
	case f.Ratio.Above(1) && first:
		text = buys + " most:"
	case f.Ratio.Above(1):
		text = buys
	case f.Ratio.Below(1):
		text = capital(f.doing) + " costs more than it brings:"
	default:
		text = "Whether " + f.doing + " buys anything is undecided:"
	}
	least, most := f.Cases[0], f.Cases[len(f.Cases)-1]
	return fmt.Sprintf("%s %s the orders a second; from %s with %s to %s with %s.",
		text, times(f.Ratio), times(least.Ratio), least.With, times(most.Ratio), most.With)
}

// lockSentence says when a lock costs more than it brings.
func (d design) lockSentence(r experiment.Result) string {
	var costs, brings, open []levels
	for _, l := range d.combinations(everywhere(), byLock) {
		switch e := r.Compare(d.effect(byLock, 1, l)); {
		case e.Below(1):
			costs = append(costs, l)
		case e.Above(1):
			brings = append(brings, l)
		default:
			open = append(open, l)
		}
	}
	if len(costs)+len(brings) == 0 {
		return "Whether a lock costs more than it brings is undecided " + d.inGroups(r, open) + "."
	}
	text := fmt.Sprintf("A lock costs more than it brings %s; it brings more than it costs %s", d.inGroups(r, costs), d.inGroups(r, brings))
	if len(open) > 0 {
		text += "; neither is certain " + d.inGroups(r, open)
	}
	return text + "."
}

// inGroups are combinations in groups, with what a lock buys in each.
func (d design) inGroups(r experiment.Result, some []levels) string {
	var parts []string
	for _, group := range d.cover(some, byLock) {
		parts = append(parts, fmt.Sprintf("with %s: %s", d.words(group), times(r.Compare(d.effect(byLock, 1, group)))))
	}
	if len(parts) == 0 {
		return "nowhere"
	}
	return strings.Join(parts, ", and ")
}

// times is a ratio with its interval.
func times(e experiment.Estimate) string {
	return report.Number(e.Value) + " times" + e.Interval()
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
