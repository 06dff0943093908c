package explain

import (
	"context"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/load"
)

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
	experiment.Keep(ctx, all.Waits)
	return experiment.Sample{
		throughput: float64(all.InTime) / all.Window.Seconds(),
		median:     compare.Quantile(all.Waits, 50),
		slowest:    compare.Quantile(all.Waits, 99),
		perWrite:   compare.Ratio(float64(all.Lanes.Orders), float64(all.Lanes.Batches)),
		unlocked:   compare.Ratio(float64(all.Lanes.Unlocked), float64(all.Lanes.Batches)),
	}, nil
}
