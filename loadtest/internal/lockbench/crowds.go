package lockbench

import (
	"context"
	"slices"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/servers"
)

const (
	separate      = 16 // clients
	separateHold  = 5 * time.Millisecond
	separateThink = 10 * time.Millisecond
	// simultaneous calls have no order that can be known.
	simultaneous = 2 * time.Millisecond
	sleeping     = "sleep"
	// behindAll is the p99 of waits; of sleeping it is as long as all clients hold.
	behindAll = "wait behind all ms"
)

// textbooks are their locks, but for PostgreSQL's advisory one. Of two that only fail differently one is enough.
func textbooks() []string {
	return []string{kinds.SetNXExpire, kinds.SetPX, kinds.Signal, kinds.Row, kinds.Sequential, kinds.Document}
}

// everybody are all contenders that exclude: readers do not.
func everybody(s servers.URLs) []entry {
	return entries(s, append([]string{
		mutexName, fairName, kinds.BSM, kinds.BSM, kinds.Redsync, kinds.Advisory, kinds.RWMutex, kinds.MultiLock, kinds.RedLock,
	}, textbooks()...)...)
}

// firstLook is how many of them are enough where there is little time.
const firstLook = 6

// crowd are those that take part.
func (b *bench) crowd() []entry {
	all := everybody(b.URLs)
	if b.Scale.Few {
		return all[:firstLook]
	}
	return all
}

// oneCaller measures what a lock costs without contention.
func oneCaller(ctx context.Context, b *bench) ([]experiment.Contender, error) {
	all := entries(b.URLs, append([]string{
		mutexName, kinds.BSM, kinds.Redsync, kinds.Advisory, fairName, kinds.RWMutex, kinds.Reader, kinds.MultiLock, kinds.BSMMulti, kinds.RedLock,
	}, textbooks()...)...)
	return b.meet(ctx, all, nil, job{Clients: 1, Callers: 1, Load: load{Window: b.Scale.Window}})
}

// manyGoroutines measures one lock between 64 goroutines of one process.
func manyGoroutines(ctx context.Context, b *bench) ([]experiment.Contender, error) {
	return b.meet(ctx, b.crowd(), nil, job{Clients: 1, Callers: b.Scale.Crowd, Load: load{Window: b.Scale.Window}})
}

// severalProcesses measures one lock between three processes of 16 goroutines each.
func severalProcesses(ctx context.Context, b *bench) ([]experiment.Contender, error) {
	one := job{Clients: 1, Callers: eachProcess, Load: load{Window: b.Scale.Window}}
	return b.meet(ctx, b.crowd(), nil, one, one, one)
}

// separateClients measures one lock between 16 clients with connections of their own, as processes have. The baseline is the
// same holds slept one after another.
func separateClients(ctx context.Context, b *bench) ([]experiment.Contender, error) {
	all, err := b.meet(ctx, b.crowd(), func(all []*tally) experiment.Sample {
		f := all[0].figures()
		f[behindAll] = f[WaitP99]
		f[IdleP50] = idle(all[0].visits)
		f[OrderViolations] = float64(overtaken(all[0].visits))
		return f
	}, job{Clients: separate, Callers: separate, Load: load{Times: b.Scale.Visits, Hold: separateHold, Think: separateThink, Traced: true}})
	return append(all, experiment.Contender{Name: sleeping, Play: func(context.Context, time.Duration) (experiment.Sample, error) {
		return sleep(b.Scale.Visits * separate), nil
	}}), err
}

// sleep is what holds take that follow one another at once.
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

// idle is the median time, in milliseconds, from the start of a release to the next grant, of releases while a caller waits.
func idle(visits []visit) float64 {
	visits = byGrant(visits)
	var gaps []float64
	for i, v := range visits {
		waits := func(later visit) bool { return later.called.Before(v.releasing) }
		if after := visits[i+1:]; slices.ContainsFunc(after, waits) {
			gaps = append(gaps, compare.Milliseconds(after[0].granted.Sub(v.releasing)))
		}
	}
	return compare.Median(gaps)
}

// overtaken counts callers that got the lock before one that had certainly called earlier.
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
	return slices.SortedFunc(slices.Values(visits), func(a, b visit) int { return a.granted.Compare(b.granted) })
}
