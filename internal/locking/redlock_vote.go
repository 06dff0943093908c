package locking

import (
	"context"
	"errors"
	"slices"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/server"
)

// A candidate is one Lock or TryLock of a RedLock.
type candidate struct {
	red    *Red
	call   *acquisition
	ctx    context.Context // will be the context of the hold; those of its parts are made from it
	cancel context.CancelCauseFunc
	owner  *redOwner
	limit  time.Duration   // how long a node's answer may take
	asked  []chan struct{} // holds one element while the node has not answered the last question
}

// Lock implements Locker.
func (r *Red) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return r.lock(ctx, false, opts)
}

// TryLock implements Locker. It makes one attempt.
func (r *Red) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return r.lock(ctx, true, opts)
}

func (r *Red) lock(ctx context.Context, try bool, opts []LockOption) (*Hold, error) {
	if r.err != nil {
		return nil, r.err
	}
	acq, err := newAcquisition(ctx, try, opts)
	if err != nil {
		return nil, err
	}
	lease := acq.leaseOr(maxLease)
	for _, l := range r.locks {
		lease = min(lease, acq.leaseOr(l.lease))
	}
	b := &candidate{
		red: r, call: acq, owner: acq.owner.reds.of(r.key),
		limit: max(min(lease/policy.NodeShare, policy.Node), policy.Grace),
		asked: make([]chan struct{}, len(r.nodes)),
	}
	for i := range b.asked {
		b.asked[i] = make(chan struct{}, 1)
	}
	defer b.owner.retire()
	b.renew()
	h, err := b.run()
	if err != nil {
		b.cancel(context.Canceled)
		return nil, err
	}
	return h, nil
}

// renew makes the context of a hold: each has its own.
func (b *candidate) renew() { b.ctx, b.cancel = context.WithCancelCause(b.call.ctx) }

// run makes attempts until one succeeds, or none can, or the wait runs out.
func (b *candidate) run() (*Hold, error) {
	pause := policy.Candidates()
	var woken *firstNode
	var waiting error
	silent, answered := 0, time.Now()
	for {
		h, busy, err := b.attempt(woken)
		if silent++; errors.Is(err, ErrBusy) {
			silent, answered, waiting = 0, time.Now(), ErrBusy
		}
		switch {
		case err == nil:
			return h, nil
		case endOf(b.call.ctx) != nil:
			return nil, ended(b.call.ctx, waiting)
		case b.isClosed():
			return nil, ErrClosed
		case b.call.try || b.call.waitIsOver(time.Now()):
			return nil, err
		case silent >= silences && !(waiting != nil && (server.IsPassing(err) || time.Since(answered) < policy.Outage)):
			return nil, err
		}
		woken = b.await(busy, policy.Jitter(pause.Now()))
		if pause.Double(); woken != nil {
			pause.Reset()
		}
	}
}

// isClosed reports whether too few Locks are open for a quorum.
func (b *candidate) isClosed() bool {
	closed := 0
	for _, l := range b.red.locks {
		if errors.Is(l.check(b.call, nil), ErrClosed) {
			closed++
		}
	}
	return closed > b.red.mayFail()
}

// A firstNode is what a candidate got while it waited: the lock of one node.
type firstNode struct {
	node int
	hold *singleHold
}

func (w *firstNode) holds() []*singleHold {
	if w == nil {
		return nil
	}
	return []*singleHold{w.hold}
}

// await waits until another attempt makes sense. If another owner has all nodes, it waits in the line of a busy node,
// whose release wakes it and gives it that node's lock. Otherwise several candidates may have some nodes each: a random
// pause lets one of them come first.
func (b *candidate) await(busy int, pause time.Duration) *firstNode {
	pause = b.call.within(pause)
	start := time.Now()
	if busy >= 0 {
		h, err := b.red.nodes[busy].acquire(b.ctx, false, b.options(pause))
		if err == nil {
			return &firstNode{busy, h}
		}
		pause -= time.Since(start) // the next attempt finds out what is wrong there
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.ctx.Done():
	}
	return nil
}

// options are those of the lock on a node.
func (b *candidate) options(wait time.Duration) []LockOption {
	opts := []LockOption{Wait(wait)}
	if b.call.fixed {
		opts = append(opts, Lease(b.call.lease))
	}
	if b.call.keptAlive {
		opts = append(opts, keptAlive)
	}
	return opts
}

// silences is how many attempts in a row may find less than a quorum that answers, before the candidate knows that
// the lock is busy; after that it waits as for any other lock.
const silences = 3

// attempt asks for the lock once, on all nodes. If it gets nothing, busy is the first node that was busy; else it is
// negative.
func (b *candidate) attempt(woken *firstNode) (h *Hold, busy int, err error) {
	if err := b.owner.begin(b.ctx, b.call.patience()); err != nil {
		b.giveBack(woken.holds())
		return nil, -1, err
	}
	defer b.owner.end()
	nodes, busy, err := b.take(woken)
	if err != nil {
		b.giveBack(nodes)
		return nil, busy, err
	}
	token := b.owner.token(nodes)
	carriers, err := b.level(nodes, token)
	if err != nil {
		b.giveBack(carriers)
		return nil, -1, err
	}
	r := b.grant(carriers, token)
	switch {
	case endOf(b.call.ctx) != nil: // granted too late: the caller has gone, so do not admit it
		err = ended(b.call.ctx, nil)
	case r.remaining() == 0: // the leases of a quorum may have run out on the way
		err = failed("acquire", b.red.name, ErrNoAnswer)
	default:
		return &r.Hold, -1, nil
	}
	_ = r.Unlock(b.call.ctx) // what fails here is repeated in the background
	b.renew()                // that has ended with the hold
	return nil, -1, err
}

// take takes the lock on a quorum of nodes at least, and as many more as answer in time.
func (b *candidate) take(woken *firstNode) (nodes []*singleHold, busy int, err error) {
	wait := max(b.call.within(b.limit), policy.Grace)
	ctx := b.ctx // the candidate may have another context when a late question uses this one
	replies := askAll(b.red.locks, b.red.quorum(), wait, func(i int, quit <-chan struct{}) (*singleHold, error) {
		if woken != nil && woken.node == i {
			return woken.hold, nil
		}
		select {
		case b.asked[i] <- struct{}{}:
		case <-quit:
			return nil, ErrNoAnswer // it has not answered the last question yet
		}
		defer func() { <-b.asked[i] }()
		return b.red.nodes[i].acquire(ctx, true, b.options(wait))
	}, func(h *singleHold) { _ = h.giveBack() })
	nodes, err = b.red.agreeing("acquire", replies)
	if len(nodes) > 0 {
		return nodes, -1, err
	}
	return nil, slices.IndexFunc(replies, func(r reply) bool { return errors.Is(r.err, ErrBusy) }), err
}

// token returns the token of what the owner holds, or else of a new grant, which is above that of any earlier one. A node
// that did not receive the owner's last release still counts that hold, and repeats its token.
func (o *redOwner) token(nodes []*singleHold) (token int64) {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	if o.liveLocked() > 0 {
		return o.grant.number
	}
	for _, node := range nodes {
		mine := node.token()
		if o.all.again || node.count() > 1 {
			mine++
		}
		token = max(token, mine)
	}
	return token
}

// level raises all parts to a token, and returns those that carry it. The others are given back: each part of a
// hold carries the hold's token.
func (b *candidate) level(nodes []*singleHold, token int64) ([]*singleHold, error) {
	carriers, err := b.red.level(b.ctx, b.limit, nodes, token)
	others := slices.DeleteFunc(slices.Clone(nodes), func(node *singleHold) bool { return slices.Contains(carriers, node) })
	release(others, 0, 0)
	return carriers, err
}

// giveBack gives parts back, and waits for slow nodes as long as for any answer.
func (b *candidate) giveBack(nodes []*singleHold) { release(nodes, len(nodes), b.limit) }

// grant makes a hold. The candidate has its owner's turn.
func (b *candidate) grant(nodes []*singleHold, token int64) *redHold {
	h := &redHold{Hold: Hold{base: b.call.ctx, ctx: b.ctx, cancel: b.cancel}, red: b.red, owner: b.owner, nodes: nodes}
	h.held = h
	for _, node := range nodes {
		h.parts = append(h.parts, &node.Hold)
	}
	reds := &b.call.owner.reds
	reds.mu.Lock()
	reds.again = true
	if b.owner.liveLocked() == 0 {
		b.owner.grant = &redGrant{number: token}
	}
	h.grant = b.owner.grant
	h.grant.holds = append(h.grant.holds, h)
	reds.mu.Unlock()
	for _, node := range nodes {
		h.stops = append(h.stops, context.AfterFunc(node.ctx, h.partEnded))
	}
	return h
}
