package lockbench

import (
	"cmp"
	"context"
	"slices"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/experiment"
)

const (
	separate      = 16 // clients
	separateHold  = 5 * time.Millisecond
	separateThink = 10 * time.Millisecond
	// simultaneous are arrivals whose order nobody can know.
	simultaneous = 2 * time.Millisecond
	sleeping     = "sleep"
	// behindAll is the wait p99, or what it would be behind all others who only sleep.
	behindAll = "wait behind all ms"
)

// separateClients measures one lock between 16 clients that each have their own connections, as processes do. The
// baseline is the same holds slept one after another.
func separateClients(ctx context.Context, b *bench) ([]entrant, func() error, error) {
	fleets, closeAll, err := openFleets(ctx, b.crowdKinds(), b.servers, separate, separate)
	if err != nil {
		return nil, nil, err
	}
	holds := b.scale.Visits * separate
	all := b.entrantsOf(ctx, fleets, crowd{
		name: "clients", callers: separate,
		load: load{times: b.scale.Visits, hold: separateHold, think: separateThink, traced: true},
		also: func(t *tally, f experiment.Sample) {
			f[behindAll] = f[WaitP99]
			f[IdleP50] = idle(t.visits)
			f[OrderViolations] = float64(overtaken(t.visits))
		},
	})
	baseline := entrant{name: sleeping, measure: func(context.Context, int) (experiment.Sample, error) { return sleep(holds), nil }}
	return append(all, baseline), closeAll, nil
}

// sleep is what some holds take that follow one another at once.
func sleep(holds int) experiment.Sample {
	start := time.Now()
	for range holds {
		time.Sleep(separateHold)
	}
	took := time.Since(start)
	return experiment.Sample{
		PerSecond: float64(holds) / took.Seconds(), Seconds: took.Seconds(), Fairness: 1, Violations: 0,
		behindAll: compare.Milliseconds(took) * separate / float64(holds),
	}
}

// idle is the median, in milliseconds, of how long the lock stayed free while somebody waited: from the start of a release to the next
// grant.
func idle(visits []visit) float64 {
	visits = byGrant(visits)
	var gaps []float64
	for i := range visits[:max(len(visits)-1, 0)] {
		free := visits[i].releasing
		waiting := func(v visit) bool { return v.called.Before(free) }
		if slices.ContainsFunc(visits[i+1:], waiting) {
			gaps = append(gaps, compare.Milliseconds(visits[i+1].granted.Sub(free)))
		}
	}
	return compare.Median(gaps)
}

// overtaken counts who was granted the lock before somebody who had clearly called earlier.
func overtaken(visits []visit) (count int) {
	visits = byGrant(visits)
	for i, v := range visits {
		earlier := func(later visit) bool { return later.called.Before(v.called.Add(-simultaneous)) }
		if slices.ContainsFunc(visits[i+1:], earlier) {
			count++
		}
	}
	return count
}

func byGrant(visits []visit) []visit {
	return slices.SortedFunc(slices.Values(visits), func(a, b visit) int { return cmp.Compare(a.granted.UnixNano(), b.granted.UnixNano()) })
}

func separateClientsTargets() []experiment.Target {
	return []experiment.Target{
		atMost("total time, in parts of the holds slept one after another", experiment.Times(Seconds, mutexName, sleeping), 1.1),
		atMost("idle after a release, p50 ms", experiment.Level(IdleP50, mutexName), 0.3),
		atMost("commands an acquisition", experiment.Level(Commands, mutexName), 4),
		atMost("wait p99, in parts of 16 holds", experiment.Times(behindAll, mutexName, sleeping), 1.3),
		atMost("fair: callers who were overtaken", experiment.Level(OrderViolations, fairName), 0),
		atLeast("fair: acquisitions, in parts of the mutex's", experiment.Times(PerSecond, fairName, mutexName), 0.8),
		atMost("fair: commands an acquisition", experiment.Level(Commands, fairName), 4),
	}
}
