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
	eachProcess = 16 // goroutines
	// checkers are the callers of a process that check exclusion, at most, and checks how often each does.
	checkers, checks = 8, 5
)

// job is what a process of its own does. It goes to its standard input: addresses may hold passwords.
type job struct {
	Servers servers.URLs `json:"servers"`
	Kind    string       `json:"kind"`
	Lock    string       `json:"lock"`
	Clients int          `json:"clients"` // which the callers share
	Callers int          `json:"callers"`
	Load    load         `json:"load"`
}

// meet makes contenders whose callers want one lock. Those of a single job are in this process, where they are warm; several
// jobs have a process each. figures are of the tallies of the jobs; nil: of all together.
func (b *bench) meet(ctx context.Context, all []entry, figures func(all []*tally) experiment.Sample, jobs ...job) (contenders []experiment.Contender, err error) {
	if figures == nil {
		figures = func(all []*tally) experiment.Sample { return together(all).figures() }
	}
	for _, e := range all {
		compete := func(ctx context.Context, lock string) ([]*tally, error) { return b.compete(ctx, e, lock, jobs) }
		if len(jobs) == 1 {
			j := jobs[0]
			f, err := openFleet(ctx, e, b.URLs, j.Clients, j.Callers)
			if err != nil {
				return nil, err
			}
			b.OnClose(f.Close)
			f.warmUp(ctx, b.run+"met", j.Callers)
			compete = func(ctx context.Context, lock string) ([]*tally, error) {
				return []*tally{f.drive(ctx, j.Load, f.locks(lock, j.Callers))}, nil
			}
		}
		contenders = append(contenders, experiment.Contender{Name: e.title(), Ours: e.Ours, Play: func(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
			tallies, err := compete(ctx, b.fresh("met"))
			if err != nil {
				return nil, err
			}
			t := together(tallies)
			return figures(tallies), t.err
		}})
	}
	return contenders, nil
}

// compete has a process do each of the jobs.
func (b *bench) compete(ctx context.Context, e entry, lock string, jobs []job) ([]*tally, error) {
	jobs = slices.Clone(jobs)
	for i := range jobs {
		jobs[i].Servers, jobs[i].Kind, jobs[i].Lock = b.URLs, e.title(), lock
	}
	return worker.Compete[*tally](ctx, b.Worker, 3*slack+b.Scale.Window, jobs) // one that hangs is killed
}

// together is what some processes did as one. Fairness is that between processes.
func together(all []*tally) *tally {
	if len(all) == 1 {
		return all[0]
	}
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

// Work does one job, in a process that the lab has started. It ends when its input does.
func Work(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	j, lines, err := worker.Read[job](in)
	if err != nil {
		return err
	}
	all := everybody(j.Servers)
	i := slices.IndexFunc(all, func(e entry) bool { return e.title() == j.Kind })
	if i < 0 {
		return fmt.Errorf("there is no lock %q", j.Kind)
	}
	f, err := openFleet(ctx, all[i], j.Servers, j.Clients, j.Callers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	f.warmUp(ctx, j.Lock, j.Callers)
	if err := worker.WaitForGo(lines, out); err != nil {
		return err
	}
	t := f.drive(ctx, j.Load, f.locks(j.Lock, j.Callers))
	if t.err != nil {
		t.Note = t.err.Error() // and no check, which would hang again
	} else {
		company, err := j.company(ctx, f)
		if err != nil {
			return fmt.Errorf("check exclusion of %s: %w", f.title(), err)
		}
		t.Violations += company
	}
	return json.NewEncoder(out).Encode(t)
}

// company counts how often a caller of this process has the lock while another caller of any process has it. A counter on
// Redis returns how many have it.
func (j job) company(ctx context.Context, f *fleet) (int64, error) {
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
				n, err := inside(ctx, lock, rdb, j.Lock+"-inside")
				if err != nil {
					return err
				}
				if n != 1 {
					company.Add(1)
				}
			}
			return nil
		})
	}
	err = all.Wait()
	return company.Load(), err
}

// inside takes the lock once, and returns how many callers had it then.
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
