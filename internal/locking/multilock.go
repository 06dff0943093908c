package locking

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"inventory/internal/locking/internal/policy"
)

// MultiLock is several locks as one, all or nothing. All processes take them in the same order, so that two MultiLocks
// cannot wait for each other. It never waits backwards: if a lock is busy and the owner already holds one that comes
// after it, it gives back what it took and returns ErrBusy. Locks of one name on several servers are in the order of
// the servers' addresses, so all processes must use the same addresses. The clients of Sentinel and of a Ring
// show none; then the MultiLock does not wait for one of these locks while it holds another.
//
// Locks that share a group are taken and released in one round trip if all are free. A lock may be named
// twice. A part may be a MultiLock itself, or any Locker, which is then taken as a unit.
//
// Wait bounds the wait for all of them. Lease is that of every part, and counts from when the last one was taken: if the
// parts are not taken in one round trip, another one restarts it for all. The hold's Token is 0: each part has its own. When
// one part is lost, so is the hold, and nothing renews the others.
func MultiLock(parts ...Locker) *Multi { return &Multi{lockers: slices.Clone(parts)} }

// A Multi is several locks as one. MultiLock makes it.
type Multi struct{ lockers []Locker }

// Name returns the names of the parts, with a plus sign in between.
func (m *Multi) Name() string {
	names := make([]string, len(m.lockers))
	for i, p := range m.lockers {
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

// A single is a Locker of this package that is one lock, or a type that embeds one.
type single interface{ self() *lock }

// A plan is what a MultiLock takes.
type plan struct {
	steps []*step // one for each lock
	named []*step // the steps in the order of the arguments: a lock may be named twice
}

// A step is one lock of a MultiLock, however often it is named.
type step struct {
	order  string
	target *target // a lock of this package; nil for any other
	other  Locker  // any other Locker

	holds []*Hold // what was taken and has not been handed out yet
}

// add adds the parts of a MultiLock to a plan.
func (pl *plan) add(m *Multi) error {
	if len(m.lockers) == 0 {
		return fmt.Errorf("%w: a MultiLock of nothing", ErrInvalid)
	}
	for _, p := range m.lockers {
		var s *step
		switch p := p.(type) {
		case nil:
			return fmt.Errorf("%w: a MultiLock with a nil part", ErrInvalid)
		case *Multi:
			if err := pl.add(p); err != nil {
				return err
			}
			continue
		case *Mutex, *FairMutex, *RWSide: // not every single: a type that embeds one may lock in its own way
			a := p.(single).self()
			if a.name == "" {
				return ErrEmptyName
			}
			if i := slices.IndexFunc(pl.steps, func(s *step) bool { return s.target.is(a) }); i >= 0 {
				pl.steps[i].target.times++
				pl.named = append(pl.named, pl.steps[i])
				continue
			}
			s = &step{order: a.order, target: &target{lock: a, times: 1}}
		case *Red:
			if p.err != nil {
				return p.err
			}
			s = &step{order: p.order, other: p}
		default:
			s = &step{order: p.Name(), other: p}
		}
		pl.steps, pl.named = append(pl.steps, s), append(pl.named, s)
	}
	return nil
}

// hand returns the next hold for a name of this lock.
func (pl *plan) hand() *Hold {
	s := pl.named[0]
	h := s.holds[0]
	pl.named, s.holds = pl.named[1:], s.holds[1:]
	return h
}

// is reports whether a target is this lock, through the same Locks.
func (p *target) is(a *lock) bool {
	return p != nil && p.lock.locks == a.locks && p.lock.stateKey == a.stateKey
}

func (m *Multi) lock(ctx context.Context, try bool, opts []LockOption) (*Hold, error) {
	pl := &plan{}
	if err := pl.add(m); err != nil {
		return nil, err
	}
	slices.SortStableFunc(pl.steps, func(a, b *step) int { return strings.Compare(a.order, b.order) })
	acq, err := newAcquisition(ctx, try, opts)
	if err != nil {
		return nil, err
	}
	acq.ordered = true
	h := &multiHold{}
	acq.ctx = h.begin(acq.ctx, h, len(m.lockers))
	inner := acq.keptAlive // the call belongs to an outer MultiLock, which keeps it longer
	acq.keptAlive = acq.fixed
	stop := acq.keepAlive()
	for left := pl.steps; len(left) > 0 && err == nil; {
		taken := 1
		if left[0].other != nil {
			err = acq.takeOther(left[0])
		} else {
			run := runOf(left)
			err = acq.take(run)
			for i, p := range run {
				for _, h := range p.holds {
					left[i].holds = append(left[i].holds, &h.Hold)
				}
			}
			taken = len(run)
		}
		acq.hasten()
		left = left[taken:]
	}
	stop()
	if err == nil {
		err = acq.complete()
	}
	if err != nil {
		_ = unlockAll(acq.ctx, acq.taken, true)
		h.end(context.Canceled)
		return nil, err
	}
	if acq.keptAlive && !inner {
		endRenewal(acq.taken)
	}
	m.fill(h, pl)
	h.leaves = acq.taken // in this order fewest round trips give them back
	return &h.Hold, nil
}

// runOf returns the parts that can be taken together with the first step.
func runOf(steps []*step) []*target {
	var run []*target
	first := steps[0].target.lock
	for _, s := range steps {
		if s.target == nil || s.target.lock.locks != first.locks || s.target.lock.kind != first.kind || s.target.lock.bucket != first.bucket {
			break
		}
		run = append(run, s.target)
	}
	return run
}

// takeOther takes any other Locker.
func (acq *acquisition) takeOther(s *step) (err error) {
	if endOf(acq.ctx) != nil {
		return ended(acq.ctx, nil)
	}
	var h *Hold
	var opts []LockOption
	if acq.fixed {
		opts = append(opts, Lease(acq.lease), keptAlive)
	}
	if !acq.until.IsZero() {
		opts = append(opts, Wait(max(time.Until(acq.until), 0)))
	}
	if acq.try || acq.owner.holdsAfter(position{order: s.order}) {
		h, err = s.other.TryLock(acq.ctx, opts...)
	} else {
		acq.waitedForOthers = true
		h, err = s.other.Lock(acq.ctx, opts...)
	}
	if err == nil {
		s.holds = []*Hold{h}
		acq.took(h)
		acq.lastBegan = time.Now()
	}
	return err
}

// keepAlive renews the fixed leases of what the call has taken, until stop is called. If one is lost all the same, complete
// notices.
func (acq *acquisition) keepAlive() (stop func()) {
	if !acq.fixed {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		alarm := time.NewTimer(policy.AfterRenewal(acq.lease, true))
		defer alarm.Stop()
		for {
			select {
			case <-alarm.C:
			case <-quit:
				return
			}
			start := time.Now()
			answered, _ := renewHolds(acq.ctx, acq.takenSingles(), acq.renewalBound()) // what is closed, nothing can renew
			alarm.Reset(max(policy.AfterRenewal(acq.lease, answered)-time.Since(start), time.Millisecond))
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// takenSingles returns the holds of single locks that the call has taken so far.
func (acq *acquisition) takenSingles() []*singleHold {
	acq.mu.Lock()
	defer acq.mu.Unlock()
	return singlesOf(acq.taken)
}

// renewalBound is how long a round trip may take that renews a fixed lease. The caller may give up meanwhile.
func (acq *acquisition) renewalBound() time.Duration {
	return min(policy.AfterRenewal(acq.lease, true), policy.CleanerAnswer().First, max(acq.within(acq.lease), policy.Grace))
}

// complete makes sure, after the last part was taken, that the first ones are still held. If a fixed lease may have begun
// before that, it restarts all of them.
func (acq *acquisition) complete() error {
	if acq.fixed && acq.lastBegan.After(acq.firstBegan) {
		if err := acq.restartLeases(); err != nil {
			return err
		}
	}
	if endOf(acq.ctx) != nil {
		return ended(acq.ctx, nil)
	}
	return acq.intact()
}

// restartTries is how often a MultiLock restarts the leases of all parts before it gives up.
const restartTries = 3

// restartLeases begins the fixed leases of all parts anew, of a RedLock those of a quorum.
func (acq *acquisition) restartLeases() error {
	for tries := 1; ; tries++ {
		trusted := time.Now().Add(trust(acq.lease) - time.Millisecond)
		if _, err := renewHolds(acq.ctx, acq.takenSingles(), acq.renewalBound()); err != nil {
			return err
		}
		if err := acq.intact(); err != nil {
			return err
		}
		short := func(h *Hold) bool {
			_, several := h.held.(*multiHold) // of another Locker, whose lease is its own
			return !several && h.Remaining() < time.Until(trusted)
		}
		if !slices.ContainsFunc(acq.taken, short) {
			return nil
		}
		if tries == restartTries || endOf(acq.ctx) != nil || acq.waitIsOver(time.Now()) {
			return ended(acq.ctx, failed("renew the parts of", "a MultiLock", ErrNoAnswer))
		}
	}
}

// intact returns ErrLost if a lock that the call has taken is lost, but not if only the caller has gone.
func (acq *acquisition) intact() error {
	for _, h := range acq.taken {
		if h.Context().Err() != nil && endOf(acq.ctx) == nil {
			return errors.Join(fmt.Errorf("locking: a part of a MultiLock ended before the last was taken: %w", ErrLost),
				context.Cause(h.Context()))
		}
	}
	return nil
}

// endRenewal notes that nothing restarts the fixed leases of these holds any more.
func endRenewal(holds []*Hold) {
	for _, h := range singlesOf(holds) {
		h.locks.mu.Lock()
		h.keptAlive = false
		h.locks.mu.Unlock()
	}
}

// hasten renews, before the call takes other parts, what the watchdog may renew too late: an answer that took long has left
// little of its lease. Meanwhile the call needs no connection. That may be the only one.
func (acq *acquisition) hasten() {
	left := time.Duration(math.MaxInt64)
	var late []*singleHold
	for _, h := range singlesOf(acq.taken) {
		h.locks.mu.Lock()
		if h.isLateLocked() {
			late, left = append(late, h), min(left, time.Until(h.deadline))
		}
		h.locks.mu.Unlock()
	}
	_, _ = renewHolds(acq.ctx, late, min(left, max(acq.within(left), policy.Grace))) // Close ends what is closed
}

// A multiHold is the hold of a MultiLock.
type multiHold struct {
	jointHold
	leaves []*Hold // the holds of single locks and of other Lockers: inner MultiLocks are taken apart
}

// fill sets the parts of a hold to what was taken, in the order of the arguments.
func (m *Multi) fill(h *multiHold, pl *plan) {
	for _, p := range m.lockers {
		var part *Hold
		if inner, ok := p.(*Multi); ok {
			several := &multiHold{}
			several.begin(h.ctx, several, len(inner.lockers))
			inner.fill(several, pl)
			h.leaves, part = append(h.leaves, several.leaves...), &several.Hold
		} else {
			part = pl.hand()
			h.leaves = append(h.leaves, part)
		}
		h.parts = append(h.parts, part)
	}
	h.watch()
}

func (h *multiHold) count() int {
	least := math.MaxInt
	for _, part := range h.parts {
		least = min(least, part.Count())
	}
	return least
}

func (h *multiHold) unlock(ctx context.Context, lost bool) error {
	h.finish()
	return unlockAll(ctx, h.leaves, lost)
}

// finish also ends the holds of the MultiLocks among the parts.
func (h *multiHold) finish() {
	h.jointHold.finish()
	for _, part := range h.parts {
		if inner, ok := part.held.(*multiHold); ok {
			inner.finish()
		}
	}
}
