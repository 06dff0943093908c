package locking

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/server"
)

// A candidate is one Lock or TryLock of a RedLock.
type candidate struct {
	red   *Red
	call  *acquisition
	hold  *redHold      // what it will be
	limit time.Duration // how long a node's answer may take
	place *standing     // in the line of a node; or nil
	asked bool          // that node is being asked, too
	split bool          // it had come to the head of its line, and all the same got too few nodes: others have come between
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
	acq := &acquisition{}
	if err := acq.begins(ctx, try, opts); err != nil {
		return nil, err
	}
	lease := acq.leaseOr(maxLease)
	for _, l := range r.locks {
		lease = min(lease, acq.leaseOr(l.lease))
	}
	b := &candidate{
		red: r, call: acq, hold: &redHold{red: r, reds: &acq.owner.reds},
		limit: policy.OfNode(lease),
	}
	acq.ctx = b.hold.begin(acq.ctx, b.hold, r.quorum())
	if err := b.run(); err != nil {
		b.hold.end(context.Canceled)
		return nil, err
	}
	return &b.hold.Hold, nil
}

// run makes attempts until one succeeds, or none can, or the wait runs out.
func (b *candidate) run() error {
	defer b.leaveLine()
	pause := policy.Candidate
	var waiting error
	silent, answered := 0, time.Now()
	for {
		first, err := b.attempt()
		if silent++; errors.Is(err, ErrBusy) {
			silent, answered, waiting = 0, time.Now(), ErrBusy
		}
		switch {
		case err == nil:
			return nil
		case endOf(b.call.ctx) != nil:
			return ended(b.call.ctx, waiting)
		case errors.Is(err, ErrClosed) && !errors.Is(err, ErrBusy): // too few are open and answer
			return err
		case b.call.try || b.call.waitIsOver(time.Now()):
			return err
		case silent >= silences && !(waiting != nil && (server.IsPassing(err) || time.Since(answered) < policy.Outage)):
			return err
		}
		if first >= 0 && !b.split && b.stand(first) {
			pause = policy.Candidate
			continue
		}
		b.rest(policy.Jitter(pause))
		if pause *= 2; pause > policy.LastCandidate {
			pause = policy.Poll
		}
		if first >= 0 && b.split {
			pause = min(pause, policy.LastCandidate)
			b.stand(first) // an owner may have the others: then candidates would take this one from each other
		}
	}
}

// rest lets several candidates that have some nodes each come at different times, so that one of them is first.
func (b *candidate) rest(pause time.Duration) {
	timer := time.NewTimer(b.call.within(pause))
	defer timer.Stop()
	var over chan struct{}
	if b.place != nil {
		over = b.place.over
	}
	select {
	case <-timer.C:
	case <-over:
	case <-b.call.ctx.Done():
	}
}

// silences is how many attempts in a row may find less than a quorum that answers, before the candidate knows that
// the lock is busy; after that it waits as for any other lock.
const silences = 3

// attempt asks for the lock once, on all nodes. If another owner may have it, first is the first node that was busy; else it is
// negative.
func (b *candidate) attempt() (first int, err error) {
	reds := b.hold.reds
	if err := reds.begin(b.call.ctx, b.call.patience()); err != nil {
		return -1, err
	}
	defer reds.end()
	nodes, first, err := b.take()
	if err == nil {
		nodes, err = b.grant(nodes)
	}
	if err != nil {
		giveBackAll(nodes, len(nodes), b.limit)
	}
	return first, err
}

// take takes the lock on a quorum of nodes at least, and as many more as answer in time. Where the candidate stands in line, that
// does it.
//
// Another owner may have the lock if a quorum is busy, or all that answer.
func (b *candidate) take() (nodes []*singleHold, first int, err error) {
	wait := max(b.call.within(b.limit), policy.Grace)
	place, asked := b.place, b.asked // a node that is late may be asked when they are others
	options := []LockOption{Wait(wait), b.call.sameLease}
	p := askAll(b.red.locks, b.red.quorum(), wait, func(i int) (*singleHold, error) {
		if place != nil && place.node == i {
			return place.outcome(b.call.ctx, asked)
		}
		return b.red.nodes[i].acquire(b.call.ctx, true, options)
	}, func(h *singleHold) { _ = h.giveBack() })
	nodes, err = p.agreeing("acquire", b.red.name)
	first = slices.IndexFunc(p.replies, func(r reply) bool { return errors.Is(r.err, ErrBusy) })
	spent := place != nil && place.isOver() && len(place.granted) == 0 // nothing is left that could still be taken
	if b.split = spent && len(nodes) > 0; spent {
		b.leaveLine()
	}
	if len(nodes) > 0 && p.busy < b.red.quorum() {
		first = -1
	}
	return nodes, first, err
}

// grant makes the hold of the nodes that carry its token. The others are given back: each part of a hold carries the hold's
// token. After an error it returns what the caller must give back. The candidate has its owner's turn.
func (b *candidate) grant(nodes []*singleHold) ([]*singleHold, error) {
	h := b.hold
	token := b.token(nodes)
	carriers, err := b.red.level(b.call.ctx, b.limit, nodes, token)
	giveBackAll(slices.DeleteFunc(nodes, func(node *singleHold) bool { return slices.Contains(carriers, node) }), 0, 0)
	if err != nil {
		return carriers, err
	}
	h.parts = nil
	for _, node := range carriers {
		h.parts = append(h.parts, &node.Hold)
	}
	switch {
	case endOf(b.call.ctx) != nil: // granted too late: the caller has gone, so do not admit it
		return carriers, ended(b.call.ctx, nil)
	case h.remaining() == 0: // the leases of a quorum may have run out on the way
		return carriers, failed("acquire", b.red.name, ErrNoAnswer)
	}
	h.reds.mu.Lock()
	if h.grant = h.reds.grants[b.red.key]; h.grant == nil || h.grant.liveLocked() == 0 {
		h.grant = &redGrant{token: token}
		h.reds.grants[b.red.key] = h.grant
	}
	h.grant.holds = append(h.grant.holds, h)
	h.reds.again = true
	h.reds.mu.Unlock()
	h.watch()
	return carriers, nil
}

// token returns the token of what the owner holds, or else of a new grant. It is above those of its nodes if the owner may still
// have what is left of an earlier hold on one of them: it re-enters that, and so gets the token of then.
func (b *candidate) token(nodes []*singleHold) int64 {
	reds := b.hold.reds
	reds.mu.Lock()
	defer reds.mu.Unlock()
	if g := reds.grants[b.red.key]; g != nil && g.liveLocked() > 0 {
		return g.token
	}
	token := int64(0)
	for _, node := range nodes {
		mine := node.token()
		if reds.again || node.count() > 1 {
			mine++
		}
		token = max(token, mine)
	}
	return token
}

// While another owner may have a RedLock, a candidate stands in the line of one node that is busy, like any caller that waits for
// the Mutex there. When the lock is released the node wakes the first in line. It asks the other nodes at the same time as that
// one, so it loses no round trip. Only the first in line asks at all; the others need not.

// A standing is a candidate's place in the line of a node. Its caller there waits in a goroutine.
type standing struct {
	node  int
	leave context.CancelFunc // ends the wait; what has been granted lives on

	// Of the caller in line alone:
	looking bool      // the candidate has been told that the node is asked
	last    time.Time // when it was told before

	look    chan struct{}    // with room for one: the node is being asked
	busy    chan struct{}    // with room for one: it is still busy
	granted chan *singleHold // with room for one: what the node has granted, until somebody takes it
	over    chan struct{}    // closed when the caller no longer stands in line
	err     error            // why the node has granted nothing; to be read when it is over
}

// stand waits in the line of a node, in which the candidate may be already, until another attempt makes sense: the node is asked
// again, or has been for long enough. It reports false if the candidate cannot stand there.
func (b *candidate) stand(node int) bool {
	if b.place == nil && !b.lineUp(node) {
		return false
	}
	p := b.place
	b.asked = false
	timer := time.NewTimer(b.call.within(policy.Missed))
	defer timer.Stop()
	select {
	case <-p.look:
		b.asked = true
	case <-timer.C:
	case <-b.call.ctx.Done():
	case <-p.over:
		if p.err != nil && !errors.Is(p.err, ErrBusy) && !b.call.waitIsOver(time.Now()) {
			b.leaveLine()
			return false
		}
	}
	return true
}

// lineUp puts the candidate in line, and reports whether it could. Close of the node's Locks waits for the goroutine.
func (b *candidate) lineUp(node int) bool {
	m := b.red.nodes[node]
	if m.locks.enter() != nil {
		return false
	}
	ctx, cancel := context.WithCancel(b.call.ctx)
	p := &standing{
		node: node, leave: cancel, last: time.Now(), look: make(chan struct{}, 1), busy: make(chan struct{}, 1),
		granted: make(chan *singleHold, 1), over: make(chan struct{}),
	}
	b.place = p
	options := []LockOption{b.call.sameLease, func(acq *acquisition) error {
		acq.looks, acq.stays, acq.until = p.looks, p.stays, b.call.until
		return nil
	}}
	go func() {
		defer m.locks.calls.Done()
		h, err := m.acquire(ctx, false, options)
		if p.err = err; err == nil {
			p.granted <- h
		}
		close(p.over)
		if ctx.Err() != nil { // the candidate has left the line, or is about to
			p.giveBack()
		}
	}()
	return true
}

// leaveLine gives up the candidate's place, if it has one. A grant that came meanwhile is given back here, or by the caller in line:
// that one looks at its context after the grant, and this one for a grant after it has ended the context.
func (b *candidate) leaveLine() {
	p := b.place
	if p == nil {
		return
	}
	b.place = nil
	if !p.isOver() {
		p.leave()
	}
	p.giveBack()
}

// giveBack gives back what the node has granted too late.
func (p *standing) giveBack() {
	select {
	case h := <-p.granted:
		giveBackAll([]*singleHold{h}, 0, 0)
	default:
	}
}

// outcome returns what the node says: a grant once. If the node is not being asked, it is busy.
func (p *standing) outcome(ctx context.Context, asked bool) (*singleHold, error) {
	if asked {
		select {
		case <-p.over:
		case <-p.busy:
		case <-ctx.Done():
		}
	}
	if !p.isOver() {
		return nil, ErrBusy
	}
	select {
	case h := <-p.granted:
		return h, nil
	default:
		return nil, cmp.Or(p.err, ErrBusy)
	}
}

func (p *standing) isOver() bool { return isClosed(p.over) }

// looks tells the candidate that the caller, who has waited, asks the node: at once when it was woken, else once in a poll.
func (p *standing) looks(woken bool) {
	if !woken && time.Since(p.last) < policy.Poll {
		return
	}
	p.looking, p.last = true, time.Now()
	select { // what it has not heard of is over
	case <-p.busy:
	default:
	}
	signal(p.look)
}

// stays tells the candidate that the node is still busy.
func (p *standing) stays() {
	if p.looking {
		p.looking = false
		signal(p.busy)
	}
}
