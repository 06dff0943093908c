package explain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/app"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/load"
)

// Config says where to measure, and how long. Its worker does crowd.Work.
type Config struct {
	experiment.Config
	Scale   Scale
	OnRound func(rounds int) // is called after each round
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
	scale     Scale
	gcPercent uint64 // of the processes that sell
}

// Run measures. With an error it returns what was measured until then.
func Run(ctx context.Context, c Config) (result Result, err error) {
	on, err := crowd.OpenShop(ctx, c.URLs, c.Worker, "explain_", app.Config{Lock: app.LockNone})
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	s := &shop{Shop: on, scale: c.Scale}
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

// Result is the result of a run, as one case.
type Result struct{ experiment.Report }

func (r Result) measured() experiment.Result {
	if len(r.Results) == 0 {
		return experiment.Result{Case: (&shop{}).question()}
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
	for i, f := range factors() {
		c.Factors = append(c.Factors, f.name)
		c.Comparisons = append(c.Comparisons, effect(i, everywhere()))
	}
	for _, l := range everywhere().combinations(byLock) {
		c.Comparisons = append(c.Comparisons, effect(byLock, l))
	}
	for _, cell := range everywhere().cells() {
		contender := experiment.Contender{Name: cell.String(), Ours: true, Play: func(ctx context.Context, window time.Duration) (experiment.Sample, error) {
			return s.play(ctx, cell, window)
		}}
		for i, f := range factors() {
			contender.Levels = append(contender.Levels, f.cells[cell[i]])
		}
		c.Contenders = append(c.Contenders, contender)
	}
	return c
}

// play sells a fresh SKU in the way of a cell.
func (s *shop) play(ctx context.Context, cell levels, window time.Duration) (experiment.Sample, error) {
	segments, processes := []int{1, 10}[cell[bySegments]], []int{1, 3}[cell[byProcesses]]
	_, sales, err := s.Sell(ctx, segments, processes, crowd.Job{
		Callers: s.scale.Callers, Lock: factors()[byLock].cells[cell[byLock]], BatchLimit: []int{1, 0}[cell[byBatching]], Workers: segments,
		WarmUp: s.scale.WarmUp, Window: window, Patient: true,
	}, nil)
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
