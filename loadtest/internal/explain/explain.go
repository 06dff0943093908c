// Package explain measures what batches, segments, locks and processes each buy. It sells one hot SKU in all combinations: with 1 or
// 10 segments, without locks or with the service's default, by 1 or 3 processes, in batches or order by order. Other numbers of
// segments and processes, and more than two, are possible. The effect of a factor is the geometric mean of the ratios between cells
// that differ in it alone, paired within rounds (package experiment).
//
// All else is the same: callers in a closed loop inside the processes that sell, a PostgreSQL that syncs commits, a Redis, the
// garbage collection of `inventory serve`. Order by order is the service with batches of one. Each window begins with fresh
// processes, which sell for a while before it counts. Callers without an answer at its end wait for it, and their waits count in full.
package explain

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
)

// Config says where to measure, and how long.
type Config struct {
	experiment.Config
	Segments, Processes []int         // the levels of these factors
	For                 time.Duration // of all rounds, in full size; in others there is one
}

// scale is how much is measured.
type scale struct {
	callers        int // in all
	warmUp, window time.Duration
}

func scaleOf(size experiment.Size) scale {
	return map[experiment.Size]scale{
		experiment.Full:  {512, 300 * time.Millisecond, 600 * time.Millisecond},
		experiment.Quick: {512, 100 * time.Millisecond, 200 * time.Millisecond},
		experiment.Tiny:  {9, 10 * time.Millisecond, 30 * time.Millisecond},
	}[size]
}

// firstWindow is the warm-up of each cell.
const firstWindow = 100 * time.Millisecond

// shop is where all cells sell.
type shop struct {
	*servers.Servers
	service   *selling.Service // that makes the SKUs
	expected  history.Expected
	design    design
	scale     scale
	gcPercent uint64 // of the processes that sell
}

// Run measures. With an error it returns what was measured until then.
func Run(ctx context.Context, c Config) (report.Document, error) {
	needs := servers.Needs{Durable: true, Database: "explain_", Generator: "callers inside the processes that sell"}
	s := &shop{design: newDesign(c.Segments, c.Processes), scale: scaleOf(c.Size), expected: history.Expected{}}
	r, err := experiment.Compare(ctx, c.Config, "explain", needs, func(on *servers.Servers) ([]experiment.Asked, error) {
		service, err := app.Start(ctx, app.Config{
			DatabaseURL: on.DatabaseURL, RedisURL: on.RedisURL, Lock: app.LockNone, AnswerWithin: target.AnswerWithin,
		})
		if err != nil {
			return nil, fmt.Errorf("start the service: %w", err)
		}
		on.OnClose(func() error { return service.Close(context.WithoutCancel(ctx)) })
		s.Servers, s.service = on, service.Service()
		return []experiment.Asked{{Name: "cells", Ask: func(ctx context.Context) (experiment.Result, error) { return s.sell(ctx, c), nil }}}, nil
	})
	if len(r.Results) > 0 {
		r.Environment.Add("measurement", fmt.Sprintf(
			"rounds: %d of %s a cell after %s of warm-up, in an order by seed %d; %d callers in all; GOGC %d in every process that sells",
			len(r.Results[0].Rounds), s.scale.window, s.scale.warmUp, c.Seed, s.scale.callers, s.gcPercent))
		s.design.tell(&r.Document, r.Results[0], s.scale.callers)
	}
	return r.Document, err
}

// sell plays all cells, and audits what they sold, also when ctx has ended.
func (s *shop) sell(ctx context.Context, c Config) experiment.Result {
	rules := c.Rules(s.scale.window, 0)
	rules.WarmUp = min(firstWindow, s.scale.window)
	rules.Progress = func(rounds int) { c.Progress("measured: " + report.Count(rounds, "round")) }
	if c.Size == experiment.Full {
		rules.For = c.For
	}
	r := experiment.Run(ctx, s.question(), rules)
	r.SKUs, r.Wrong = s.expected.Audit(ctx, nil, func(ctx context.Context) (stock.Audit, error) { return history.AuditRows(ctx, s.DatabaseURL) })
	return r
}

// CheckLevels checks numbers that are to be compared.
func CheckLevels(numbers []int, most int) error {
	for i, n := range numbers {
		if n < 1 || n > most || slices.Contains(numbers[:i], n) {
			return fmt.Errorf("must be numbers of 1 to %d, each once", most)
		}
	}
	return nil
}

// The metrics of a cell.
const (
	throughput = "orders/s"
	median     = "p50 ms"
	slowest    = "p99 ms"
	perWrite   = "orders a write"
	unlocked   = "writes without a lock"
)

// question is the factorial as a case.
func (s *shop) question() experiment.Case {
	c := experiment.Case{Metrics: []experiment.Metric{{Name: throughput, Exact: true}, {Name: median}, {Name: slowest}, {Name: perWrite}, {Name: unlocked}}}
	for i, f := range s.design {
		c.Factors = append(c.Factors, f.name)
		for n := 1; n < len(f.levels); n++ {
			c.Comparisons = append(c.Comparisons, s.design.effect(i, n, everywhere()))
		}
	}
	for _, l := range s.design.combinations(byLock) {
		c.Comparisons = append(c.Comparisons, s.design.effect(byLock, 1, l))
	}
	for _, cell := range s.design.cells(everywhere()) {
		contender := experiment.Contender{Name: s.design.words(cell), Ours: true, Play: func(ctx context.Context, window time.Duration) (experiment.Sample, error) {
			return s.play(ctx, cell, window)
		}}
		for i, f := range s.design {
			contender.Levels = append(contender.Levels, f.levels[cell[i]].cell)
		}
		c.Contenders = append(c.Contenders, contender)
	}
	return c
}

// play sells a fresh SKU in the way of a cell.
func (s *shop) play(ctx context.Context, cell levels, window time.Duration) (experiment.Sample, error) {
	level := func(factor int) level { return s.design[factor].levels[cell[factor]] }
	segments, processes := level(bySegments).number, level(byProcesses).number
	sku := servers.NewName("hot-")
	if _, _, err := s.service.CreateSKU(ctx, stock.NewSKU{SKU: sku, Stock: stock.MaxStock, Segments: segments}); err != nil {
		return nil, fmt.Errorf("put a SKU up for sale: %w", err)
	}
	sales, err := crowd.Job{
		DatabaseURL: s.DatabaseURL, RedisURL: s.RedisURL, SKU: sku, Callers: s.scale.callers, Lock: level(byLock).cell,
		BatchLimit: []int{1, 0}[cell[byBatching]], WarmUp: s.scale.warmUp, Window: window,
	}.Share(ctx, processes)
	if err != nil {
		s.expected.Add(sku, 0, stock.MaxStock) // without a report, any number may be sold
		return nil, err
	}
	all := load.Together(sales)
	s.expected.Add(sku, all.Counts[load.Accepted], all.Unanswered)
	s.gcPercent = all.GCPercent
	return experiment.Sample{
		throughput: float64(all.InTime) / all.Window.Seconds(),
		median:     report.Quantile(all.Waits, 50),
		slowest:    report.Quantile(all.Waits, 99),
		perWrite:   report.Ratio(float64(all.Lanes.Orders), float64(all.Lanes.Batches)),
		unlocked:   report.Ratio(float64(all.Lanes.Unlocked), float64(all.Lanes.Batches)),
	}, nil
}

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
	name   string // in comparison with the first level
	advice
}

// advice is what to do where a level sells more than the first one, less, or about as much.
type advice struct{ more, less, same string }

// design has all factors.
type design [factorCount]factor

// newDesign has these numbers of segments and processes.
func newDesign(segments, processes []int) design {
	const survive = "add processes to survive the loss of one, not for speed"
	return design{
		bySegments: {"segments", counts(segments, "segment", advice{"split a SKU for which orders queue", "keep a SKU whole", "leave a SKU as it is"})},
		byLock: {"lock", []level{{cell: app.LockNone, words: "no lock"}, {cell: app.LockReentrant, words: "a lock", name: "locks, not none", advice: advice{
			"leave them on", "turn them off (--lock none): rows guard the stock", "on or off (--lock none), as you like: rows guard the stock",
		}}}},
		byProcesses: {"processes", counts(processes, "process", advice{"add processes for speed, and to survive the loss of one", survive, survive})},
		byBatching: {"batching", []level{{cell: "off", words: "order by order"}, {cell: "on", words: "in batches", name: "batches, not order by order", advice: advice{
			"leave them on", "write orders one by one", "leave them on: they cost nothing",
		}}}},
	}
}

// counts are levels of so many things.
func counts(numbers []int, thing string, a advice) (all []level) {
	for _, n := range numbers {
		words := report.Count(n, thing)
		all = append(all, level{n, strconv.Itoa(n), words, fmt.Sprintf("%s, not %d", words, numbers[0]), a})
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
func (d design) combinations(but int) (all []levels) {
	for _, cell := range d.cells(everywhere().with(but, 0)) {
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

// effect asks what a level of a factor sells in parts of the first one, in a group of cells.
func (d design) effect(factor, level int, within levels) experiment.Ask {
	return func(r experiment.Result) experiment.Estimate {
		return r.Ratio(throughput, d.pairs(factor, level, within)...)
	}
}

// pairs are the cells with a level of a factor, each with the one that has the first level.
func (d design) pairs(factor, level int, within levels) (all []experiment.Pair) {
	for _, cell := range d.cells(within.with(factor, 0)) {
		all = append(all, experiment.Pair{d.words(cell.with(factor, level)), d.words(cell)})
	}
	return all
}

// finding is what a factor buys.
type finding struct {
	level
	Factor string              // with its level, if it has more than two
	Ratio  experiment.Estimate // over all cells
	Cases  []findingAt         // the least first
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
			found := finding{level: f.levels[n], Factor: f.name, Ratio: d.effect(i, n, everywhere())(r)}
			if len(f.levels) > 2 {
				found.Factor += ", " + f.levels[n].cell
			}
			for _, l := range d.combinations(i) {
				found.Cases = append(found.Cases, findingAt{d.words(l), d.effect(i, n, l)(r)})
			}
			slices.SortFunc(found.Cases, func(a, b findingAt) int { return cmp.Compare(a.Ratio.Value, b.Ratio.Value) })
			all = append(all, found)
		}
	}
	slices.SortStableFunc(all, func(a, b finding) int { return cmp.Compare(b.Ratio.Value, a.Ratio.Value) })
	return all
}

// tell adds the findings to a report, before its table of cells.
func (d design) tell(to *report.Document, r experiment.Result, callers int) {
	rounds := report.Count(len(r.Rounds), "round")
	switch first := d.effect(byLock, 1, everywhere())(r); {
	case !first.Known():
		to.Warnings = append(slices.Clone(to.Warnings), rounds+": too few rounds to say what is certain; --for says how long to go on")
	case !r.Narrow:
		to.Warnings = append(slices.Clone(to.Warnings), fmt.Sprintf("after %s not all intervals are as narrow as %.0f %%: --for says how long to go on",
			rounds, 100*(experiment.Narrow-1)))
	}
	none, all := everywhere(), everywhere()
	for i, f := range d {
		none[i], all[i] = 0, len(f.levels)-1
	}
	sells := func(cell levels) string {
		return fmt.Sprintf("%s orders a second with %s", report.Number(r.Of(d.words(cell), throughput).Value), d.words(cell))
	}
	absolute := fmt.Sprintf("from %s to %s; PostgreSQL, Redis, the service and %s share %s", sells(none), sells(all),
		report.Count(callers, "caller"), report.Count(runtime.NumCPU(), "processor"))
	cells := &to.Sections[0]
	cells.Plots = nil // of sixteen setups, whose differences the first section draws
	cells.Notes = append(cells.Notes, "figures are means of the rounds; in brackets the interval that holds the true one with 95 % certainty")
	to.Sections = append(effects(d.find(r), absolute), to.Sections...)
}

// effects have a row and a dot for each finding, and then a row for each combination with the other factors.
func effects(findings []finding, absolute string) []report.Section {
	brief := &report.Table{Columns: []string{"with", "orders a second", "range over setups", "so"}}
	all := &report.Table{Columns: []string{"factor", "with", "times the orders"}}
	dots := report.Series{}
	plot := report.Plot{
		Name: "effects", Title: "Times the orders a second: a dot for the mean of all setups, whiskers from the least to the most", Kind: report.Dots,
		Y: report.Axis{Label: "times the orders a second", Log: true}, Marks: []report.Mark{{X: 1}},
	}
	for _, f := range findings {
		least, most := f.Cases[0].Ratio.Value, f.Cases[len(f.Cases)-1].Ratio.Value
		brief.Rows = append(brief.Rows, []string{f.name, times(f.Ratio.Value), times(least) + " to " + times(most), f.so()})
		all.Rows = append(all.Rows, []string{f.Factor, "all combinations", f.Ratio.String()})
		for _, c := range f.Cases {
			all.Rows = append(all.Rows, []string{"", c.With, c.Ratio.String()})
		}
		plot.Categories, dots.Y = append(plot.Categories, f.name), append(dots.Y, f.Ratio.Value)
		dots.Low, dots.High = append(dots.Low, least), append(dots.High, most)
	}
	plot.Series = []report.Series{dots}
	return []report.Section{
		{Name: "what each buys", Table: brief, Plots: []report.Plot{plot}, Notes: []string{absolute}},
		{Name: "each with the others", Table: all, Detail: true},
	}
}

func times(ratio float64) string { return "× " + report.Number(ratio) }

// so is what to do about a finding.
func (f finding) so() string {
	switch {
	case !f.Ratio.Known():
		return "too few rounds"
	case f.Ratio.Low > experiment.Narrow:
		return f.more
	case f.Ratio.High < 1/experiment.Narrow:
		return f.less
	}
	return f.same
}
