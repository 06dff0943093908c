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
