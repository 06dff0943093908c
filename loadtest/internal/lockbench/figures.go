package lockbench

import (
	"maps"
	"slices"

	"inventory/loadtest/internal/compare"
)

// Figures are what was measured, by name.
type Figures map[string]float64

// What every contender of every case has.
const (
	PerSecond  = "per_second"
	WaitP50    = "wait_p50_ms"
	WaitP99    = "wait_p99_ms"
	WaitMax    = "wait_max_ms"
	Fairness   = "jain"
	Commands   = "commands_per_acquisition"
	Seconds    = "total_seconds"
	Violations = "violations"
)

// What some have.
const (
	IdleP50          = "idle_p50_ms"
	OrderViolations  = "order_violations"
	Ratio            = "ratio"
	UnlockP50        = "unlock_p50_ms"
	BusyPerSecond    = "busy_per_second"
	TripsPerPeriod   = "round_trips_per_period"
	CPUPercent       = "cpu_percent" // of a core, with the watchdog's default lease
	MicrosPerRenewal = "cpu_us_per_renewal"
	LostHolds        = "lost_holds"
	Subscribers      = "subscription_connections"
	LeftGoroutines   = "left_goroutines"
	LeftChannels     = "left_channels"
	LeftKeys         = "left_keys"
	LeftBehind       = "left_behind"
)

// common are the figures of every contender, in the order in which they are told.
func common() []string {
	return []string{PerSecond, WaitP50, WaitP99, WaitMax, Fairness, Commands, Seconds, Violations}
}

// isWrong tells figures of which one is too many: rounds are added up.
func isWrong(name string) bool {
	return slices.Contains([]string{
		Violations, OrderViolations, LostHolds, LeftGoroutines, LeftChannels, LeftKeys, LeftBehind,
	}, name)
}

// figures are those of a tally, for which commands were sent.
func (t *tally) figures(commands int64) Figures {
	var within int64
	for _, n := range t.counts {
		within += n
	}
	return Figures{
		PerSecond:  compare.Ratio(float64(within), t.elapsed.Seconds()),
		WaitP50:    compare.Milliseconds(t.waits.Quantile(50)),
		WaitP99:    compare.Milliseconds(t.waits.Quantile(99)),
		WaitMax:    compare.Milliseconds(t.waits.Max()),
		Fairness:   compare.Jain(t.counts),
		Commands:   compare.Ratio(float64(commands), float64(t.all)),
		Seconds:    t.elapsed.Seconds(),
		Violations: float64(t.violations),
	}
}

// overall returns one figure for several rounds of each.
func overall(rounds []Figures) Figures {
	values := map[string][]float64{}
	for _, round := range rounds {
		for name, value := range round {
			values[name] = append(values[name], value)
		}
	}
	out := Figures{}
	for name := range maps.Keys(values) {
		if isWrong(name) {
			for _, value := range values[name] {
				out[name] += value
			}
			continue
		}
		out[name] = compare.Median(values[name])
	}
	return out
}
