package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"inventory/internal/app"
	"inventory/loadtest/internal/experiment"
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
