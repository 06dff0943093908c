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

// load is what each of some callers does with one lock: again and again for a window of time, or some times.
type load struct {
	Window time.Duration `json:"window"` // 0: as many times as Times says
	Times  int           `json:"times"`
	Hold   time.Duration `json:"hold"`   // how long it is held
	Think  time.Duration `json:"think"`  // how long a caller stays away
	Limit  time.Duration `json:"limit"`  // for all of it; 0: the window and half a minute
	Traced bool          `json:"traced"` // keep every visit
}

// slack is what a load may take beyond its window, or at all where it has none.
const slack = 30 * time.Second

// visit is one time that a caller had the lock.
type visit struct{ called, granted, releasing time.Time }

// patience is how long callers may take to come back: a while longer than their contexts last.
func (l load) patience() time.Duration { return l.Limit + l.Limit/4 + time.Second }

// tally is what became of a load.
type tally struct {
	Counts     []int64            `json:"counts"` // acquisitions of each caller, within the window
	All        int64              `json:"all"`    // acquisitions, those at the end of the window included
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

// caller is one who locks and unlocks.
type caller struct {
	lock   kinds.Lock
	load   load
	guard  *guard
	counts atomic.Int64 // within the window
	all    atomic.Int64
	waits  []time.Duration
	last   time.Time // release
	visits []visit
	err    error
}

// drive lets callers loose and waits for them. Each group is of one lock.
func drive(ctx context.Context, l load, groups ...[]kinds.Lock) *tally {
	var callers []*caller
	guards := make([]guard, len(groups))
	for i, group := range groups {
		for _, h := range group {
			callers = append(callers, &caller{lock: h, load: l, guard: &guards[i]})
		}
	}
	if l.Limit == 0 {
		l.Limit = l.Window + slack
	}
	var wait sync.WaitGroup
	start := time.Now()
	for _, c := range callers {
		wait.Go(func() {
			// A context each, as requests have: one for all would be a lock that all of them meet at. It can be
			// cancelled, and has no deadline, for what a library does about that is its own affair.
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
	timer := time.NewTimer(l.patience())
	defer timer.Stop()
	select {
	case <-done:
		return settle(callers, guards, start, l)
	case <-timer.C:
		return abandon(callers, l)
	}
}

// run locks and unlocks until the load is done or something goes wrong.
func (c *caller) run(ctx context.Context, start time.Time) {
	end := start.Add(c.load.Window)
	after := context.WithoutCancel(ctx) // to give back what was taken at the last moment
	for called := time.Now(); c.more(called, end); {
		held, err := c.lock.Lock(ctx)
		granted := time.Now()
		if err != nil {
			c.err = fmt.Errorf("lock: %w", err)
			c.waits = append(c.waits, granted.Sub(called)) // it would have been longer
			return
		}
		c.guard.enter()
		if c.load.Hold > 0 {
			time.Sleep(c.load.Hold)
		} else {
			runtime.Gosched() // or else nobody who must not be there would have the time to come in
		}
		c.guard.leave()
		if c.load.Traced {
			c.visits = append(c.visits, visit{called, granted, time.Now()})
		}
		if err := held.Unlock(after); err != nil {
			c.err = fmt.Errorf("unlock: %w", err)
			return
		}
		c.waits = append(c.waits, granted.Sub(called))
		released := time.Now()
		c.released(released, end)
		if called = released; c.load.Think > 0 {
			time.Sleep(c.load.Think)
			called = time.Now()
		}
	}
}

// more tells whether the caller shall lock once more.
func (c *caller) more(now, end time.Time) bool {
	if c.load.Window > 0 {
		return now.Before(end)
	}
	return c.all.Load() < int64(c.load.Times)
}

// released counts an acquisition that has ended.
func (c *caller) released(at, end time.Time) {
	c.last = at
	c.all.Add(1)
	if c.load.Window == 0 || at.Before(end) {
		c.counts.Add(1)
	}
}

// settle adds up what callers did that have all come back.
func settle(callers []*caller, guards []guard, start time.Time, l load) *tally {
	t := &tally{Waits: latency.New(), Elapsed: l.Window}
	failed, last := 0, start
	var first error
	for _, c := range callers {
		t.Counts = append(t.Counts, c.counts.Load())
		t.All += c.all.Load()
		for _, wait := range c.waits {
			t.Waits.Record(wait)
		}
		t.visits = append(t.visits, c.visits...)
		if c.last.After(last) {
			last = c.last
		}
		if c.err != nil {
			failed++
			first = c.err
		}
	}
	if l.Window == 0 {
		t.Elapsed = last.Sub(start)
	}
	var entered int64
	for _, g := range guards {
		t.Violations += g.violations
		entered += g.entered
	}
	if failed == 0 {
		t.Violations += max(t.All-entered, entered-t.All)
		return t
	}
	if l.Window == 0 {
		t.Elapsed = time.Since(start) // it was not done with the last release
	}
	t.err = fmt.Errorf("%d of %d callers failed, one with: %w", failed, len(callers), first)
	return t
}

// abandon adds up what callers did of whom some never came back. What they still write to is theirs.
func abandon(callers []*caller, l load) *tally {
	t := &tally{Waits: latency.New(), Elapsed: l.Limit, err: fmt.Errorf("hung: after %s not all callers had come back", l.patience())}
	for _, c := range callers {
		t.Counts = append(t.Counts, c.counts.Load())
		t.All += c.all.Load()
	}
	t.Waits.Record(l.Limit)
	return t
}
