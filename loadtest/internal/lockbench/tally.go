package lockbench

import (
	"errors"
	"math"
	"slices"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/experiment"
)

// The metrics. Those behind violations are of callers who hold.
const (
	perSecond       = "per second"
	waitP50         = "wait p50 ms"
	waitP99         = "wait p99 ms"
	waitMax         = "wait max ms"
	fairness        = "jain"
	commands        = "commands per acquisition"
	seconds         = "total seconds"
	violations      = "violations"
	idleP50         = "idle p50 ms"
	orderViolations = "order violations"
	behindAll       = "wait behind all ms" // the p99 of waits; of sleeping it is as long as all clients hold
)

// metrics are those of the report. Rounds of what must not happen are added up: one is too many.
func metrics() []experiment.Metric {
	return []experiment.Metric{
		{Name: perSecond, Exact: true},
		{Name: waitP50},
		{Name: waitP99, Exact: true},
		{Name: waitMax},
		{Name: fairness},
		{Name: commands},
		{Name: seconds},
		{Name: violations, Sum: true},
		{Name: idleP50, Exact: true},
		{Name: orderViolations, Sum: true},
	}
}

// tally is what the callers of a process got from a lock.
type tally struct {
	Counts     []int64            `json:"counts"` // acquisitions of each caller, within the window
	All        int64              `json:"all"`    // acquisitions, with those at the end of the window
	Waits      *latency.Histogram `json:"waits"`
	Elapsed    time.Duration      `json:"elapsed"` // the window, or until the last release
	Violations int64              `json:"violations"`
	Commands   int64              `json:"commands"`  // that were sent
	Idle       *float64           `json:"idle"`      // milliseconds from a release to the next grant; nil: not known
	Overtaken  int64              `json:"overtaken"` // callers who got the lock before one who had called earlier
	Error      string             `json:"error"`     // what went wrong
}

// together is what some processes did as one. Fairness is that between processes.
func together(all []tally) tally {
	if len(all) == 1 {
		return all[0]
	}
	sum := tally{Waits: latency.New()}
	for _, t := range all {
		sum.Counts = append(sum.Counts, t.within())
		sum.All, sum.Violations, sum.Commands = sum.All+t.All, sum.Violations+t.Violations, sum.Commands+t.Commands
		sum.Waits.Add(t.Waits)
		sum.Elapsed = max(sum.Elapsed, t.Elapsed)
		if t.Error != "" {
			sum.Error = t.Error
		}
	}
	return sum
}

// within counts the acquisitions of the window.
func (t tally) within() (sum int64) {
	for _, n := range t.Counts {
		sum += n
	}
	return sum
}

// sample are the metrics of a tally, and what went wrong.
func (t tally) sample() (experiment.Sample, error) {
	s := experiment.Sample{
		perSecond:  compare.Ratio(float64(t.within()), t.Elapsed.Seconds()),
		waitP50:    compare.Quantile(t.Waits, 50),
		waitP99:    compare.Quantile(t.Waits, 99),
		waitMax:    compare.Quantile(t.Waits, 100),
		fairness:   compare.Jain(t.Counts),
		commands:   compare.Ratio(float64(t.Commands), float64(t.All)),
		seconds:    t.Elapsed.Seconds(),
		violations: float64(t.Violations),
	}
	if t.Idle != nil {
		s[idleP50], s[orderViolations], s[behindAll] = *t.Idle, float64(t.Overtaken), s[waitP99]
	}
	if t.Error != "" {
		return s, errors.New(t.Error)
	}
	return s, nil
}

// idle is the median time, in milliseconds, from the start of a release to the next grant, of releases while a caller waits.
func idle(visits []visit) *float64 {
	var gaps []float64
	for i, v := range visits {
		waits := func(later visit) bool { return later.called.Before(v.releasing) }
		if after := visits[i+1:]; slices.ContainsFunc(after, waits) {
			gaps = append(gaps, compare.Milliseconds(after[0].granted.Sub(v.releasing)))
		}
	}
	median := compare.Median(gaps)
	if math.IsNaN(median) { // which JSON has no word for
		return nil
	}
	return &median
}

// simultaneous calls have no order that can be known.
const simultaneous = 2 * time.Millisecond

// overtaken counts callers that got the lock before one that had certainly called earlier.
func overtaken(visits []visit) (count int64) {
	for i, v := range visits {
		earlier := func(later visit) bool { return later.called.Before(v.called.Add(-simultaneous)) }
		if slices.ContainsFunc(visits[i+1:], earlier) {
			count++
		}
	}
	return count
}
