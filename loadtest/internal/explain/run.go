// Package explain measures what batches, segments, locks and processes each buy. It sells one hot SKU in all combinations: with 1 or
// 10 segments, without locks or with the service's default, by 1 or 3 processes, in batches or order by order. Other numbers of
// segments and processes, and more than two, are possible. What a factor buys is the geometric mean of the ratios between cells
// that differ in it alone, paired within rounds (package experiment).
//
// All else is the same: callers in a closed loop inside the processes that sell, a PostgreSQL that syncs commits, a Redis, the
// garbage collection of `inventory serve`. Order by order is the service with batches of one. Each window begins with fresh
// processes, which sell for a while before it counts. Callers without an answer at its end wait for it, and their waits count in full.
package explain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
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
		service, err := app.Start(ctx, app.Config{DatabaseURL: on.DatabaseURL, RedisURL: on.RedisURL, Lock: app.LockNone})
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
		median:     compare.Quantile(all.Waits, 50),
		slowest:    compare.Quantile(all.Waits, 99),
		perWrite:   compare.Ratio(float64(all.Lanes.Orders), float64(all.Lanes.Batches)),
		unlocked:   compare.Ratio(float64(all.Lanes.Unlocked), float64(all.Lanes.Batches)),
	}, nil
}
