package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"inventory/internal/app"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/load"
)

// Config says where to measure, and how long.
type Config struct {
	experiment.Config
	Scale               Scale
	Segments, Processes []int            // the levels of these factors; none: 1 and 10, and 1 and 3
	OnRound             func(rounds int) // is called after each round
}

// Scale is the size of a run.
type Scale struct {
	Callers        int // in all
	WarmUp, Window time.Duration
	For            time.Duration // of all rounds
}

// Full is the scale of published figures.
func Full() Scale {
	return Scale{Callers: 512, WarmUp: 300 * time.Millisecond, Window: 600 * time.Millisecond, For: 3 * time.Minute}
}

// Tiny is the scale of tests.
func Tiny() Scale {
	return Scale{Callers: 9, WarmUp: 10 * time.Millisecond, Window: 30 * time.Millisecond}
}

// firstWindow is the warm-up of each cell.
const firstWindow = 100 * time.Millisecond

// shop is what all cells have in common.
type shop struct {
	*crowd.Shop
	design    design
	scale     Scale
	gcPercent uint64 // of the processes that sell
}

// Run measures. With an error it returns what was measured until then.
func Run(ctx context.Context, c Config) (result Result, err error) {
	on, err := crowd.OpenShop(ctx, c.URLs, "explain_", app.Config{Lock: app.LockNone})
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	s := &shop{Shop: on, design: c.design(), scale: c.Scale}
	result.design = s.design
	result.Report = c.Begin("explain", on.Servers)
	err = result.Ask(ctx, c.Config, []experiment.Asked{{Name: "cells", Ask: func(ctx context.Context) (experiment.Result, error) {
		rules := c.Rules(c.Scale.Window, 0)
		rules.WarmUp, rules.For, rules.Progress = min(firstWindow, c.Scale.Window), c.Scale.For, c.OnRound
		return experiment.Run(ctx, s.question(), rules), nil
	}}})
	result.Environment.Measurement = append(result.Environment.Measurement, fmt.Sprintf(
		"rounds: %d of %s a cell after %s of warm-up, in an order by seed %d; %d callers in all; GOGC %d in every process that sells",
		len(result.measured().Rounds), c.Scale.Window, c.Scale.WarmUp, c.Seed, c.Scale.Callers, s.gcPercent))
	audit, wrong := on.Audit(ctx)
	result.SKUs, result.Wrong = len(audit.SKUs), wrong
	return result, err
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

// design has the levels of the configuration.
func (c Config) design() design {
	segments, processes := c.Segments, c.Processes
	if len(segments) == 0 {
		segments = []int{1, 10}
	}
	if len(processes) == 0 {
		processes = []int{1, 3}
	}
	return newDesign(segments, processes)
}

// Result is the result of a run, as one case.
type Result struct {
	experiment.Report
	design design
}

func (r Result) measured() experiment.Result {
	if len(r.Results) == 0 {
		return experiment.Result{Case: (&shop{design: r.design}).question()}
	}
	return r.Results[0]
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
	for _, l := range s.design.combinations(everywhere(), byLock) {
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
	_, sales, err := s.Sell(ctx, segments, processes, crowd.Job{
		Callers: s.scale.Callers, Lock: level(byLock).cell, BatchLimit: []int{1, 0}[cell[byBatching]],
		WarmUp: s.scale.WarmUp, Window: window, Patient: true,
	})
	if err != nil {
		return nil, err
	}
	all := load.Together(sales)
	s.gcPercent = all.GCPercent
	return experiment.Sample{
		throughput: float64(all.InTime) / all.Window.Seconds(),
		median:     compare.Quantile(all.Waits, 50),
		slowest:    compare.Quantile(all.Waits, 99),
		perWrite:   compare.Ratio(float64(all.Lanes.Orders), float64(all.Lanes.Batches)),
		unlocked:   compare.Ratio(float64(all.Lanes.Unlocked), float64(all.Lanes.Batches)),
	}, nil
}
