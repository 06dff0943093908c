package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"inventory/internal/app"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
)

// The factors, by their places.
const (
	bySegments = iota
	byLock
	byProcesses
	byBatching
	factorCount
)

// anyLevel stands for all levels of a factor.
const anyLevel = -1

// factor is a property of the service with some levels, of which the first is compared with the others.
type factor struct {
	name   string
	levels []level
}

// level is one of a factor.
type level struct {
	number int    // of segments or processes
	cell   string // in a table
	words  string // in a sentence
	doing  string // what it does in comparison with the first level
}

// design has all factors.
type design [factorCount]factor

// newDesign has these numbers of segments and processes.
func newDesign(segments, processes []int) design {
	return design{
		bySegments: {"segments", counts(segments, "segment", "segments", "splitting the SKU into %s")},
		byLock: {"lock", []level{
			{cell: app.LockNone, words: "no lock"}, {cell: app.LockReentrant, words: "a lock", doing: "locking the segments"},
		}},
		byProcesses: {"processes", counts(processes, "process", "processes", "selling by %s")},
		byBatching: {"batching", []level{
			{cell: "off", words: "order by order"}, {cell: "on", words: "in batches", doing: "writing orders in batches"},
		}},
	}
}

// counts are levels of so many things.
func counts(numbers []int, one, several, doing string) (all []level) {
	for _, n := range numbers {
		words := fmt.Sprintf("%d %s", n, several)
		if n == 1 {
			words = "1 " + one
		}
		all = append(all, level{n, strconv.Itoa(n), words, fmt.Sprintf(doing+" instead of %d", words, numbers[0])})
	}
	return all
}

// levels are those of all factors, by their places. Of a group of cells, anyLevel is all of a factor.
type levels [factorCount]int

// everywhere are all cells.
func everywhere() levels { return levels{anyLevel, anyLevel, anyLevel, anyLevel} }

// with is the group with another level of one factor.
func (l levels) with(factor, level int) levels {
	l[factor] = level
	return l
}

// cells are all combinations in a group.
func (d design) cells(group levels) (all []levels) {
	at := slices.Index(group[:], anyLevel)
	if at < 0 {
		return []levels{group}
	}
	for i := range d[at].levels {
		all = append(all, d.cells(group.with(at, i))...)
	}
	return all
}

// combinations are those of all factors but one, which may have any level.
func (d design) combinations(group levels, but int) (all []levels) {
	for _, cell := range d.cells(group.with(but, 0)) {
		all = append(all, cell.with(but, anyLevel))
	}
	return all
}

// words are the fixed levels. A factor with one level is not told.
func (d design) words(l levels) string {
	var words []string
	for i, f := range d {
		if l[i] != anyLevel && len(f.levels) > 1 {
			words = append(words, f.levels[l[i]].words)
		}
	}
	if len(words) == 0 {
		return "whatever else"
	}
	return strings.Join(words, ", ")
}

// effect compares a level of a factor with the first one in a group of cells.
func (d design) effect(factor, level int, within levels) experiment.Comparison {
	c := experiment.Comparison{Metric: throughput}
	for _, cell := range d.cells(within.with(factor, 0)) {
		c.Pairs = append(c.Pairs, experiment.Pair{d.words(cell.with(factor, level)), d.words(cell)})
	}
	return c
}

// finding is what a factor buys.
type finding struct {
	Factor string              // with its level, if it has more than two
	Ratio  experiment.Estimate // over all cells
	Cases  []findingAt
	doing  string
}

// findingAt is what a factor buys with one combination of the others.
type findingAt struct {
	With  string
	Ratio experiment.Estimate
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

// tell adds the findings to a report, before its table of cells.
func (d design) tell(to *report.Document, r experiment.Result) {
	to.Summary = d.sentences(r)
	if !r.Narrow {
		to.Warnings = append(slices.Clone(to.Warnings), fmt.Sprintf("after %d rounds not all intervals are as narrow as %.0f %%: --for says how long to go on",
			len(r.Rounds), 100*(experiment.Narrow-1)))
	}
	cells := &to.Sections[0]
	cells.Notes = append(cells.Notes, "figures are means of the rounds; in brackets the interval that holds the true one with 95 % certainty")
	to.Sections = append(effects(d.find(r)), to.Sections...)
}

// effects have a row and a bar for each finding, and then a row for each combination with the other factors.
func effects(findings []finding) []report.Section {
	brief := &report.Table{Columns: []string{"factor", "over all combinations", "least", "with", "most", "with"}}
	all := &report.Table{Columns: []string{"factor", "with", "times the orders"}}
	plot := report.Plot{Name: "effects", Title: "what each buys, over all combinations", Kind: report.Bars, Y: report.Axis{Label: "times the orders a second"}}
	bars := report.Series{}
	for _, f := range findings {
		least, most := f.Cases[0], f.Cases[len(f.Cases)-1]
		brief.Rows = append(brief.Rows, []string{f.Factor, f.Ratio.String(), least.Ratio.String(), least.With, most.Ratio.String(), most.With})
		all.Rows = append(all.Rows, []string{f.Factor, "all combinations", f.Ratio.String()})
		for _, c := range f.Cases {
			all.Rows = append(all.Rows, []string{"", c.With, c.Ratio.String()})
		}
		plot.Categories, bars.Y = append(plot.Categories, f.Factor), append(bars.Y, f.Ratio.Value)
	}
	plot.Series = []report.Series{bars}
	return []report.Section{
		{Name: "what each buys, in times the orders a second", Table: brief, Plots: []report.Plot{plot}},
		{Name: "each with the others", Table: all},
	}
}

// sentences are the findings in words.
func (d design) sentences(r experiment.Result) (all []string) {
	var aboutLock string
	for i, f := range d.find(r) {
		all = append(all, f.sentence(i == 0))
		if f.Factor == d[byLock].name {
			aboutLock = f.lockSentence()
		}
	}
	return append(all, aboutLock)
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
func (f finding) lockSentence() string {
	worst, best := f.Cases[0], f.Cases[len(f.Cases)-1]
	costs, brings := 0, 0
	for _, c := range f.Cases {
		if c.Ratio.Below(1) {
			costs++
		}
		if c.Ratio.Above(1) {
			brings++
		}
	}
	where := func(n int, most findingAt) string {
		if n == 0 {
			return "in none"
		}
		return fmt.Sprintf("in %d, most with %s: %s", n, most.With, times(most.Ratio))
	}
	return fmt.Sprintf("Of %d combinations of the others, a lock costs more than it brings %s; it brings more than it costs %s; undecided are %d.",
		len(f.Cases), where(costs, worst), where(brings, best), len(f.Cases)-costs-brings)
}

// times is a ratio with its interval.
func times(e experiment.Estimate) string {
	return report.Number(e.Value) + " times" + e.Interval()
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
