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

// MultiLock is several locks as one, all or nothing. Everybody takes them in the same order, so that two MultiLocks
// cannot wait for each other. It never waits backwards: if a lock is busy and the owner already holds one that comes
// after it, it gives back what it took and returns ErrBusy. Locks that share a group are taken and released in one
// round trip as long as nobody is in the way. A lock may be named twice. A part may be a MultiLock itself, or any
// Locker, which is then taken as a unit.
//
// Wait bounds the whole. Lease is that of every part, and counts from when the last one was taken: if the parts are not
// taken in one round trip, another one begins it anew for all. The hold's Token is 0: each part has its own. When one
// part is lost, the whole is lost.
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
	return p != nil && p.lock.locks == a.locks && p.lock.stateKey == a.stateKey
}

func (m *Multi) lock(ctx context.Context, try bool, opts []LockOption) (*Hold, error) {
	made, err := m.steps(nil)
	if err != nil {
		return nil, err
	}
	steps := slices.Clone(made)
	slices.SortStableFunc(steps, func(a, b *step) int { return strings.Compare(a.order, b.order) })
	acq, err := newAcquisition(ctx, try, opts)
	if err != nil {
		return nil, err
	}
	acq.ordered = true
	inner := acq.kept // of another MultiLock, which keeps it on
	acq.kept = acq.fixed
	for left := steps; len(left) > 0 && err == nil; {
		if left[0].other != nil {
			err = acq.takeOther(left[0])
			left = left[1:]
			continue
		}
		run := runOf(left)
		err = run[0].lock.kind.take(acq, run)
		left = left[len(run):]
	}
	if err == nil {
		err = acq.complete()
	}
	if err != nil {
		giveUpAll(acq.ctx, acq.taken)
		return nil, err
	}
	if acq.kept && !inner {
		endKeeping(acq.taken)
	}
	return m.hold(acq, made), nil
}

// runOf returns the parts that can be taken together with the first step.
func runOf(steps []*step) []*part {
	var run []*part
	first := steps[0].part.lock
	for _, s := range steps {
		if s.part == nil || s.part.lock.locks != first.locks || s.part.lock.kind != first.kind || s.part.lock.bucket != first.bucket {
			break
		}
		run = append(run, s.part)
	}
	return run
}

// takeOther takes a lock of which we only know that it is a Locker.
func (acq *acquisition) takeOther(s *step) (err error) {
	if endOf(acq.ctx) != nil {
		return ended(acq.ctx, nil)
	}
	var opts []LockOption
	if acq.fixed {
		opts = append(opts, Lease(acq.lease), kept)
	}
	if acq.try || acq.owner.holdsAfter(s.order) {
		s.hold, err = s.other.TryLock(acq.ctx, opts...)
	} else {
		if !acq.until.IsZero() {
			opts = append(opts, Wait(max(time.Until(acq.until), 0)))
		}
		acq.waitedForOthers = true
		stop := acq.keepOn()
		s.hold, err = s.other.Lock(acq.ctx, opts...)
		stop()
	}
	if err == nil {
		acq.taken = append(acq.taken, s.hold)
		acq.lastBegan = time.Now()
	}
	return err
}

// hold makes the hold of a MultiLock from what was taken: the parts in the order of the arguments. steps
// are in the order in which they were made.
func (m *Multi) hold(acq *acquisition, steps []*step) *Hold {
	w := &multiHold{}
	h := &Hold{owner: acq.owner, whole: w, base: acq.ctx}
	h.ctx, h.cancel = context.WithCancelCause(acq.ctx)
	h.parts = m.assemble(acq, steps)
	mine := leavesOf(h.parts)
	w.leaves = slices.DeleteFunc(slices.Clone(acq.taken), func(taken *Hold) bool { return !mine[taken] })
	w.hold = h
	for _, part := range h.parts {
		w.stops = append(w.stops, context.AfterFunc(part.Context(), func() {
			if errors.Is(context.Cause(part.Context()), ErrLost) {
				h.end(ErrLost)
			}
		}))
		if inner, ok := part.whole.(*multiHold); ok {
			w.inner = append(w.inner, inner)
		}
	}
	return h
}

// assemble returns the hold of each part. Those of other Lockers come in the order of the steps.
func (m *Multi) assemble(acq *acquisition, steps []*step) []*Hold {
	holds := make([]*Hold, len(m.parts))
	for i, p := range m.parts {
		switch p := p.(type) {
		case *Multi:
			holds[i] = p.hold(acq, steps)
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
		inner, ok := part.whole.(*multiHold)
		if !ok {
			leaves[part] = true
			continue
		}
		for _, leaf := range inner.leaves {
			leaves[leaf] = true
		}
	}
	return leaves
}

// A multiHold is what the hold of a MultiLock consists of.
type multiHold struct {
	leaves []*Hold // in the order in which they were taken
	inner  []*multiHold
	stops  []func() bool
	hold   *Hold
}

// end ends the contexts.
func (w *multiHold) end() {
	for _, stop := range w.stops {
		stop()
	}
	w.hold.end(context.Canceled)
	for _, inner := range w.inner {
		inner.end()
	}
}

// token is 0: each part has its own.
func (w *multiHold) token() int64 { return 0 }

func (w *multiHold) tokenAbove(_ context.Context, n int64) (int64, error) { return 0, noTokenAbove(n) }

// remaining is that of the shortest part.
func (w *multiHold) remaining() time.Duration {
	least := maxLease
	for _, part := range w.hold.parts {
		least = min(least, part.Remaining())
	}
	return least
}

// count is that of the part that the owner has least of.
func (w *multiHold) count() int {
	least := w.hold.parts[0].Count()
	for _, part := range w.hold.parts[1:] {
		least = min(least, part.Count())
	}
	return least
}

// unlock gives all parts back.
func (w *multiHold) unlock(ctx context.Context) error {
	w.end()
	return unlockAll(ctx, w.leaves)
}

// unlockAll gives holds back, all at once; those that share a bucket in one round trip.
func unlockAll(ctx context.Context, holds []*Hold) error {
	groups := sharing(holds)
	if len(groups) == 1 {
		return unlockGroup(ctx, groups[0]) // the stack of another goroutine would have to grow first
	}
	errs := make([]error, len(groups))
	var all sync.WaitGroup
	for i, group := range groups {
		all.Go(func() { errs[i] = unlockGroup(ctx, group) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// unlockGroup is unlockAll for holds that share a bucket.
func unlockGroup(ctx context.Context, group []*Hold) error {
	if l := group[0].locks; l != nil {
		return l.unlock(ctx, group)
	}
	return group[0].Unlock(ctx)
}

// giveUpAll is unlockAll for an acquisition that has failed and has no time to wait. What fails is repeated.
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

// sharing splits holds into groups of which each can be released in one round trip.
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

// shares tells whether two holds can be released in one round trip.
func (h *Hold) shares(other *Hold) bool {
	return other.locks == h.locks && h.lock.kind == other.lock.kind && h.lock.bucket == other.lock.bucket && h.owner == other.owner
}
