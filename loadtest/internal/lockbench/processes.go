package lockbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"inventory/internal/latency"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/worker"
)

const (
	threeProcesses = 3
	eachProcess    = 16 // goroutines
	// lonePause is how long the lone caller stays away: it comes and goes, and does not compete for throughput.
	lonePause = time.Millisecond
	// checkers are the callers of a process that look for company, at most, and checks how often each does.
	checkers, checks = 8, 5
)

// severalProcesses measures one lock between three processes of 16 goroutines each that do nothing under it.
func severalProcesses(_ context.Context, b *bench) ([]experiment.Contender, error) {
	jobs := slices.Repeat([]job{{Callers: eachProcess, Window: b.Scale.Window}}, threeProcesses)
	return b.contest("processes", b.crowd(), jobs, func(all []*tally) (experiment.Sample, error) {
		t := together(all)
		return t.figures(), t.err
	})
}

func severalProcessesTargets() []experiment.Target {
	return []experiment.Target{experiment.AtLeast("Jain's index over the processes", experiment.Level(Fairness, mutexName), 0.95)}
}

// loneCaller measures how long one caller waits while 64 goroutines of another process keep the lock busy. One that polls every
// 50 ms is left out: its lone caller is seldom seen.
func loneCaller(_ context.Context, b *bench) ([]experiment.Contender, error) {
	lone := job{Callers: 1, Window: b.Scale.Window, Think: lonePause}
	busy := job{Callers: b.Scale.Crowd, Window: b.Scale.Window}
	all := slices.DeleteFunc(entries(b.URLs, mutexName, kinds.BSM, kinds.BSM, kinds.Redsync, kinds.Advisory), func(e entry) bool {
		return e.Polls && e.poll == seldom
	})
	return b.contest("lone", all, []job{lone, busy}, func(all []*tally) (experiment.Sample, error) {
		f := together(all[:1]).figures()
		f[BusyPerSecond] = float64(all[1].within()) / b.Scale.Window.Seconds()
		f[Violations] += float64(all[1].Violations)
		return f, together(all).err
	})
}

func loneCallerTargets() []experiment.Target {
	return []experiment.Target{experiment.AtMost("the lone caller's wait, p99 ms", experiment.Level(WaitP99, mutexName), 5)}
}

// contest makes contenders that compete in processes: what jobs of a kind do, and what their tallies come to.
func (b *bench) contest(name string, all []entry, jobs []job, figures func(all []*tally) (experiment.Sample, error),
) (contenders []experiment.Contender, err error) {
	for _, e := range all {
		contenders = append(contenders, experiment.Contender{Name: e.title(), Ours: e.Ours, Play: func(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
			mine, lock := slices.Clone(jobs), b.fresh(name)
			for i := range mine {
				mine[i].Servers, mine[i].Kind, mine[i].Lock = b.URLs, e.title(), lock
			}
			tallies, err := worker.Compete[*tally](ctx, b.Worker, 3*slack+b.Scale.Window, mine) // one that hangs is killed
			if err != nil {
				return nil, err
			}
			experiment.Keep(ctx, together(tallies).Waits)
			return figures(tallies)
		}})
	}
	return contenders, nil
}

// together is what some processes did as one; fairness is that between processes.
func together(all []*tally) *tally {
	sum := &tally{Waits: latency.New()}
	for _, t := range all {
		sum.Counts = append(sum.Counts, t.within())
		sum.All, sum.Violations, sum.Commands = sum.All+t.All, sum.Violations+t.Violations, sum.Commands+t.Commands
		sum.Waits.Add(t.Waits)
		sum.Elapsed = max(sum.Elapsed, t.Elapsed)
		if t.Note != "" {
			sum.err = errors.Join(sum.err, errors.New(t.Note))
		}
	}
	return sum
}

// job is what a process of its own shall do. It goes to its standard input: addresses may hold passwords.
type job struct {
	Servers servers.URLs  `json:"servers"`
	Kind    string        `json:"kind"`
	Lock    string        `json:"lock"`
	Callers int           `json:"callers"`
	Window  time.Duration `json:"window"`
	Think   time.Duration `json:"think"`
}

// Work does one job: that of a process which the lab has started to compete with others. It ends when nobody listens
// any more.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	j, lines, err := worker.Read[job](in)
	if err != nil {
		return err
	}
	all := everybody(j.Servers)
	i := slices.IndexFunc(all, func(e entry) bool { return e.title() == j.Kind })
	if i < 0 {
		return fmt.Errorf("there is no lock %q", j.Kind)
	}
	f, err := openFleet(ctx, all[i], j.Servers, 1, j.Callers)
	if err != nil {
		return err
	}
	f.warmUp(ctx, j.Lock, j.Callers)
	if err := worker.WaitForGo(lines, out); err != nil {
		return errors.Join(err, f.Close())
	}
	t, err := j.do(ctx, f)
	if err == nil {
		err = json.NewEncoder(out).Encode(t)
	}
	return errors.Join(err, f.Close())
}

// do measures, and then looks whether the lock excludes processes from each other.
func (j job) do(ctx context.Context, f *fleet) (*tally, error) {
	t := f.drive(ctx, load{window: j.Window, think: j.Think}, f.locks(j.Lock, j.Callers))
	if t.err != nil {
		t.Note = t.err.Error()
		return t, nil // it would hang again
	}
	company, err := j.lookForCompany(ctx, f)
	t.Violations += company
	return t, err
}

// lookForCompany looks whether anyone of any process is inside together with a caller of this one: whoever is inside
// stands in a counter on Redis. It returns how often there was company.
func (j job) lookForCompany(ctx context.Context, f *fleet) (violations int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, slack)
	defer cancel()
	rdb, err := kinds.OpenRedis(ctx, j.Servers.RedisURL, kinds.Setting{Connections: checkers})
	if err != nil {
		return 0, err
	}
	defer rdb.Close()
	var company atomic.Int64
	var all errgroup.Group
	for _, lock := range f.locks(j.Lock, min(j.Callers, checkers)) {
		all.Go(func() error {
			for range checks {
				inside, err := inside(ctx, lock, rdb, j.Lock+"-inside")
				if err != nil {
					return fmt.Errorf("check exclusion of %s: %w", f.title(), err)
				}
				if inside != 1 {
					company.Add(1)
				}
			}
			return nil
		})
	}
	err = all.Wait()
	return company.Load(), err
}

// inside takes the lock once, and tells how many had it then.
func inside(ctx context.Context, lock kinds.Lock, rdb *redis.Client, counter string) (n int64, err error) {
	held, err := lock.Lock(ctx)
	if err != nil {
		return 0, err
	}
	n, err = rdb.Incr(ctx, counter).Result()
	if err == nil {
		err = errors.Join(rdb.Decr(ctx, counter).Err(), rdb.Expire(ctx, counter, time.Minute).Err())
	}
	return n, errors.Join(err, held.Unlock(context.WithoutCancel(ctx)))
}
