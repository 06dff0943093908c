package lockbench

import (
	"cmp"
	"context"
	"slices"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/report"
)

const (
	separate      = 16 // clients
	separateHold  = 5 * time.Millisecond
	separateThink = 10 * time.Millisecond
	// simultaneous are arrivals whose order nobody can know.
	simultaneous = 2 * time.Millisecond
	sleeping     = "sleep"
)

// separateClients measures one lock between 16 clients that each have their own connections, as processes do. The
// baseline is the same holds slept one after another.
func separateClients(ctx context.Context, b *bench) ([]Contender, error) {
	fleets, closeAll, err := openFleets(ctx, b.crowdKinds(), b.servers, separate, separate)
	if err != nil {
		return nil, err
	}
	holds := b.scale.Visits * separate
	all := b.entrantsOf(ctx, fleets, crowd{
		name: "clients", callers: separate,
		load: load{times: b.scale.Visits, hold: separateHold, think: separateThink, traced: true},
		also: func(t *tally, f Figures) {
			f[IdleP50] = compare.Milliseconds(idle(t.visits))
			f[OrderViolations] = float64(overtaken(t.visits))
		},
	})
	baseline := entrant{name: sleeping, measure: func(context.Context, int) (Figures, string) { return sleep(holds), "" }}
	contenders := b.rounds(ctx, append(all, baseline))
	fair, mutex := Case{Contenders: contenders}.find(fairName), Case{Contenders: contenders}.find(mutexName)
	fair[Ratio] = compare.Ratio(fair[PerSecond], mutex[PerSecond])
	return contenders, closeAll()
}

// sleep is what some holds take that follow one another at once.
func sleep(holds int) Figures {
	start := time.Now()
	for range holds {
		time.Sleep(separateHold)
	}
	took := time.Since(start)
	return Figures{PerSecond: float64(holds) / took.Seconds(), Seconds: took.Seconds(), Fairness: 1}
}

// idle is the median of how long the lock stayed free while somebody waited: from the start of a release to the next
// grant.
func idle(visits []visit) time.Duration {
	visits = byGrant(visits)
	var gaps []float64
	for i := range visits[:max(len(visits)-1, 0)] {
		free := visits[i].releasing
		waiting := func(v visit) bool { return v.called.Before(free) }
		if slices.ContainsFunc(visits[i+1:], waiting) {
			gaps = append(gaps, float64(visits[i+1].granted.Sub(free)))
		}
	}
	return time.Duration(compare.Median(gaps))
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

func separateClientsTargets(c Case) []report.Target {
	mutex, fair, slept := c.find(mutexName), c.find(fairName), c.find(sleeping)
	holds := compare.Ratio(1000*separate, slept[PerSecond])
	return []report.Target{
		report.AtMost("total time, in parts of the holds slept one after another", compare.Ratio(mutex[Seconds], slept[Seconds]), 1.1),
		report.AtMost("idle after a release, p50 ms", mutex[IdleP50], 0.3),
		report.AtMost("commands an acquisition", mutex[Commands], 4),
		report.AtMost("wait p99, in parts of 16 holds", compare.Ratio(mutex[WaitP99], holds), 1.3),
		report.AtMost("fair: callers who were overtaken", fair[OrderViolations], 0),
		report.AtLeast("fair: acquisitions, in parts of the mutex's", fair[Ratio], 0.8),
		report.AtMost("fair: commands an acquisition", fair[Commands], 4),
	}
}
