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

// meeting is callers at one lock.
type meeting struct {
	name             string // of the lock
	clients, callers int
	load             load
	also             func(t *tally, f experiment.Sample) // adds figures; nil: none
}

// meet makes contenders of kinds whose callers meet. They are warm then.
func (b *bench) meet(ctx context.Context, all []entry, m meeting) (contenders []experiment.Contender, err error) {
	for _, e := range all {
		f, err := openFleet(ctx, e, b.URLs, m.clients, m.callers)
		if err != nil {
			return nil, err
		}
		b.OnClose(f.Close)
		f.warmUp(ctx, b.run+m.name, m.callers)
		contenders = append(contenders, experiment.Contender{Name: e.title(), Ours: e.Ours, Play: func(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
			t := f.drive(ctx, m.load, f.locks(b.fresh(m.name), m.callers))
			experiment.Keep(ctx, t.Waits)
			figures := t.figures()
			if m.also != nil {
				m.also(t, figures)
			}
			return figures, t.err
		}})
	}
	return contenders, nil
}

// oneCaller measures what a lock costs whom nobody disturbs.
func oneCaller(ctx context.Context, b *bench) ([]experiment.Contender, error) {
	all := entries(b.URLs, append([]string{
		mutexName, kinds.BSM, kinds.Redsync, kinds.Advisory, fairName, kinds.RWMutex, kinds.Reader, kinds.MultiLock, kinds.BSMMulti, kinds.RedLock,
	}, textbooks()...)...)
	return b.meet(ctx, all, meeting{name: "one", clients: 1, callers: 1, load: load{window: b.Scale.Window}})
}

func oneCallerTargets() []experiment.Target {
	return []experiment.Target{
		experiment.AtLeast("cycles, in parts of the fastest library's", toFastestLibrary(PerSecond), 0.85),
		experiment.AtLeast("cycles, in parts of the fastest peer's", toFastestPeer(PerSecond), 0.85),
		experiment.AtMost("commands a cycle", experiment.Level(Commands, mutexName), 2),
	}
}

// manyGoroutines measures one lock between 64 goroutines of one process that do nothing under it.
func manyGoroutines(ctx context.Context, b *bench) ([]experiment.Contender, error) {
	return b.meet(ctx, b.crowd(), meeting{name: "goroutines", clients: 1, callers: b.Scale.Crowd, load: load{window: b.Scale.Window}})
}

func manyGoroutinesTargets() []experiment.Target {
	return []experiment.Target{
		experiment.AtLeast("acquisitions, in parts of the fastest peer's", toFastestPeer(PerSecond), 5),
		experiment.AtLeast("Jain's index", experiment.Level(Fairness, mutexName), 0.95),
		experiment.AtMost("longest wait, in parts of the fastest library's", toFastestLibrary(WaitMax), 1.0/20),
	}
}

// separateClients measures one lock between 16 clients that each have their own connections, as processes do. The
// baseline is the same holds slept one after another.
func separateClients(ctx context.Context, b *bench) ([]experiment.Contender, error) {
	holds := b.Scale.Visits * separate
	all, err := b.meet(ctx, b.crowd(), meeting{
		name: "clients", clients: separate, callers: separate,
		load: load{times: b.Scale.Visits, hold: separateHold, think: separateThink, traced: true},
		also: func(t *tally, f experiment.Sample) {
			f[behindAll] = f[WaitP99]
			f[IdleP50] = idle(t.visits)
			f[OrderViolations] = float64(overtaken(t.visits))
		},
	})
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

func separateClientsTargets() []experiment.Target {
	return []experiment.Target{
		experiment.AtMost("total time, in parts of the holds slept one after another", experiment.Times(Seconds, mutexName, sleeping), 1.1),
		experiment.AtMost("idle after a release, p50 ms", experiment.Level(IdleP50, mutexName), 0.3),
		experiment.AtMost("commands an acquisition", experiment.Level(Commands, mutexName), 4),
		experiment.AtMost("wait p99, in parts of 16 holds", experiment.Times(behindAll, mutexName, sleeping), 1.3),
		experiment.AtMost("fair: callers who were overtaken", experiment.Level(OrderViolations, fairName), 0),
		experiment.AtLeast("fair: acquisitions, in parts of the mutex's", experiment.Times(PerSecond, fairName, mutexName), 0.8),
		experiment.AtMost("fair: commands an acquisition", experiment.Level(Commands, fairName), 4),
	}
}
