package lockbench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/locking"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// besideStops is the case of many holds beside a Redis that stops again and again. How many may be lost is in the protocol of the locks.
const besideStops = "beside stops"

// many are holds of one process, all of one lease.
type many struct {
	holds int
	lease time.Duration
	safe  bool // none may be lost, by the protocol
}

// manys are the contenders of the case. A round of renewals needs 12 round trips for 3,000 holds, and one for 250.
func manys(s scale) []many {
	return []many{
		{holds: s.holds, lease: 3 * time.Second},
		{holds: min(s.holds, 250), lease: 3 * time.Second, safe: true},
		{holds: s.holds, lease: 30 * time.Second, safe: true},
	}
}

func (m many) name() string {
	return fmt.Sprintf("%s of %s", report.Count(m.holds, "hold"), m.lease)
}

// Its metrics.
const (
	lost   = "lost"
	stops  = "stops"
	taking = "seconds to take all"
)

// outlast has holds of each kind outlast the stops of a Redis. It needs one that was started for this run.
func outlast(ctx context.Context, s scale, seed uint64, on *servers.Servers) (experiment.Result, error) {
	server := on.Stoppable()
	if server == nil {
		return experiment.Result{}, nil
	}
	all := experiment.Case{Factors: []string{""}, Metrics: []experiment.Metric{{Name: taking}, {Name: stops, Sum: true}, {Name: lost, Sum: true}}}
	for _, m := range manys(s) {
		all.Contenders = append(all.Contenders, experiment.Contender{
			Name: m.name(), Levels: []string{m.name()}, Ours: true,
			Play: func(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
				return m.outlast(ctx, s.stops, server, on.URLs)
			},
		})
		if m.safe {
			all.Targets = append(all.Targets, experiment.AtMost("lost of "+m.name(), experiment.Level(lost, m.name()), 0))
		}
	}
	return experiment.Run(ctx, all, experiment.Rules{Seed: seed, Rounds: 1}), nil
}

// outlast takes the holds, has the server stop again and again, and counts the holds that were lost.
func (m many) outlast(ctx context.Context, times int, server servers.Stoppable, on servers.URLs) (_ experiment.Sample, err error) {
	rdb, err := kinds.OpenRedis(ctx, on.RedisURL, kinds.Setting{Connections: checkers})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rdb.Close()) }()
	locks, err := locking.New(rdb, locking.WatchdogLease(m.lease))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, locks.Close()) }()
	start, name := time.Now(), servers.NewName("stops-")
	holds := make([]*locking.Hold, m.holds)
	if err := each(holds, func(i int) (err error) {
		holds[i], err = locks.Mutex(fmt.Sprint(name, "/", i)).Lock(locking.NewOwner(ctx))
		return err
	}); err != nil {
		return nil, err
	}
	took := time.Since(start)
	if err := stop(ctx, times, server); err != nil {
		return nil, err
	}
	var gone atomic.Int64
	err = each(holds, func(i int) error {
		err := holds[i].Unlock(context.WithoutCancel(ctx))
		if errors.Is(err, locking.ErrLost) {
			gone.Add(1)
			return nil
		}
		return err
	})
	return experiment.Sample{taking: took.Seconds(), stops: float64(times), lost: float64(gone.Load())}, err
}

// each does something with all holds, some at a time.
func each(holds []*locking.Hold, do func(i int) error) error {
	var all errgroup.Group
	all.SetLimit(checkers)
	for i := range holds {
		all.Go(func() error { return do(i) })
	}
	return all.Wait()
}

// stop stops a server for 0.7 to 0.9 s some times, with a tenth of a second in between, more or less. In the end it runs.
func stop(ctx context.Context, times int, server servers.Stoppable) error {
	for range times {
		if err := server.Pause(); err != nil {
			return err
		}
		time.Sleep(700*time.Millisecond + rand.N(200*time.Millisecond))
		if err := server.Resume(); err != nil {
			return err
		}
		time.Sleep(50*time.Millisecond + rand.N(100*time.Millisecond))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
