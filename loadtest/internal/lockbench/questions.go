package lockbench

import (
	"context"

	"inventory/loadtest/internal/experiment"
)

// question is a case.
type question struct {
	name    string
	ask     func(ctx context.Context, b *bench) ([]experiment.Contender, error)
	slices  bool // its rounds are shorter, and as many more
	targets []experiment.Target
}

// caseOf is a question as a case.
func (q question) caseOf(contenders []experiment.Contender) experiment.Case {
	return experiment.Case{
		Contenders: contenders, Metrics: metrics(), Ratios: []experiment.Ratio{fastest()}, Targets: q.targets,
		About: func(r experiment.Result) []string { return []string{r.First()} },
	}
}

// questions are all cases, in the order of the report.
func questions() []question {
	return []question{
		{name: "one caller", ask: oneCaller, slices: true, targets: []experiment.Target{
			experiment.AtLeast("cycles, in parts of the fastest library's", toFastestLibrary(PerSecond), 0.85),
			experiment.AtLeast("cycles, in parts of the fastest peer's", toFastestPeer(PerSecond), 0.85),
			experiment.AtMost("commands a cycle", experiment.Level(Commands, mutexName), 2),
		}},
		{name: "64 goroutines", ask: manyGoroutines, targets: []experiment.Target{
			experiment.AtLeast("acquisitions, in parts of the fastest peer's", toFastestPeer(PerSecond), 5),
			experiment.AtLeast("Jain's index", experiment.Level(Fairness, mutexName), 0.95),
			experiment.AtMost("longest wait, in parts of the fastest library's", toFastestLibrary(WaitMax), 1.0/20),
		}},
		{name: "16 clients", ask: separateClients, targets: []experiment.Target{
			experiment.AtMost("total time, in parts of the holds slept one after another", experiment.Times(Seconds, mutexName, sleeping), 1.1),
			experiment.AtMost("idle after a release, p50 ms", experiment.Level(IdleP50, mutexName), 0.3),
			experiment.AtMost("commands an acquisition", experiment.Level(Commands, mutexName), 4),
			experiment.AtMost("wait p99, in parts of 16 holds", experiment.Times(behindAll, mutexName, sleeping), 1.3),
			experiment.AtMost("fair: callers who were overtaken", experiment.Level(OrderViolations, fairName), 0),
			experiment.AtLeast("fair: acquisitions, in parts of the mutex's", experiment.Times(PerSecond, fairName, mutexName), 0.8),
			experiment.AtMost("fair: commands an acquisition", experiment.Level(Commands, fairName), 4),
		}},
		{name: "3 processes", ask: severalProcesses, targets: []experiment.Target{
			experiment.AtLeast("Jain's index over the processes", experiment.Level(Fairness, mutexName), 0.95),
		}},
		{name: "lone caller", ask: loneCaller, targets: []experiment.Target{
			experiment.AtMost("the lone caller's wait, p99 ms", experiment.Level(WaitP99, mutexName), 5),
		}},
		{name: "readers", ask: manyReaders, targets: []experiment.Target{
			experiment.AtMost("unlock and lock beside many readers, in parts of that beside 10", func(r experiment.Result) experiment.Estimate {
				rooms := r.Case.Contenders
				return experiment.Times(cost, rooms[1].Name, rooms[0].Name)(r)
			}, 2),
			experiment.AtMost("holds lost", experiment.Total(LostHolds), 0),
		}},
		{name: "10,000 holds", ask: manyHolds, targets: []experiment.Target{
			experiment.AtMost("round trips a period", experiment.Level(TripsPerPeriod, mutexName), 100),
			experiment.AtMost("percent of a core, at the default lease", experiment.Level(CPUPercent, mutexName), 2),
			experiment.AtMost("holds lost", experiment.Level(LostHolds, mutexName), 0),
		}},
		{name: "1,000 names", ask: manyNames, targets: []experiment.Target{
			experiment.AtMost("subscription connections of 3 clients", func(r experiment.Result) experiment.Estimate {
				return r.Of(r.Most(Subscribers, func(string) bool { return true }), Subscribers)
			}, namesClients),
			experiment.AtMost("goroutines, channels and keys left behind", experiment.Total(LeftBehind), 0),
		}},
	}
}

// Names are those of all cases.
func Names() (names []string) {
	for _, q := range questions() {
		names = append(names, q.name)
	}
	return names
}
