package explain

import (
	"slices"
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

// anyLevel stands for both levels of a factor.
const anyLevel = -1

// factor is a property of the service with two levels.
type factor struct {
	name  string
	doing string    // what the second level does
	cells [2]string // the levels in a table
	words [2]string // and in a sentence
}

func factors() [factorCount]factor {
	return [factorCount]factor{
		bySegments:  {"segments", "splitting the SKU into 10 segments", [2]string{"1", "10"}, [2]string{"1 segment", "10 segments"}},
		byLock:      {"lock", "locking the segments", [2]string{app.LockNone, app.LockReentrant}, [2]string{"no lock", "a lock"}},
		byProcesses: {"processes", "selling by 3 processes instead of 1", [2]string{"1", "3"}, [2]string{"1 process", "3 processes"}},
		byBatching:  {"batching", "writing orders in batches", [2]string{"off", "on"}, [2]string{"order by order", "in batches"}},
	}
}

// levels are those of all factors, 0 or 1. Of a group of cells, anyLevel is both.
type levels [factorCount]int

// everywhere are all cells.
func everywhere() levels { return levels{anyLevel, anyLevel, anyLevel, anyLevel} }

// cells are all combinations in a group.
func (l levels) cells() []levels {
	at := slices.Index(l[:], anyLevel)
	if at < 0 {
		return []levels{l}
	}
	return append(l.with(at, 0).cells(), l.with(at, 1).cells()...)
}

// combinations are those of all factors but one, which may be either.
func (l levels) combinations(but int) (all []levels) {
	for _, cell := range l.with(but, 0).cells() {
		all = append(all, cell.with(but, anyLevel))
	}
	return all
}

// with is the group with another level of one factor.
func (l levels) with(factor, level int) levels {
	l[factor] = level
	return l
}

// String are the fixed levels in words.
func (l levels) String() string {
	var words []string
	for i, f := range factors() {
		if l[i] != anyLevel {
			words = append(words, f.words[l[i]])
		}
	}
	if len(words) == 0 {
		return "whatever else"
	}
	return strings.Join(words, ", ")
}

// effect compares the levels of a factor in a group of cells.
func effect(factor int, within levels) experiment.Comparison {
	c := experiment.Comparison{Name: factors()[factor].name + ", " + within.String(), Metric: throughput}
	for _, cell := range within.with(factor, 0).cells() {
		c.Pairs = append(c.Pairs, experiment.Pair{cell.with(factor, 1).String(), cell.String()})
	}
	return c
}

// cover divides some combinations of all factors but one into few groups, which hold no others.
func cover(some []levels, but int) (groups []levels) {
	left := slices.Clone(some)
	for len(left) > 0 {
		best := left[0]
		for _, group := range groupsAround(left[0]) {
			all := group.combinations(but)
			others := slices.ContainsFunc(all, func(l levels) bool { return !slices.Contains(some, l) })
			if !others && len(all) > len(best.combinations(but)) {
				best = group
			}
		}
		groups = append(groups, best)
		left = slices.DeleteFunc(left, func(l levels) bool { return slices.Contains(best.combinations(but), l) })
	}
	return groups
}

// groupsAround are all groups that hold a combination.
func groupsAround(l levels) []levels {
	groups := []levels{l}
	for factor := range l {
		for _, g := range slices.Clone(groups) {
			if g[factor] != anyLevel {
				groups = append(groups, g.with(factor, anyLevel))
			}
		}
	}
	return groups
}
