package lockbench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"inventory/internal/latency"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/worker"
)

// Worker is the kind of the processes whose callers want a lock.
const Worker = "locks"

// job is what a process does with each lock that it is told the name of.
type job struct {
	Servers servers.URLs  `json:"servers"`
	Kind    string        `json:"kind"`
	Clients int           `json:"clients"` // which the callers share
	Callers int           `json:"callers"`
	Window  time.Duration `json:"window"` // 0: as many times as Times
	Times   int           `json:"times"`
	Hold    time.Duration `json:"hold"`   // how long the lock is held
	Think   time.Duration `json:"think"`  // how long a caller stays away
	Others  bool          `json:"others"` // callers of other processes want it, too
}

const (
	// lease is that of every lock.
	lease = 30 * time.Second
	// poll is how often waiters try that can only poll.
	poll = 50 * time.Millisecond
	// slack is what callers may take beyond their window on a machine that is busy, and longest is for all rounds of a crowd.
	slack, longest = 5 * time.Minute, 24 * time.Hour
	// checkers are the callers of a process that check exclusion, at most, and checks how often each does.
	checkers, checks = 8, 5
)

// Work is a process with some callers.
func Work(ctx context.Context, lab *worker.Lab) (err error) {
	var j job
	if err := lab.Read(&j); err != nil {
		return err
	}
	c := &callers{job: j}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.open(ctx); err != nil {
		return err
	}
	if err := lab.Say("ready"); err != nil {
		return err
	}
	for {
		var lock string
		if lab.Read(&lock) != nil {
			return nil // the lab has closed
		}
		t, err := c.play(ctx, lock)
		if err != nil {
			return err
		}
		if j.Others && t.Error == "" { // otherwise a check would hang again
			company, err := c.company(ctx, lock)
			if err != nil {
				return fmt.Errorf("check exclusion of %s: %w", j.Kind, err)
			}
			t.Violations += company
		}
		if err := lab.Say(t); err != nil {
			return err
		}
	}
}

// play has the callers meet at a lock, and counts what that costs.
func (c *callers) play(ctx context.Context, lock string) (tally, error) {
	before, err := c.spent(ctx)
	if err != nil {
		return tally{}, err
	}
	t := meet(ctx, c.job, c.locks(lock, c.Callers))
	after, err := c.spent(ctx)
	cost := after.since(before)
	t.Commands, t.Allocations, t.Server = cost.commands, cost.allocations, cost.server
	return t, err
}

// callers are those of one process, with their clients.
type callers struct {
	job
	clients []*kinds.Client
	meter   kinds.Meter
	servers []*redis.Client // all Redis servers, to ask how long they work
	servers.Closers
}

// open opens the clients, sends scripts and makes subscriptions before a clock starts.
func (c *callers) open(ctx context.Context) error {
	for range c.Clients {
		client, err := kinds.Open(ctx, c.Kind, kinds.Setting{
			URLs: c.Servers, Lease: lease, Poll: poll,
			Connections: (c.Callers + c.Clients - 1) / c.Clients, Meter: &c.meter,
		})
		if err != nil {
			return fmt.Errorf("open %s: %w", c.Kind, err)
		}
		c.OnClose(client.Close)
		c.clients = append(c.clients, client)
	}
	meet(ctx, job{Times: 1}, c.locks(servers.NewName("warm-"), c.Callers))
	return c.watch(ctx)
}

// locks give each of some callers one lock through its client.
func (c *callers) locks(name string, callers int) []kinds.Lock {
	all := make([]kinds.Lock, callers)
	for i := range all {
		all[i] = c.clients[i%len(c.clients)].Lock(name)
	}
	return all
}

// guard is what a lock guards: two plain integers.
type guard struct{ entered, left, violations int64 }

func (g *guard) enter() {
	if g.entered != g.left {
		g.violations++
	}
	g.entered++
}

func (g *guard) leave() { g.left++ }

// visit is one time that a caller had the lock.
type visit struct{ called, granted, releasing time.Time }

// caller locks and unlocks.
type caller struct {
	job
	lock   kinds.Lock
	guard  *guard
	visits []visit
	counts int64           // of visits within the window
	waits  []time.Duration // also of the wait that failed
	err    error
}

// meet has all callers want one lock, and adds up what each got.
func meet(ctx context.Context, j job, locks []kinds.Lock) tally {
	var g guard
	var back sync.WaitGroup
	all := make([]*caller, len(locks))
	start := time.Now()
	for i, lock := range locks {
		all[i] = &caller{job: j, lock: lock, guard: &g}
		back.Go(func() {
			// Each caller has its own context, as requests have: all would contend for the mutex of a shared one. It is
			// cancelled and has no deadline: libraries differ in what they do with a deadline.
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer time.AfterFunc(j.Window+slack, cancel).Stop()
			all[i].run(ctx, start.Add(j.Window))
		})
	}
	back.Wait()
	took := j.Window
	if took == 0 {
		took = time.Since(start)
	}
	return addUp(all, g, took)
}

// run locks and unlocks until the job is done or something fails.
func (c *caller) run(ctx context.Context, end time.Time) {
	for called := time.Now(); c.more(called, end); {
		hold, err := c.lock(ctx)
		granted := time.Now()
		c.waits = append(c.waits, granted.Sub(called)) // of a failure: at least
		if err != nil {
			c.err = fmt.Errorf("lock: %w", err)
			return
		}
		c.guard.enter()
		if c.Hold > 0 {
			time.Sleep(c.Hold)
		} else {
			runtime.Gosched() // so that a caller that must not be inside has the time to enter
		}
		c.guard.leave()
		c.visits = append(c.visits, visit{called, granted, time.Now()})
		if err := hold.Unlock(context.WithoutCancel(ctx)); err != nil {
			c.err = fmt.Errorf("unlock: %w", err)
			return
		}
		if called = time.Now(); c.Window == 0 || called.Before(end) {
			c.counts++
		}
		if c.Think > 0 && c.more(called, end) {
			time.Sleep(c.Think)
			called = time.Now()
		}
	}
}

// more reports whether the caller locks once more.
func (c *caller) more(now, end time.Time) bool {
	if c.Window > 0 {
		return now.Before(end)
	}
	return len(c.visits) < c.Times
}

// addUp adds up what callers got.
func addUp(all []*caller, g guard, took time.Duration) tally {
	t := tally{Waits: latency.New(), Elapsed: took, Violations: g.violations}
	var visits []visit
	failed := 0
	for _, c := range all {
		t.Counts = append(t.Counts, c.counts)
		for _, wait := range c.waits {
			t.Waits.Record(wait)
		}
		visits = append(visits, c.visits...)
		if c.err != nil {
			failed++
			t.Error = fmt.Sprintf("%d of %d callers failed, one with: %v", failed, len(all), c.err)
		}
	}
	t.All = int64(len(visits))
	t.Violations += max(t.All-g.entered, g.entered-t.All) // counts that got lost
	if all[0].Hold > 0 {
		slices.SortFunc(visits, func(a, b visit) int { return a.granted.Compare(b.granted) })
		t.Idle, t.Overtaken = idle(visits), overtaken(visits)
	}
	return t
}

// company counts how often a caller of this process has the lock while another caller of any process has it. A counter on
// Redis returns how many have it.
func (c *callers) company(ctx context.Context, name string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, slack)
	defer cancel()
	rdb, err := kinds.OpenRedis(ctx, c.Servers.RedisURL, kinds.Setting{Connections: checkers})
	if err != nil {
		return 0, err
	}
	defer rdb.Close()
	var company atomic.Int64
	var all errgroup.Group
	for _, lock := range c.locks(name, min(c.Callers, checkers)) {
		all.Go(func() error {
			for range checks {
				n, err := inside(ctx, lock, rdb, name+"-inside")
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
	held, err := lock(ctx)
	if err != nil {
		return 0, err
	}
	n, err = rdb.Incr(ctx, counter).Result()
	if err == nil {
		err = errors.Join(rdb.Decr(ctx, counter).Err(), rdb.Expire(ctx, counter, time.Minute).Err())
	}
	return n, errors.Join(err, held.Unlock(context.WithoutCancel(ctx)))
}

// The metrics. Those behind violations are of callers who hold.
const (
	perSecond       = "per second"
	waitP50         = "wait p50 ms"
	waitP99         = "wait p99 ms"
	waitMax         = "wait max ms"
	fairness        = "jain"
	commands        = "commands per acquisition"
	allocations     = "allocations per acquisition"
	serverTime      = "server us per acquisition" // of Redis, also for the release
	seconds         = "total seconds"
	violations      = "violations"
	idleP50         = "idle p50 ms"
	orderViolations = "order violations"
	behindAll       = "wait behind all ms" // the p99 of waits; of sleeping it is as long as all clients hold
)

// metrics are those of the report. Rounds of what must not happen are added up: one is too many.
func metrics() []experiment.Metric {
	return []experiment.Metric{
		{Name: perSecond, Exact: true},
		{Name: waitP50},
		{Name: waitP99, Exact: true},
		{Name: waitMax},
		{Name: fairness},
		{Name: commands},
		{Name: allocations},
		{Name: serverTime, Exact: true},
		{Name: seconds},
		{Name: violations, Sum: true},
		{Name: idleP50, Exact: true},
		{Name: orderViolations, Sum: true},
	}
}

// tally is what the callers of a process got from a lock.
type tally struct {
	Counts      []int64            `json:"counts"` // acquisitions of each caller, within the window
	All         int64              `json:"all"`    // acquisitions, with those at the end of the window
	Waits       *latency.Histogram `json:"waits"`
	Elapsed     time.Duration      `json:"elapsed"` // the window, or until the last release
	Violations  int64              `json:"violations"`
	Commands    int64              `json:"commands"`    // that were sent
	Allocations uint64             `json:"allocations"` // of the process
	Server      time.Duration      `json:"server"`      // that Redis worked; 0: not known
	Idle        []float64          `json:"idle"`        // milliseconds from a release to the next grant, of callers who hold
	Overtaken   int64              `json:"overtaken"`   // callers who got the lock before one who had called earlier
	Error       string             `json:"error"`       // what went wrong
}

// together is what some processes did as one. Fairness is that between processes.
func together(all []tally) tally {
	if len(all) == 1 {
		return all[0]
	}
	sum := tally{Waits: latency.New()}
	for _, t := range all {
		sum.Counts = append(sum.Counts, t.within())
		sum.All, sum.Violations, sum.Commands = sum.All+t.All, sum.Violations+t.Violations, sum.Commands+t.Commands
		sum.Allocations += t.Allocations
		sum.Waits.Add(t.Waits)
		sum.Elapsed = max(sum.Elapsed, t.Elapsed)
		if t.Error != "" {
			sum.Error = t.Error
		}
	}
	return sum
}

// within counts the acquisitions of the window.
func (t tally) within() (sum int64) {
	for _, n := range t.Counts {
		sum += n
	}
	return sum
}

// sample are the metrics of a tally, and what went wrong.
func (t tally) sample() (experiment.Sample, error) {
	s := experiment.Sample{
		perSecond:   report.Ratio(float64(t.within()), t.Elapsed.Seconds()),
		waitP50:     report.Quantile(t.Waits, 50),
		waitP99:     report.Quantile(t.Waits, 99),
		waitMax:     report.Quantile(t.Waits, 100),
		fairness:    report.Jain(t.Counts),
		commands:    report.Ratio(float64(t.Commands), float64(t.All)),
		allocations: report.Ratio(float64(t.Allocations), float64(t.All)),
		seconds:     t.Elapsed.Seconds(),
		violations:  float64(t.Violations),
	}
	if len(t.Idle) > 0 {
		s[idleP50], s[orderViolations], s[behindAll] = report.Median(t.Idle), float64(t.Overtaken), s[waitP99]
	}
	if t.Server > 0 {
		s[serverTime] = report.Ratio(float64(t.Server.Microseconds()), float64(t.All))
	}
	if t.Error != "" {
		return s, errors.New(t.Error)
	}
	return s, nil
}

// idle are the milliseconds from the start of a release to the next grant, of releases while a caller waits.
func idle(visits []visit) (gaps []float64) {
	for i, v := range visits {
		waits := func(later visit) bool { return later.called.Before(v.releasing) }
		if after := visits[i+1:]; slices.ContainsFunc(after, waits) {
			gaps = append(gaps, report.Milliseconds(after[0].granted.Sub(v.releasing)))
		}
	}
	return gaps
}

// simultaneous calls have no order that can be known.
const simultaneous = 2 * time.Millisecond

// overtaken counts callers that got the lock before one that had certainly called earlier.
func overtaken(visits []visit) (count int64) {
	for i, v := range visits {
		earlier := func(later visit) bool { return later.called.Before(v.called.Add(-simultaneous)) }
		if slices.ContainsFunc(visits[i+1:], earlier) {
			count++
		}
	}
	return count
}
