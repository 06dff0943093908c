package segments

import (
	"context"
	"fmt"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/worker"
)

// The contenders: three processes, one of which is stopped and continued later, as a machine that swaps would be; and two
// processes with as many callers each, for as long. The same seconds are compared.
const (
	oneStopped = "one of three stands still"
	twoAlone   = "two alone"
)

// The metrics. Refused orders had waited for too long.
const (
	before     = "before per second"
	while      = "while per second"
	after      = "after per second"
	back       = "back seconds"        // from the continuation until the stopped process sells its part again
	shareAfter = "stopped share after" // its part of the sales after that
	othersMax  = "others longest wait ms"
	taken      = "accepted"
	refused    = "refused"
)

const (
	threeProcesses = 3
	stride         = 5 * load.Step          // in which a sale is shown
	glance         = 500 * time.Millisecond // in which a process that is back sells
	itsPart        = 0.2                    // of the whole
	backLimit      = 3.                     // seconds
)

// stopping is the case, with the sales of its rounds over time.
type stopping struct {
	*shop
	courses
}

// The lines of its plot.
const (
	allThree    = "all three"
	standsStill = "the one that stands still"
	twoOthers   = "two alone, another sale"
)

// stopped compares three processes, of which one is stopped for a while, with two that are not disturbed.
func (s *shop) stopped(ctx context.Context) (experiment.Result, error) {
	c := &stopping{s, newCourses(stride)}
	ratio := func(name, metric string) experiment.Ratio {
		return experiment.Ratio{Name: name, Head: metric + " x two", Metric: metric, To: func(experiment.Result, experiment.Contender) string {
			return twoAlone
		}}
	}
	return s.play(ctx, experiment.Case{
		Contenders: []experiment.Contender{{Name: oneStopped, Ours: true, Play: c.stopOne}, {Name: twoAlone, Ours: true, Play: c.twoAlone}},
		Metrics: []experiment.Metric{
			{Name: before},
			{Name: while, Exact: true},
			{Name: after},
			{Name: back, Exact: true},
			{Name: shareAfter},
			{Name: othersMax},
			{Name: taken, Sum: true},
			{Name: refused, Sum: true},
		},
		Ratios: []experiment.Ratio{ratio("while to two processes", while), ratio("after to two processes", after)},
		Targets: []experiment.Target{
			experiment.AtLeast("while one of three stands still, in parts of two processes", experiment.Times(while, oneStopped, twoAlone), 0.9),
			experiment.AtMost("seconds until the one that stood still sells a fifth of the whole", experiment.Level(back, oneStopped), backLimit),
		},
		About: func(experiment.Result) []string { return []string{oneStopped} },
		Plots: c.plots,
	}, s.config.Scale.LongRounds, s.config.Scale.After+s.config.Scale.Still+s.config.Scale.Rest)
}

// stopOne is a window of three processes, in which the first is stopped and continued.
func (c *stopping) stopOne(ctx context.Context, window time.Duration) (experiment.Sample, error) {
	var stopped, continued time.Duration
	job := crowd.Job{Callers: c.config.Scale.Callers, Lock: c.config.Lock, Window: window, Patient: true}
	_, sales, err := c.Sell(ctx, c.config.Scale.Default, threeProcesses, job, func(all worker.All) error {
		began := time.Now()
		load.Sleep(ctx, c.config.Scale.After)
		stopped = time.Since(began)
		if err := all[0].Stop(); err != nil {
			return fmt.Errorf("stop a process: %w", err)
		}
		load.Sleep(ctx, c.config.Scale.Still)
		continued = time.Since(began)
		if err := all[0].Continue(); err != nil {
			return fmt.Errorf("continue a process: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all, one := load.Together(sales).Timeline, sales[0].Timeline
	c.sold(standsStill, one, window)
	sample := c.sample(ctx, allThree, sales, stopped, continued, window)
	sample[back] = returned(one, all, continued, window).Seconds()
	sample[shareAfter] = compare.Ratio(one.PerSecond(continued, window), all.PerSecond(continued, window))
	sample[othersMax] = compare.Milliseconds(load.Together(sales[1:]).Waits.Max())
	return sample, nil
}

// twoAlone is a window of two processes, with as many callers each as if there were a third.
func (c *stopping) twoAlone(ctx context.Context, window time.Duration) (experiment.Sample, error) {
	callers := c.config.Scale.Callers * (threeProcesses - 1) / threeProcesses
	_, sales, err := c.Sell(ctx, c.config.Scale.Default, threeProcesses-1, crowd.Job{Callers: callers, Lock: c.config.Lock, Window: window}, nil)
	if err != nil {
		return nil, err
	}
	return c.sample(ctx, twoOthers, sales, c.config.Scale.After, c.config.Scale.After+c.config.Scale.Still, window), nil
}

// sample is what some processes sold together.
func (c *stopping) sample(ctx context.Context, course string, sales []load.Sale, stopped, continued, window time.Duration) experiment.Sample {
	all := load.Together(sales)
	c.sold(course, all.Timeline, window)
	return experiment.Sample{
		before:  all.Timeline.PerSecond(0, stopped),
		while:   all.Timeline.PerSecond(stopped, continued),
		after:   all.Timeline.PerSecond(continued, window),
		taken:   float64(all.Counts[load.Accepted]),
		refused: float64(all.Counts[load.Refused]),
	}
}

// plots show which process sold when.
func (c *stopping) plots() []report.Plot {
	stopped := c.config.Scale.After.Seconds()
	return []report.Plot{{
		Name: "stopped-accepted", Title: "one of three processes stands still for a while", Kind: report.Lines,
		X: report.Axis{Label: "seconds"}, Y: report.Axis{Label: "orders a second"},
		Series: c.series(allThree, standsStill, twoOthers),
		Marks:  []report.Mark{{X: stopped, Label: "stopped", Broke: true}, {X: stopped + c.config.Scale.Still.Seconds(), Label: "continued"}},
	}}
}

// returned is how long it took from a time on until one sold its part of all; the whole rest if it never did.
func returned(one, all load.Timeline, from, to time.Duration) time.Duration {
	for at := from; at+glance <= to; at += load.Step {
		if sold := one.PerSecond(at, at+glance); sold > 0 && sold >= itsPart*all.PerSecond(at, at+glance) {
			return at - from
		}
	}
	return to - from
}
