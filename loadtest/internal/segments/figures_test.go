package segments

import (
	"slices"
	"testing"
	"time"

	"inventory/internal/latency"
	"inventory/internal/stock"
	"inventory/loadtest/internal/crowd"
)

// sold is what a process sold in a second.
func sold(accepted int64) crowd.Sale {
	return crowd.Sale{
		Counts: crowd.Counts{Accepted: accepted}, Took: time.Second, Waits: latency.New(),
		Lanes: crowd.Lanes{Batches: 4, Orders: 40, Unlocked: 1, LockWaits: 5, LockSeconds: 0.25},
	}
}

func TestFiguresAreMediansOfRounds(t *testing.T) {
	t.Parallel()
	all := entries([]*contender{
		{segments: 1, processes: 1, rounds: [][]crowd.Sale{{sold(100)}, {sold(50)}, {sold(120)}}},
		{segments: 8, processes: 2, rounds: [][]crowd.Sale{{sold(100), sold(100)}, {sold(50), sold(0)}, {sold(150), sold(150)}}},
		{segments: 8, processes: 1, rounds: [][]crowd.Sale{{sold(400)}, {sold(100)}, {sold(200)}}},
	})
	e := all[1]
	if e.Accepted != 200 || e.Spread != (Spread{50, 300}) || !slices.Equal(e.Shares, []float64{300. / 550, 250. / 550}) || e.Jain != 1 {
		t.Errorf("%+v", e)
	}
	// 200/400, 50/100 and 300/200; nobody sold one segment with two processes.
	if e.ToOneProcess != 0.5 || e.ToOneSegment != 0 || all[2].ToOneSegment != 2 {
		t.Errorf("%+v, %+v", e, all[2])
	}
	if e.BatchOrders != 10 || e.LockWaitShare != 0.25 || e.LockWaitMean != 50 || e.Unlocked != 0.25 {
		t.Errorf("%+v", e)
	}
}

func TestThePlanHasARateForEachPhase(t *testing.T) {
	t.Parallel()
	at := plan([]phase{{10, time.Second}, {100, 100 * time.Millisecond}})
	if len(at) != 20 || !slices.IsSorted(at) || at[5] != 500*time.Millisecond || at[10] != time.Second || at[19] != 1090*time.Millisecond {
		t.Errorf("%v", at)
	}
}

func TestCalmHasNeitherWaitsNorRefusals(t *testing.T) {
	t.Parallel()
	after := func(slices int, took time.Duration, code stock.Code) reply {
		return reply{planned: time.Second + time.Duration(slices)*slice, took: took, code: code}
	}
	const quick, slow = time.Millisecond, time.Second
	all := replies{after(0, slow, ""), after(1, quick, ""), after(1, quick, stock.CodeOverloaded), after(3, quick, "")}
	if got := all.calmAgain(time.Second, 2*time.Second, 2*quick); got != 3*slice {
		t.Errorf("%v", got)
	}
	if got := all[:3].calmAgain(time.Second, 2*time.Second, 2*quick); got != time.Second {
		t.Errorf("never, but %v", got)
	}
}

func TestWhoIsBackSellsItsPart(t *testing.T) {
	t.Parallel()
	const steps, still = 40, 20
	var one, all crowd.Timeline
	for step := range steps {
		n := int64(20)
		if step < still {
			n = 0
		}
		one, all = append(one, n), append(all, 100)
	}
	end := steps * crowd.Step
	if got := returned(one, all, 0, end); got != still*crowd.Step {
		t.Errorf("%v", got)
	}
	one[steps-1] = 0
	if got := returned(one, all, (still+15)*crowd.Step, end); got != 5*crowd.Step {
		t.Errorf("never, but %v", got)
	}
}

// TestMomentsTellWhenAnswersCame: an answer counts when it comes, and its time when the order was planned.
func TestMomentsTellWhenAnswersCame(t *testing.T) {
	t.Parallel()
	var o Overload
	for _, c := range []*course{&o.offered, &o.accepted, &o.refused, &o.acceptedP50, &o.acceptedP99, &o.refusedP99} {
		c.every = slice
	}
	o.show(replies{{0, slice, ""}, {1, 3 * slice, ""}, {slice, 0, stock.CodeOverloaded}, {slice, 0, stock.CodeUnavailable}})
	o.show(replies{{0, slice, ""}})
	perSlice := 1 / slice.Seconds()
	for name, c := range map[string]struct {
		got  course
		want []float64
	}{
		"offered":  {o.offered, []float64{1.5 * perSlice, perSlice, 0, 0}},
		"accepted": {o.accepted, []float64{0, perSlice, 0, perSlice}},
		"refused":  {o.refused, []float64{0, perSlice / 2, 0, 0}},
		"waits":    {o.acceptedP50, []float64{100}},
		"nobody":   {course{every: slice}, nil},
	} {
		s := c.got.series(name)
		if !slices.Equal(s.Y, c.want) || len(s.X) != len(s.Y) || len(s.X) > 0 && s.X[0] != slice.Seconds()/2 {
			t.Errorf("%s: %v at %v instead of %v", name, s.Y, s.X, c.want)
		}
	}
}

func TestTheSummaryTellsWhoSoldMost(t *testing.T) {
	t.Parallel()
	r := Result{Segments: []Entry{
		{Segments: 1, Processes: 1, Accepted: 100, P99: 4}, {Segments: 8, Processes: 1, Accepted: 300, P99: 5}, {Segments: 8, Processes: 2, Accepted: 200, P99: 6},
	}}
	d, text, _ := tell(t, r)
	const want = "segments: most is sold by 1 process from 8 segments (300 orders a second), by 2 processes from 8 segments (200 orders a second)."
	if d.Summary[0] != want || len(d.Figures) != 4 || d.Figures[1].Value != 5 {
		t.Errorf("%s\n%+v", text, d.Figures)
	}
	if p := d.Sections[0].Plots; len(p) != 2 || len(p[0].Series) != 2 || !slices.Equal(p[0].Series[0].X, []float64{1, 8}) || !slices.Equal(p[1].Series[0].Y, []float64{4, 5}) {
		t.Errorf("%+v", p)
	}
}
