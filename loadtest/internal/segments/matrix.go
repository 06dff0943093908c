package segments

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/load"
)

// The metrics of the matrix.
const (
	accepted   = "accepted per second"
	p50        = "p50 ms"
	p99        = "p99 ms"
	leastShare = "least share" // of the process that sold least
	jain       = "jain"        // of the processes
	merges     = "merges"      // orders that took from several segments
	perBatch   = "orders per batch"
	lockShare  = "lock wait share" // of the workers' time
	lockMean   = "lock wait mean ms"
	unlocked   = "unlocked share" // of batches, written under the guard alone
)

// matrix lets all numbers of processes sell all numbers of segments.
func (s *shop) matrix(ctx context.Context) (experiment.Result, error) {
	return s.play(ctx, matrixOf(s.config.Scale, s.sell), s.config.Scale.Rounds, s.config.Scale.Window)
}

// seller sells by that many processes from that many segments.
type seller func(ctx context.Context, name string, segments, processes int, window time.Duration) (experiment.Sample, error)

// matrixOf is the case.
func matrixOf(scale Scale, sell seller) experiment.Case {
	c := experiment.Case{
		Factors: []string{"segments", "processes"}, Over: true,
		Metrics: []experiment.Metric{
			{Name: accepted, Exact: true},
			{Name: p50},
			{Name: p99, Exact: true},
			{Name: leastShare},
			{Name: jain},
			{Name: merges, Sum: true},
			{Name: perBatch},
			{Name: lockShare},
			{Name: lockMean},
			{Name: unlocked},
		},
		Ratios: []experiment.Ratio{
			{Name: "ratio to one process", Head: "x 1 process", Metric: accepted, To: func(_ experiment.Result, c experiment.Contender) string {
				return named(c.Levels[0], "1")
			}},
			{Name: "ratio to one segment", Head: "x 1 segment", Metric: accepted, To: func(_ experiment.Result, c experiment.Contender) string {
				return named("1", c.Levels[1])
			}},
		},
		About: func(r experiment.Result) (best []string) { // the one that sold most, for each number of processes
			for _, processes := range scale.Processes {
				best = append(best, r.Most(accepted, func(name string) bool {
					return strings.HasSuffix(name, ", "+counted(strconv.Itoa(processes), "process"))
				}))
			}
			return best
		},
	}
	for _, segments := range scale.Segments {
		for _, processes := range scale.Processes {
			levels := []string{strconv.Itoa(segments), strconv.Itoa(processes)}
			name := named(levels[0], levels[1])
			c.Contenders = append(c.Contenders, experiment.Contender{
				Name: name, Levels: levels, Ours: true,
				Play: func(ctx context.Context, window time.Duration) (experiment.Sample, error) {
					return sell(ctx, name, segments, processes, window)
				},
			})
		}
	}
	return c
}

// named is the name of that many processes on that many segments.
func named(segments, processes string) string {
	return counted(segments, "segment") + ", " + counted(processes, "process")
}

func counted(n, one string) string {
	switch {
	case n == "1":
		return "1 " + one
	case one == "process":
		return n + " processes"
	}
	return n + " " + one + "s"
}

// sell is a seller.
func (s *shop) sell(ctx context.Context, name string, segments, processes int, window time.Duration) (experiment.Sample, error) {
	sku, sales, err := s.Sell(ctx, segments, processes, crowd.Job{
		Callers: s.config.Scale.Callers, Lock: s.config.Lock, WarmUp: s.config.Scale.WarmUp, Window: window,
	}, nil)
	if err != nil {
		return nil, err
	}
	s.skus[name] = append(s.skus[name], sku)
	return sampleOf(sales), nil
}

// sampleOf is what some processes sold.
func sampleOf(sales []load.Sale) experiment.Sample {
	all := load.Together(sales)
	var each []int64
	for _, s := range sales {
		each = append(each, s.Counts[load.Accepted])
	}
	lanes := all.Lanes
	return experiment.Sample{
		accepted:   float64(all.InTime) / all.Window.Seconds(),
		p50:        compare.Quantile(all.Waits, 50),
		p99:        compare.Quantile(all.Waits, 99),
		leastShare: compare.Ratio(float64(slices.Min(each)), float64(all.Counts[load.Accepted])),
		jain:       compare.Jain(each),
		perBatch:   compare.Ratio(float64(lanes.Orders), float64(lanes.Batches)),
		lockShare:  compare.Ratio(lanes.LockSeconds, all.Took.Seconds()*float64(len(sales))),
		lockMean:   1000 * compare.Ratio(lanes.LockSeconds, float64(lanes.LockWaits)),
		unlocked:   compare.Ratio(float64(lanes.Unlocked), float64(lanes.Batches)),
	}
}
