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
	}
}

// Names are those of all cases.
func Names() (names []string) {
	for _, q := range questions() {
		names = append(names, q.name)
	}
	return names
}
