package lockbench

import (
	"slices"
	"strings"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
)

// The metrics that every contender of every case has.
const (
	PerSecond  = "per second"
	WaitP50    = "wait p50 ms"
	WaitP99    = "wait p99 ms"
	WaitMax    = "wait max ms"
	Fairness   = "jain"
	Commands   = "commands per acquisition"
	Seconds    = "total seconds"
	Violations = "violations"
)

// The metrics of some cases.
const (
	IdleP50         = "idle p50 ms"
	OrderViolations = "order violations"
)

// metrics are those of all cases. Rounds of what must not happen are added up: one is too many.
func metrics() []experiment.Metric {
	return []experiment.Metric{
		{Name: PerSecond, Exact: true},
		{Name: WaitP50},
		{Name: WaitP99, Exact: true, Log: true},
		{Name: WaitMax},
		{Name: Fairness},
		{Name: Commands},
		{Name: Seconds},
		{Name: Violations, Sum: true},
		{Name: IdleP50, Exact: true},
		{Name: OrderViolations, Sum: true},
	}
}

// within counts the acquisitions of the window.
func (t *tally) within() (sum int64) {
	for _, n := range t.Counts {
		sum += n
	}
	return sum
}

// figures are those of a tally.
func (t *tally) figures() experiment.Sample {
	return experiment.Sample{
		PerSecond:  compare.Ratio(float64(t.within()), t.Elapsed.Seconds()),
		WaitP50:    compare.Quantile(t.Waits, 50),
		WaitP99:    compare.Quantile(t.Waits, 99),
		WaitMax:    compare.Quantile(t.Waits, 100),
		Fairness:   compare.Jain(t.Counts),
		Commands:   compare.Ratio(float64(t.Commands), float64(t.All)),
		Seconds:    t.Elapsed.Seconds(),
		Violations: float64(t.Violations),
	}
}

// fastest is how many times as often as the fastest peer a contender locks.
func fastest() experiment.Ratio {
	return experiment.Ratio{Name: "ratio to best peer", Head: "x best peer", Metric: PerSecond, To: func(r experiment.Result, _ experiment.Contender) string {
		return r.Most(PerSecond, peersOf(r))
	}}
}

// peersOf returns which contenders are the locks of others.
func peersOf(r experiment.Result) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(r.Case.Contenders, func(c experiment.Contender) bool {
			return c.Name == name && !c.Ours && name != sleeping
		})
	}
}

// toFastestPeer is how many times as much of a metric the mutex has as the fastest of all peers.
func toFastestPeer(metric string) experiment.Ask {
	return func(r experiment.Result) experiment.Estimate {
		return experiment.TimesBest(metric, mutexName, PerSecond, peersOf(r))(r)
	}
}

// toFastestLibrary is the same for libraries that lock on Redis.
func toFastestLibrary(metric string) experiment.Ask {
	return experiment.TimesBest(metric, mutexName, PerSecond, func(name string) bool {
		return strings.HasPrefix(name, kinds.BSM) || name == kinds.Redsync
	})
}
