package lockbench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/kinds"
)

// load is what each caller does with one lock: again and again for a window, or some times.
type load struct {
	Window time.Duration `json:"window"` // 0: as many times as Times
	Times  int           `json:"times"`
	Hold   time.Duration `json:"hold"`   // how long the lock is held
	Think  time.Duration `json:"think"`  // how long a caller stays away
	Limit  time.Duration `json:"limit"`  // for all of it; 0: the window and half a minute
	Traced bool          `json:"traced"` // keep every visit
}

// slack is what a load may take beyond its window.
const slack = 30 * time.Second

// visit is one time that a caller had the lock.
type visit struct{ called, granted, releasing time.Time }

// tally is what became of a load.
type tally struct {
	Counts     []int64            `json:"counts"` // acquisitions of each caller, within the window
	All        int64              `json:"all"`    // acquisitions, with those at the end of the window
	Waits      *latency.Histogram `json:"waits"`
	Elapsed    time.Duration      `json:"elapsed"` // the window, or until the last release
	Violations int64              `json:"violations"`
	Commands   int64              `json:"commands"` // that were sent
	Note       string             `json:"note"`     // what went wrong in a process of its own

	visits []visit
	err    error // what went wrong
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

// caller locks and unlocks. Its counts can be read while it hangs.
type caller struct {
	lock   kinds.Lock
	load   load
	guard  *guard
	counts atomic.Int64 // within the window
	all    atomic.Int64
	waits  []time.Duration
	visits []visit
	err    error
}

// drive starts callers and waits for them. Each group has one lock.
func drive(ctx context.Context, l load, groups ...[]kinds.Lock) *tally {
	if l.Limit == 0 {
		l.Limit = l.Window + slack
	}
	var callers []*caller
	guards := make([]guard, len(groups))
	for i, group := range groups {
		for _, lock := range group {
			callers = append(callers, &caller{lock: lock, load: l, guard: &guards[i]})
		}
	}
	var wait sync.WaitGroup
	start := time.Now()
	for _, c := range callers {
		wait.Go(func() {
			// Each caller has its own context, as requests have: all would contend for the mutex of a shared one. It is
			// cancelled and has no deadline: libraries differ in what they do with a deadline.
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer time.AfterFunc(l.Limit, cancel).Stop()
			c.run(ctx, start)
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait.Wait()
	}()
	select {
	case <-done:
		return settle(callers, guards, start, l)
	case <-time.After(l.patience()):
		return abandon(callers, l)
	}
}

// patience is how long callers may take to come back: a while longer than their contexts last.
func (l load) patience() time.Duration { return l.Limit + l.Limit/4 + time.Second }

// run locks and unlocks until the load is done or something fails.
func (c *caller) run(ctx context.Context, start time.Time) {
	end := start.Add(c.load.Window)
	for called := time.Now(); c.more(called, end); {
		hold, err := c.lock.Lock(ctx)
		granted := time.Now()
		c.waits = append(c.waits, granted.Sub(called)) // of a failure: at least
		if err != nil {
			c.err = fmt.Errorf("lock: %w", err)
			return
		}
		c.guard.enter()
		if c.load.Hold > 0 {
			time.Sleep(c.load.Hold)
		} else {
			runtime.Gosched() // so that a caller that must not be inside has the time to enter
		}
		c.guard.leave()
		if c.load.Traced {
			c.visits = append(c.visits, visit{called, granted, time.Now()})
		}
		if err := hold.Unlock(context.WithoutCancel(ctx)); err != nil {
			c.err = fmt.Errorf("unlock: %w", err)
			return
		}
		c.all.Add(1)
		if called = time.Now(); c.load.Window == 0 || called.Before(end) {
			c.counts.Add(1)
		}
		if c.load.Think > 0 && c.more(called, end) {
			time.Sleep(c.load.Think)
			called = time.Now()
		}
	}
}

// more reports whether the caller locks once more.
func (c *caller) more(now, end time.Time) bool {
	if c.load.Window > 0 {
		return now.Before(end)
	}
	return c.all.Load() < int64(c.load.Times)
}

// settle adds up callers that have all come back.
func settle(callers []*caller, guards []guard, start time.Time, l load) *tally {
	t := &tally{Waits: latency.New(), Elapsed: l.Window}
	if l.Window == 0 {
		t.Elapsed = time.Since(start)
	}
	t.count(callers)
	failed := 0
	for _, c := range callers {
		for _, wait := range c.waits {
			t.Waits.Record(wait)
		}
		t.visits = append(t.visits, c.visits...)
		if c.err != nil {
			failed++
			t.err = fmt.Errorf("%d of %d callers failed, one with: %w", failed, len(callers), c.err)
		}
	}
	entered := int64(0)
	for _, g := range guards {
		t.Violations += g.violations
		entered += g.entered
	}
	if failed == 0 {
		t.Violations += max(t.All-entered, entered-t.All)
	}
	return t
}

// abandon adds up callers of whom some never came back, and may still write to their other fields.
func abandon(callers []*caller, l load) *tally {
	t := &tally{Waits: latency.New(), Elapsed: l.Limit, err: fmt.Errorf("hung: after %s not all callers had come back", l.patience())}
	t.count(callers)
	t.Waits.Record(l.Limit)
	return t
}

func (t *tally) count(callers []*caller) {
	for _, c := range callers {
		t.Counts = append(t.Counts, c.counts.Load())
		t.All += c.all.Load()
	}
}
