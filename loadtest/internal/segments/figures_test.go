package segments

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
)

// sold is what a process sold in a second.
func sold(accepted int64) load.Sale {
	return load.Sale{
		Counts: load.Counts{load.Accepted: accepted}, InTime: accepted, Took: time.Second, Window: time.Second, Waits: latency.New(),
		Lanes: load.Lanes{Batches: 4, Orders: 40, Unlocked: 1, LockWaits: 5, LockSeconds: 0.25},
	}
}

// TestTheMatrixIsPaired plays it on a machine that is half as fast in every other round.
func TestTheMatrixIsPaired(t *testing.T) {
	t.Parallel()
	rounds := map[string]int{}
	c := matrixOf(Scale{Segments: []int{1, 8}, Processes: []int{1, 2}}, func(_ context.Context, name string, segments, processes int, _ time.Duration) (experiment.Sample, error) {
		rounds[name]++
		return experiment.Sample{accepted: float64(100*segments*processes) / float64(1+rounds[name]%2)}, nil
	})
	r := experiment.Run(t.Context(), c, experiment.Rules{Rounds: 8})
	e := r.Entries()[3] // 8 segments, 2 processes
	if e["accepted_per_second"] != 1200. || math.Abs(e["ratio_to_one_process"].(float64)-2) > 1e-9 || math.Abs(e["ratio_to_one_segment"].(float64)-8) > 1e-9 {
		t.Errorf("%v", e)
	}
	if ratio := r.Section("").Table.Rows[3][4]; ratio != "8 (8 to 8)" {
		t.Error(ratio)
	}
}

func TestFiguresOfASale(t *testing.T) {
	t.Parallel()
	s := sampleOf([]load.Sale{sold(150), sold(50)})
	if s[accepted] != 200 || s[leastShare] != 0.25 || math.Abs(s[jain]-0.8) > 1e-9 || s[perBatch] != 10 || s[lockShare] != 0.25 || s[lockMean] != 50 || s[unlocked] != 0.25 {
		t.Errorf("%v", s)
	}
}

// replied is a result of replies at their planned times, each with how long it took.
func replied(all ...load.Reply) *load.Result {
	r := &load.Result{}
	for _, reply := range all {
		r.At = append(r.At, reply.Sent)
		reply.Over += reply.Sent
		r.Replies, r.Elapsed = append(r.Replies, reply), max(r.Elapsed, reply.Over)
	}
	return r
}

func TestCalmHasNeitherWaitsNorRefusals(t *testing.T) {
	t.Parallel()
	after := func(slices int, took time.Duration, became load.Outcome) load.Reply {
		return load.Reply{Sent: time.Second + time.Duration(slices)*slice, Over: took, Outcome: became}
	}
	const quick, slow = time.Millisecond, time.Second
	all := []load.Reply{after(0, slow, load.Accepted), after(1, quick, load.Accepted), after(1, quick, load.Overloaded), after(3, quick, load.Accepted)}
	if got := calmAgain(replied(all...), time.Second, 2*time.Second, 2*quick); got != 3*slice {
		t.Errorf("%v", got)
	}
	if got := calmAgain(replied(all[:3]...), time.Second, 2*time.Second, 2*quick); got != time.Second {
		t.Errorf("never, but %v", got)
	}
}

func TestWhoIsBackSellsItsPart(t *testing.T) {
	t.Parallel()
	const steps, still = 40, 20
	var one, all load.Timeline
	for step := range steps {
		n := int64(20)
		if step < still {
			n = 0
		}
		one, all = append(one, n), append(all, 100)
	}
	end := steps * load.Step
	if got := returned(one, all, 0, end); got != still*load.Step {
		t.Errorf("%v", got)
	}
	one[steps-1] = 0
	if got := returned(one, all, (still+15)*load.Step, end); got != 5*load.Step {
		t.Errorf("never, but %v", got)
	}
}

// TestMomentsTellWhenAnswersCame: an answer counts when it comes, and its time when the order was planned.
func TestMomentsTellWhenAnswersCame(t *testing.T) {
	t.Parallel()
	o := &flood{courses: newCourses(slice)}
	o.show(replied(
		load.Reply{Sent: 0, Over: slice, Outcome: load.Accepted}, load.Reply{Sent: 1, Over: 3 * slice, Outcome: load.Accepted},
		load.Reply{Sent: slice, Outcome: load.Overloaded}, load.Reply{Sent: slice, Outcome: load.Unknown},
	))
	o.show(replied(load.Reply{Over: slice, Outcome: load.Accepted}))
	perSlice := 1 / slice.Seconds()
	for name, c := range map[string]struct {
		got  string
		want []float64
	}{
		"offered":  {askedFor, []float64{1.5 * perSlice, perSlice, 0, 0}},
		"accepted": {soldThen, []float64{0, perSlice, 0, perSlice}},
		"refused":  {turnedAway, []float64{0, perSlice / 2, 0, 0}},
		"waits":    {soldP50, []float64{100}},
		"nobody":   {soldP99 + turnedAway, nil},
	} {
		var s report.Series
		if all := o.series(c.got); len(all) > 0 {
			s = all[0]
		}
		near := func(got, want float64) bool { return math.Abs(got-want) <= want/1000 } // as histograms are
		if !slices.EqualFunc(s.Y, c.want, near) || len(s.X) != len(s.Y) || len(s.X) > 0 && s.X[0] != slice.Seconds()/2 {
			t.Errorf("%s: %v at %v instead of %v", name, s.Y, s.X, c.want)
		}
	}
}

func TestTheSummaryTellsWhoSoldMost(t *testing.T) {
	t.Parallel()
	c := matrixOf(Scale{Segments: []int{1, 8}, Processes: []int{1, 2}}, nil)
	r := Result{Report: experiment.Report{Results: []experiment.Result{{Name: matrixCase, Case: c, Rounds: []experiment.Round{{
		named("1", "1"): {accepted: 100, p99: 4}, named("8", "1"): {accepted: 300, p99: 5}, named("8", "2"): {accepted: 200, p99: 6},
	}}}}}}
	d, text, _ := tell(t, r)
	summary := strings.Join(d.Summary, "\n")
	for _, says := range []string{"segments: 8 segments, 1 process: 300 accepted per second, 3 times 1 segment, 1 process; 5 p99 ms.", "8 segments, 2 processes: 200"} {
		if !strings.Contains(summary, says) || len(d.Figures) != 4 || d.Figures[1].Value != 5 {
			t.Errorf("no %q in %s\n%+v", says, text, d.Figures)
		}
	}
	if p := d.Sections[0].Plots; len(p) != 2 || len(p[0].Series) != 2 || !slices.Equal(p[0].Series[0].X, []float64{1, 8}) || !slices.Equal(p[1].Series[0].Y, []float64{4, 5}) {
		t.Errorf("%+v", p)
	}
}
