package locking

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// MultiLock is several locks as one, all or nothing. All processes take them in the same order, so that two MultiLocks
// cannot wait for each other. It never waits backwards: if a lock is busy and the owner already holds one that comes
// after it, it gives back what it took and returns ErrBusy. Locks of one name on several servers are in the order of
// the servers' addresses, so all processes must use the same addresses. The clients of Sentinel and of a Ring
// show none; then the MultiLock does not wait for one of these locks while it holds another.
//
// Locks that share a group are taken and released in one round trip if all are free. A lock may be named twice: the second
// time it is re-entered. The parts of a MultiLock among the parts stand in its place. Any other Locker is taken as a unit.
//
// Wait bounds the wait for all of them. Lease is that of every part, and begins for all when the last one was taken: until then they
// have the watchdog's lease, and are renewed. The hold's Token is 0: each part has its own. When one part is lost, so is the hold,
// and nothing renews the others.
func MultiLock(parts ...Locker) *Multi {
	m := &Multi{}
	for _, p := range parts {
		if several, ok := p.(*Multi); ok {
			m.lockers = append(m.lockers, several.lockers...)
		} else {
			m.lockers = append(m.lockers, p)
		}
	}
	return m
}

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

// A step is what a MultiLock does for one of its parts.
type step struct {
	order  string
	target *target // a lock of this package; nil for any other
	other  Locker  // any other Locker
	hold   *Hold   // what was taken
}

// steps returns the steps for the parts, in the order of the arguments.
func (m *Multi) steps() ([]*step, error) {
	if len(m.lockers) == 0 {
		return nil, fmt.Errorf("%w: a MultiLock of nothing", ErrInvalid)
	}
	steps := make([]*step, len(m.lockers))
	for i, p := range m.lockers {
		switch p := p.(type) {
		case nil:
			return nil, fmt.Errorf("%w: a MultiLock with a nil part", ErrInvalid)
		case *Mutex, *FairMutex, *RWSide: // not every single: a type that embeds one may lock in its own way
			a := p.(single).self()
			if a.name == "" {
				return nil, ErrEmptyName
			}
			steps[i] = &step{order: a.order, target: &target{lock: a}}
		case *Red:
			if p.err != nil {
				return nil, p.err
			}
			steps[i] = &step{order: p.order, other: p}
		default:
			steps[i] = &step{order: p.Name(), other: p}
		}
	}
	return steps, nil
}

func (m *Multi) lock(ctx context.Context, try bool, opts []LockOption) (*Hold, error) {
	steps, err := m.steps()
	if err != nil {
		return nil, err
	}
	acq := &acquisition{}
	if err := acq.begins(ctx, try, opts); err != nil {
		return nil, err
	}
	acq.ordered = true
	acq.fixed, acq.waits = false, acq.fixed
	h := &multiHold{}
	acq.ctx = h.begin(acq.ctx, h, len(steps))
	ordered := slices.SortedStableFunc(slices.Values(steps), func(a, b *step) int { return strings.Compare(a.order, b.order) })
	taken, err := acq.takeAll(ordered)
	if err == nil && acq.waits {
		err = acq.begin(taken)
	}
	if err != nil {
		_ = unlockAll(acq.ctx, taken, true)
		h.end(context.Canceled)
		return nil, err
	}
	for _, s := range steps {
		h.parts = append(h.parts, s.hold)
	}
	h.taken = taken
	h.watch()
	return &h.Hold, nil
}

// takeAll takes the locks of all steps in this order. It returns what it has taken, also after an error.
func (acq *acquisition) takeAll(steps []*step) (taken []*Hold, err error) {
	for len(steps) > 0 {
		together := 1
		if first := steps[0]; first.other != nil {
			first.hold, err = acq.takeOther(first)
		} else {
			run := runOf(steps)
			together = len(run)
			if err = acq.take(run); err == nil {
				for i, p := range run {
					steps[i].hold = &p.hold.Hold
				}
			}
		}
		if err != nil {
			return taken, err
		}
		for _, s := range steps[:together] {
			taken = append(taken, s.hold)
		}
		steps = steps[together:]
		acq.hasten(taken)
	}
	for _, h := range singlesOf(taken) {
		if err := h.locks.check(acq, nil); err != nil {
			return taken, err
		}
	}
	for _, h := range taken {
		if h.Context().Err() != nil && endOf(acq.ctx) == nil {
			return taken, errors.Join(fmt.Errorf("locking: a part of a MultiLock ended before the last was taken: %w", ErrLost),
				context.Cause(h.Context()))
		}
	}
	return taken, nil
}

// runOf returns the parts that can be taken together with the first step: each lock once.
func runOf(steps []*step) []*target {
	run := []*target{steps[0].target}
	last := run[0].lock
	for _, s := range steps[1:] {
		if s.target == nil {
			break
		}
		next := s.target.lock
		if next.locks != last.locks || next.kind != last.kind || next.bucket != last.bucket || next.stateKey == last.stateKey {
			break
		}
		run, last = append(run, s.target), next
	}
	return run
}

// takeOther takes any other Locker.
func (acq *acquisition) takeOther(s *step) (*Hold, error) {
	if endOf(acq.ctx) != nil {
		return nil, ended(acq.ctx, nil)
	}
	opts := []LockOption{acq.sameLease}
	if !acq.until.IsZero() {
		opts = append(opts, Wait(max(time.Until(acq.until), 0)))
	}
	if acq.try || acq.owner.holdsAfter(position{order: s.order}) {
		return s.other.TryLock(acq.ctx, opts...)
	}
	acq.waitedForOthers = true
	return s.other.Lock(acq.ctx, opts...)
}

// hasten renews what the watchdog may renew too late, because its answer took long: before the call takes other parts, for
// which it may need the only connection. If the wait may be over before the answer comes, the watchdog does it at once.
func (acq *acquisition) hasten(taken []*Hold) {
	var spare []*singleHold // a RedLock may do without them
	for _, red := range redsOf(taken) {
		spare = append(spare, singlesOf(red.parts)...)
	}
	for _, h := range singlesOf(taken) {
		l := h.locks
		l.mu.Lock()
		late := h.isLateLocked()
		l.mu.Unlock()
		left := h.remaining()
		if late && (acq.within(left) < left || slices.Contains(spare, h)) {
			signal(l.hurry)
		} else if late && l.enter() == nil {
			done := make(chan struct{})
			go func() {
				defer l.calls.Done()
				defer close(done)
				l.renewAt(h.grant, left)
			}()
			select {
			case <-done:
			case <-acq.ctx.Done():
			case <-l.closing:
			}
		}
	}
}

// begin begins the fixed lease of all parts, now that the last one is taken. Until then the server had them for the watchdog's lease,
// so it has to be told. A part of which it does not say so is lost.
func (acq *acquisition) begin(taken []*Hold) error {
	parts := singlesOf(taken)
	enough := make(map[*singleHold]*shortfall)
	for _, red := range redsOf(taken) {
		ctx, cancel := context.WithCancel(acq.ctx)
		defer cancel()
		q := &shortfall{ctx: ctx, cancel: cancel}
		q.parts.Store(int32(red.need))
		for _, part := range singlesOf(red.parts) {
			enough[part] = q
		}
	}
	errs, rooms := make([]error, len(parts)), make(map[*Locks]chan struct{})
	var all sync.WaitGroup
	for i, h := range parts {
		room := rooms[h.locks]
		if room == nil {
			room = make(chan struct{}, atOnce)
			rooms[h.locks] = room
		}
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			ctx, q := acq.ctx, enough[h]
			if q != nil {
				ctx = q.ctx
			}
			errs[i] = h.locks.begin(&acquisition{ctx: ctx, try: acq.try, lease: acq.lease, until: acq.until}, h, parts)
			if q != nil && errs[i] == nil && q.parts.Add(-1) == 0 {
				time.AfterFunc(policy.OfNode(acq.lease), q.cancel)
			}
		})
	}
	all.Wait()
	if endOf(acq.ctx) != nil {
		return ended(acq.ctx, nil)
	}
	if slices.ContainsFunc(taken, func(h *Hold) bool { return h.is().isLost() }) {
		return errors.Join(append([]error{ErrLost}, errs...)...)
	}
	return nil // a RedLock may do without some of its parts
}

// A shortfall is how many parts of a RedLock are still missing. Once there are enough, the others have a moment, as when it is locked.
type shortfall struct {
	ctx    context.Context
	cancel context.CancelFunc
	parts  atomic.Int32
}

// redsOf returns the RedLocks among holds.
func redsOf(holds []*Hold) (reds []*redHold) {
	for _, h := range holds {
		if red, ok := h.held.(*redHold); ok {
			reds = append(reds, red)
			continue
		}
		reds = append(reds, redsOf(h.parts)...)
	}
	return reds
}

// atOnce is how many parts on one server, or on the nodes of a cluster, a MultiLock asks for at the same time.
const atOnce = 8

// begin begins the fixed lease of a part. It asks again after an error that may pass, like any caller that waits.
func (l *Locks) begin(acq *acquisition, h *singleHold, parts []*singleHold) error {
	if err := l.enter(); err != nil {
		l.lose([]*singleHold{h})
		return err
	}
	defer l.calls.Done()
	for {
		if h.isLost() {
			return ErrLost
		}
		start := time.Now()
		ctx, cancel := acq.bounded(start)
		said, err := l.server.Run(ctx, start.Add(policy.Release), l.closing, l.beginning(acq, h, parts), &scripts.Attempt{})
		cancel()
		pause := l.passes(acq, err, true)
		switch {
		case err == nil && said == int64(scripts.NotOurs):
			l.loseGrant(h.grant)
			return ErrLost
		case err == nil:
			l.fix(h, acq.lease, start)
			return nil
		case pause > 0 && !acq.waitIsOver(time.Now()):
			_, err = l.pause(acq, nil, pause, err)
			if err == nil {
				continue
			}
		}
		l.lose([]*singleHold{h})
		return failed("begin the lease of", h.grant.lock.name, err)
	}
}

// beginning returns the script call. The lease of a grant that has other holds, or may get one, must not become shorter.
func (l *Locks) beginning(acq *acquisition, h *singleHold, parts []*singleHold) scripts.Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	g, purpose := h.grant, scripts.ForBegin
	if g.joining > 0 {
		purpose = scripts.ForJoining
	}
	lease := acq.lease
	for _, o := range g.holds {
		switch {
		case slices.Contains(parts, o):
		case o.fixed:
			lease = max(lease, time.Until(o.deadline)+o.lease-trust(o.lease)+time.Millisecond)
		default:
			lease, o.late = max(lease, o.lease), true
		}
	}
	g.told, g.longest = true, max(g.longest, acq.lease)
	g.dropReserveLocked() // the next owner would get what is left of the fixed lease
	return g.renewal(lease, purpose)
}

// fix makes a hold that was renewed until now one with a fixed lease, which has begun.
func (l *Locks) fix(h *singleHold, lease time.Duration, begun time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.lost || h.unlocked {
		return
	}
	h.fixed, h.waits, h.lease = true, false, lease
	h.setDeadlineLocked(begun.Add(trust(lease)))
}

// A multiHold is the hold of a MultiLock.
type multiHold struct {
	jointHold
	taken []*Hold // the parts in the order in which they were taken: so fewest round trips give them back
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
	return unlockAll(ctx, h.taken, lost)
}
