package lockbench

import (
	"cmp"
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
	// simultaneous are arrivals whose order nobody can know.
	simultaneous = 2 * time.Millisecond
	sleeping     = "sleep"
	// behindAll is the wait p99, or what it would be behind all others who only sleep.
	behindAll = "wait behind all ms"
)

// textbooks are their locks, beside PostgreSQL's advisory ones. Two that only differ in how they fail are one.
func textbooks() []string {
	return []string{
		kinds.SetNXExpire, kinds.SetPX, kinds.Signal, kinds.Row, kinds.Sequential, kinds.Document,
	}
}

// everybody are all contenders that keep everybody else out: readers do not.
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

// oneCaller measures what a lock costs whom nobody disturbs.
func oneCaller(ctx context.Context, b *bench) ([]experiment.Contender, error) {
	all := entries(b.URLs, append([]string{
		mutexName, kinds.BSM, kinds.Redsync, kinds.Advisory, fairName, kinds.RWMutex, kinds.Reader, kinds.MultiLock, kinds.BSMMulti, kinds.RedLock,
	}, textbooks()...)...)
	return b.meet(ctx, all, nil, job{Clients: 1, Callers: 1, Load: load{Window: b.Scale.Window}})
}

// manyGoroutines measures one lock between 64 goroutines of one process that do nothing under it.
func manyGoroutines(ctx context.Context, b *bench) ([]experiment.Contender, error) {
	return b.meet(ctx, b.crowd(), nil, job{Clients: 1, Callers: b.Scale.Crowd, Load: load{Window: b.Scale.Window}})
}

// severalProcesses measures one lock between three processes of 16 goroutines each that do nothing under it.
func severalProcesses(ctx context.Context, b *bench) ([]experiment.Contender, error) {
	one := job{Clients: 1, Callers: eachProcess, Load: load{Window: b.Scale.Window}}
	return b.meet(ctx, b.crowd(), nil, one, one, one)
}

// loneCaller measures how long one caller waits while 64 goroutines of another process keep the lock busy. One that polls every
// 50 ms is left out: its lone caller is seldom seen.
func loneCaller(ctx context.Context, b *bench) ([]experiment.Contender, error) {
	all := slices.DeleteFunc(entries(b.URLs, mutexName, kinds.BSM, kinds.BSM, kinds.Redsync, kinds.Advisory), func(e entry) bool {
		return e.Polls && e.poll == seldom
	})
	window := b.Scale.Window
	return b.meet(ctx, all, func(all []*tally) experiment.Sample {
		f := all[0].figures()
		f[BusyPerSecond] = float64(all[1].within()) / window.Seconds()
		f[Violations] += float64(all[1].Violations)
		return f
	}, job{Clients: 1, Callers: 1, Load: load{Window: window, Think: lonePause}}, job{Clients: 1, Callers: b.Scale.Crowd, Load: load{Window: window}})
}

// separateClients measures one lock between 16 clients that each have their own connections, as processes do. The
// baseline is the same holds slept one after another.
func separateClients(ctx context.Context, b *bench) ([]experiment.Contender, error) {
	holds := b.Scale.Visits * separate
	all, err := b.meet(ctx, b.crowd(), func(all []*tally) experiment.Sample {
		f := all[0].figures()
		f[behindAll] = f[WaitP99]
		f[IdleP50] = idle(all[0].visits)
		f[OrderViolations] = float64(overtaken(all[0].visits))
		return f
	}, job{Clients: separate, Callers: separate, Load: load{Times: b.Scale.Visits, Hold: separateHold, Think: separateThink, Traced: true}})
	baseline := experiment.Contender{Name: sleeping, Play: func(context.Context, time.Duration) (experiment.Sample, error) { return sleep(holds), nil }}
	return append(all, baseline), err
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
