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
	for _, c := range crowds(scaleOf(experiment.Full))[:2] {
		for _, target := range targetsOf(t, c, contenders...) {
			got = append(got, target.String())
		}
	}
	want := []string{
		"✓ met: cycles, in parts of the fastest library's: 0.889 (0.889 to 0.889) (target: at least 0.78)",
		"✓ met: commands a cycle: 2 (2 to 2) (target: at most 2)",
		"✗ missed: acquisitions, in parts of the fastest peer's: 0.8 (0.8 to 0.8) (target: at least 5)",
		"✓ met: Jain's index: 1 (1 to 1) (target: at least 0.95)",
		"✓ met: longest wait, in parts of the fastest library's: 0.01 (0.01 to 0.01) (target: at most 0.05)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestTargetOnMissingDataIsMissed: without data, nothing would be less than any bound.
func TestTargetOnMissingDataIsMissed(t *testing.T) {
	t.Parallel()
	for _, c := range crowds(scaleOf(experiment.Tiny)) {
		for _, target := range targetsOf(t, c, of("nobody", true, experiment.Sample{})) {
			if target.Verdict != report.Missed {
				t.Errorf("%s: %s", c.name, target)
			}
		}
	}
}

// TestAGlanceSaysWhoIsFastestFairestAndSafe has a fast lock that is not fair, and one that lets two in.
func TestAGlanceSaysWhoIsFastestFairestAndSafe(t *testing.T) {
	t.Parallel()
	r := experiment.Run(t.Context(), experiment.Case{Metrics: metrics(), Contenders: []experiment.Contender{
		of(kinds.Mutex, true, experiment.Sample{perSecond: 80, fairness: 0.99, waitMax: 7}),
		of(kinds.Redsync, false, experiment.Sample{perSecond: 9000, fairness: 0.3, waitMax: 700}),
		of(kinds.Fair, true, experiment.Sample{perSecond: 70, fairness: 1, waitMax: 5, violations: 2}),
		of(sleeping, false, experiment.Sample{perSecond: 1e6}),
	}}, experiment.Rules{Rounds: 6})
	r.Name = "64 goroutines"
	section, sentences := glance([]experiment.Result{r}, []kinds.Kind{{Name: kinds.Mutex}, {Name: kinds.Redsync, Flaw: "late"}, {Name: kinds.Fair}})
	want := []string{
		"Fastest: redsync with 64 goroutines.", "Fairest, with Jain's index of at least 0.95 in every crowd: inventory mutex, inventory fair.",
		"Safe, as far as is known: inventory mutex.",
	}
	if strings.Join(sentences, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", sentences, want)
	}
	rows := []string{
		"inventory mutex; 80; 7; ✓ 0.99; ✓ as far as is known", "redsync; ★ 9,000; 700; 0.3; ✗ has a flaw", "inventory fair; 70; 5; ✓ 1; ✗ let two in, 12 times",
	}
	for i, row := range section.Table.Rows {
		if got := strings.Join(row, "; "); got != rows[i] {
			t.Errorf("got  %s\nwant %s", got, rows[i])
		}
	}
}
