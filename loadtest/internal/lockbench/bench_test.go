package lockbench

import (
	"context"
	"strings"
	"testing"
	"time"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/report"
)

// of is a contender that measures the same in each round.
func of(name string, ours bool, s experiment.Sample) experiment.Contender {
	return experiment.Contender{Name: name, Ours: ours, Play: func(context.Context, time.Duration) (experiment.Sample, error) { return s, nil }}
}

func targetsOf(t *testing.T, c crowd, contenders ...experiment.Contender) []report.Target {
	t.Helper()
	return experiment.Run(t.Context(), experiment.Case{Contenders: contenders, Metrics: metrics(), Targets: c.targets}, experiment.Rules{Rounds: 6}).Targets()
}

func TestTargetsCompareWithTheBest(t *testing.T) {
	t.Parallel()
	contenders := []experiment.Contender{
		of(kinds.Mutex, true, experiment.Sample{perSecond: 80, fairness: 1, commands: 2, waitMax: 1}),
		of(kinds.Redsync, false, experiment.Sample{perSecond: 90, waitMax: 100}), of(kinds.Row, false, experiment.Sample{perSecond: 100}),
		of(sleeping, false, experiment.Sample{perSecond: 1000}),
	}
	var got []string
	for _, c := range crowds(Full())[:2] {
		for _, target := range targetsOf(t, c, contenders...) {
			got = append(got, target.String())
		}
	}
	want := []string{
		"cycles, in parts of the fastest library's: 0.889 (0.889 to 0.889) (target: at least 0.78), met: yes",
		"commands a cycle: 2 (2 to 2) (target: at most 2), met: yes",
		"acquisitions, in parts of the fastest peer's: 0.8 (0.8 to 0.8) (target: at least 5), met: NO",
		"Jain's index: 1 (1 to 1) (target: at least 0.95), met: yes",
		"longest wait, in parts of the fastest library's: 0.01 (0.01 to 0.01) (target: at most 0.05), met: yes",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestTargetOnMissingDataIsMissed: without data, nothing would be less than any bound.
func TestTargetOnMissingDataIsMissed(t *testing.T) {
	t.Parallel()
	for _, c := range crowds(Tiny()) {
		for _, target := range targetsOf(t, c, of("nobody", true, experiment.Sample{})) {
			if target.Met || target.Undecided {
				t.Errorf("%s: %s", c.name, target)
			}
		}
	}
}
