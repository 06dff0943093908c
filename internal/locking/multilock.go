package locking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// MultiLock is several locks as one, all or nothing. It takes them in one order for everybody, so that
// two of them cannot wait for each other, and never waits backwards: if the owner already holds a lock
// that comes after one that is busy, it gives back what it took and returns ErrBusy. Locks that share a
// group are taken and released in one trip as long as nobody is in the way. A lock may be named twice,
// and a part may be a MultiLock itself, or any Locker, which is then taken as a unit.
//
// Wait bounds the whole, Lease is that of every part, and counts from when the last one was taken: where the parts
// are not taken in one trip, another one begins it for all. The hold's Token is 0: each part has its own. When one part is lost, the whole is lost.
func MultiLock(parts ...Locker) *Multi { return &Multi{parts: slices.Clone(parts)} }

// A Multi is several locks as one. MultiLock makes it.
type Multi struct{ parts []Locker }

// Name returns the names of the parts, with a plus sign in between.
func (m *Multi) Name() string {
	names := make([]string, len(m.parts))
	for i, p := range m.parts {
		if p != nil {
			names[i] = p.Name()
		}
	}
	return strings.Join(names, "+")
}

// Lock implements Locker.
func (m *Multi) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.lock(ctx, false, opts)
}

// TryLock implements Locker.
func (m *Multi) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.lock(ctx, true, opts)
}

// A single is a Locker of ours that is one lock.
type single interface{ self() *lock }

// A step is one lock of a MultiLock, however often it is named.
type step struct {
	order string
	part  *part  // of a lock of ours
	other Locker // something else
	hold  *Hold  // of other

	given int // how many of its holds have been handed out
}

// steps adds what a MultiLock takes to the steps that there are.
func (m *Multi) steps(steps []*step) ([]*step, error) {
	if len(m.parts) == 0 {
		return nil, fmt.Errorf("%w: a MultiLock of nothing", ErrInvalid)
	}
	var err error
	for _, p := range m.parts {
		switch p := p.(type) {
		case nil:
			return nil, fmt.Errorf("%w: a MultiLock with a nil part", ErrInvalid)
		case *Multi:
			if steps, err = p.steps(steps); err != nil {
				return nil, err
			}
		case single:
			a := p.self()
			if a.name == "" {
				return nil, ErrEmptyName
			}
			same := func(s *step) bool { return s.part.is(a) }
			if i := slices.IndexFunc(steps, same); i >= 0 {
				steps[i].part.times++
			} else {
				steps = append(steps, &step{order: a.order, part: &part{lock: a, times: 1}})
			}
		case *Red:
			if p.err != nil {
				return nil, p.err
			}
			steps = append(steps, &step{order: p.order, other: p})
		default:
			steps = append(steps, &step{order: p.Name(), other: p})
		}
	}
	return steps, nil
}

// is tells whether a part is of this lock, through the same Locks.
func (p *part) is(a *lock) bool {
	return p != nil && p.lock.locks == a.locks && p.lock.state == a.state
}

func (m *Multi) lock(ctx context.Context, try bool, opts []LockOption) (*Hold, error) {
	made, err := m.steps(nil)
	if err != nil {
		return nil, err
	}
	steps := slices.Clone(made)
	slices.SortStableFunc(steps, func(a, b *step) int { return strings.Compare(a.order, b.order) })
	c, err := newCall(ctx, try, opts)
	if err != nil {
		return nil, err
	}
	c.ordered = true
	for left := steps; len(left) > 0 && err == nil; {
		if left[0].other != nil {
			err = c.takeOther(left[0])
			left = left[1:]
			continue
		}
		run := runOf(left)
		err = run[0].lock.kind.take(c, run)
		left = left[len(run):]
	}
	if err == nil {
		err = c.complete()
	}
	if err != nil {
		giveUpAll(c.ctx, c.taken)
		return nil, err
	}
	return m.hold(c, made), nil
}

// runOf returns the parts that can be taken together with the first step.
func runOf(steps []*step) []*part {
	var run []*part
	first := steps[0].part.lock
	for _, s := range steps {
		if s.part == nil || s.part.lock.locks != first.locks || s.part.lock.kind != first.kind || s.part.lock.place != first.place {
			break
		}
		run = append(run, s.part)
	}
	return run
}

// takeOther takes a lock of which we know no more than that it is a Locker.
func (c *call) takeOther(s *step) (err error) {
	if c.ctx.Err() != nil {
		return ended(c.ctx, nil)
	}
	var opts []LockOption
	if c.fixed {
		opts = append(opts, Lease(c.lease))
	}
	if c.try || c.who.holdsAfter(s.order) {
		s.hold, err = s.other.TryLock(c.ctx, opts...)
	} else {
		if !c.until.IsZero() {
			opts = append(opts, Wait(max(time.Until(c.until), 0)))
		}
		c.paused = true
		stop := c.keepOn()
		s.hold, err = s.other.Lock(c.ctx, opts...)
		stop()
	}
	if err == nil {
		c.taken = append(c.taken, s.hold)
		c.last = time.Now()
	}
	return err
}

// complete makes sure, after the last part was taken, that the first is still there; and lets a fixed
// lease count from now where it may have begun long ago.
func (c *call) complete() error {
	for tries := 1; c.fixed && c.last.After(c.kept); tries++ {
		if err := c.keep(); err != nil {
			return err
		}
		if c.keptAll() {
			break
		}
		if tries == keepTries || c.ctx.Err() != nil {
			return errors.Join(failed("renew the parts of", "a MultiLock", ErrNoAnswer), c.ctx.Err())
		}
	}
	if c.ctx.Err() != nil {
		return ended(c.ctx, nil)
	}
	return c.intact()
}

// keepTries is how often the leases of all parts are begun anew before a MultiLock gives up.
const keepTries = 3

// keptAll tells whether all leases began with the last try to keep them, or later: of a RedLock on a quorum.
func (c *call) keptAll() bool {
	least := time.Until(c.began.Add(trust(c.lease)))
	for _, h := range c.taken {
		if (h.locks != nil || h.red != nil) && h.Remaining() < least-time.Millisecond {
			return false
		}
	}
	return true
}

// intact returns ErrLost when something that the call has taken is lost already.
func (c *call) intact() error {
	for _, h := range c.taken {
		if h.Context().Err() != nil {
			return errors.Join(fmt.Errorf("locking: a part of a MultiLock ended before the last was taken: %w", ErrLost),
				context.Cause(h.Context()))
		}
	}
	return nil
}

// keepOn is keep, again and again until stop is called, for as long as another Locker is waited for. That
// something was lost is found out in the end.
func (c *call) keepOn() (stop func()) {
	if !c.fixed || len(c.taken) == 0 {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			alarm := time.NewTimer(time.Until(c.kept.Add(c.lease / 3)))
			select {
			case <-alarm.C:
				_ = c.keep()
			case <-quit:
				alarm.Stop()
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// keep begins the fixed leases of what the call has taken anew. A failure is not the end: each hold has
// its own deadline.
func (c *call) keep() error {
	start := time.Now()
	c.began = start
	bound := min(c.lease/3, janitorBound) // of a trip: who waits may be gone by then
	singles := singlesOf(c.taken)
	grants := make(map[*Locks][]*grant)
	for _, h := range singles {
		if !slices.Contains(grants[h.locks], h.grant) {
			grants[h.locks] = append(grants[h.locks], h.grant)
		}
	}
	whole := true
	for l, mine := range grants {
		for chunk := range slices.Chunk(mine, batch) {
			_, kept := l.renewSome(chunk, c.lease, bound, func(h *Hold) bool { return slices.Contains(singles, h) })
			whole = whole && kept
		}
	}
	c.kept = start
	if !whole {
		c.kept = start.Add(-c.lease / 4) // again after a twelfth of the lease
	}
	return c.intact()
}

// singlesOf returns the holds of single locks that these holds consist of.
func singlesOf(holds []*Hold) []*Hold {
	var singles []*Hold
	for _, h := range holds {
		if h.locks != nil {
			singles = append(singles, h)
		}
		singles = append(singles, singlesOf(h.parts)...)
	}
	return singles
}

// hold makes the hold of a MultiLock from what was taken: the parts in the order of the arguments. steps
// are in the order in which they were made.
func (m *Multi) hold(c *call, steps []*step) *Hold {
	h := &Hold{who: c.who, whole: &whole{}, base: c.ctx}
	h.ctx, h.cancel = context.WithCancelCause(c.ctx)
	h.parts = m.assemble(c, steps)
	mine := leavesOf(h.parts)
	h.whole.leaves = slices.DeleteFunc(slices.Clone(c.taken), func(taken *Hold) bool { return !mine[taken] })
	h.whole.hold = h
	for _, part := range h.parts {
		h.whole.stops = append(h.whole.stops, context.AfterFunc(part.Context(), func() {
			if errors.Is(context.Cause(part.Context()), ErrLost) {
				h.end(ErrLost)
			}
		}))
		if part.whole != nil {
			h.whole.inner = append(h.whole.inner, part.whole)
		}
	}
	return h
}

// assemble returns the hold of each part. Those of other Lockers come in the order of the steps.
func (m *Multi) assemble(c *call, steps []*step) []*Hold {
	holds := make([]*Hold, len(m.parts))
	for i, p := range m.parts {
		switch p := p.(type) {
		case *Multi:
			holds[i] = p.hold(c, steps)
		case single:
			mine := steps[slices.IndexFunc(steps, func(s *step) bool { return s.part.is(p.self()) })]
			holds[i] = mine.part.holds[mine.given]
			mine.given++
		default:
			mine := steps[slices.IndexFunc(steps, func(s *step) bool { return s.other != nil && s.given == 0 })]
			holds[i] = mine.hold
			mine.given++
		}
	}
	return holds
}

// leavesOf returns the holds that a MultiLock among the parts is made of, and all other parts.
func leavesOf(parts []*Hold) map[*Hold]bool {
	leaves := make(map[*Hold]bool)
	for _, part := range parts {
		if part.whole == nil {
			leaves[part] = true
			continue
		}
		for _, leaf := range part.whole.leaves {
			leaves[leaf] = true
		}
	}
	return leaves
}

// whole is what the hold of a MultiLock consists of.
type whole struct {
	leaves []*Hold // in the order in which they were taken
	inner  []*whole
	stops  []func() bool
	hold   *Hold
}

// end ends the contexts.
func (w *whole) end() {
	for _, stop := range w.stops {
		stop()
	}
	w.hold.end(context.Canceled)
	for _, inner := range w.inner {
		inner.end()
	}
}

// unlock gives all parts back.
func (w *whole) unlock(ctx context.Context) error {
	w.end()
	return unlockAll(ctx, w.leaves)
}

// unlockAll gives holds back, all at once, and in one trip where they share a place.
func unlockAll(ctx context.Context, holds []*Hold) error {
	groups := sharing(holds)
	errs := make([]error, len(groups))
	var all sync.WaitGroup
	for i, group := range groups {
		all.Go(func() { errs[i] = unlockGroup(ctx, group) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// unlockGroup is unlockAll for holds that share a place.
func unlockGroup(ctx context.Context, group []*Hold) error {
	if l := group[0].locks; l != nil {
		return l.unlock(ctx, group)
	}
	return group[0].Unlock(ctx)
}

// giveUpAll is unlockAll for a call that has failed and has no time to wait. What goes wrong is repeated.
func giveUpAll(ctx context.Context, holds []*Hold) {
	var all sync.WaitGroup
	for _, group := range sharing(holds) {
		all.Go(func() {
			if l := group[0].locks; l != nil && l.enter() == nil {
				defer l.calls.Done()
				l.giveUp(group)
				return
			}
			_ = unlockGroup(ctx, group)
		})
	}
	all.Wait()
}

// sharing splits holds into groups of which each can be released in one trip.
func sharing(holds []*Hold) [][]*Hold {
	var groups [][]*Hold
	for len(holds) > 0 {
		n := 1
		for n < len(holds) && holds[0].locks != nil && holds[0].shares(holds[n]) {
			n++
		}
		groups, holds = append(groups, holds[:n]), holds[n:]
	}
	return groups
}

// shares tells whether two holds can be released in one trip.
func (h *Hold) shares(other *Hold) bool {
	return other.locks == h.locks && h.lock.kind == other.lock.kind && h.lock.place == other.lock.place && h.who == other.who
}
