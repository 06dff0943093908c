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
	red   *Red
	call  *acquisition
	hold  *redHold      // what it will be
	limit time.Duration // how long a node's answer may take
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
		red: r, call: acq, hold: &redHold{red: r, reds: &acq.owner.reds},
		limit: max(min(lease/policy.NodeShare, policy.Node), policy.Grace),
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
	pause := policy.Candidate
	var woken []*singleHold
	var waiting error
	silent, answered := 0, time.Now()
	for {
		busy, err := b.attempt(woken)
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
		woken = b.await(busy, policy.Jitter(pause))
		if pause = min(2*pause, policy.LastCandidate); woken != nil {
			pause = policy.Candidate
		}
	}
}

// await waits until another attempt makes sense. If another owner has all nodes, it waits in the line of a busy node,
// whose release wakes it and gives it that node's lock. Otherwise several candidates may have some nodes each: a random
// pause lets one of them come first.
func (b *candidate) await(busy int, pause time.Duration) (woken []*singleHold) {
	pause = b.call.within(pause)
	start := time.Now()
	if busy >= 0 {
		h, err := b.red.nodes[busy].acquire(b.call.ctx, false, b.options(pause))
		if err == nil {
			return []*singleHold{h}
		}
		pause -= time.Since(start) // the next attempt finds out what is wrong there
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.call.ctx.Done():
	}
	return nil
}

// options are those of the lock on a node.
func (b *candidate) options(wait time.Duration) []LockOption {
	return []LockOption{Wait(wait), b.call.sameLease}
}

// silences is how many attempts in a row may find less than a quorum that answers, before the candidate knows that
// the lock is busy; after that it waits as for any other lock.
const silences = 3

// attempt asks for the lock once, on all nodes but the one that has woken the candidate. If it gets nothing, busy is the first
// node that was busy; else it is negative.
func (b *candidate) attempt(woken []*singleHold) (busy int, err error) {
	reds := b.hold.reds
	if err := reds.begin(b.call.ctx, b.call.patience()); err != nil {
		giveBack(woken, len(woken), b.limit)
		return -1, err
	}
	defer reds.end()
	nodes, busy, err := b.take(woken)
	if err == nil {
		nodes, err = b.grant(nodes)
	}
	if err != nil {
		giveBack(nodes, len(nodes), b.limit)
	}
	return busy, err
}

// take takes the lock on a quorum of nodes at least, and as many more as answer in time.
func (b *candidate) take(woken []*singleHold) (nodes []*singleHold, busy int, err error) {
	wait := max(b.call.within(b.limit), policy.Grace)
	p := askAll(b.red.locks, b.red.quorum(), wait, func(i int) (*singleHold, error) {
		if len(woken) > 0 && woken[0].locks == b.red.locks[i] {
			return woken[0], nil
		}
		return b.red.nodes[i].acquire(b.call.ctx, true, b.options(wait))
	}, func(h *singleHold) { _ = h.giveBack() })
	nodes, err = p.agreeing("acquire", b.red.name)
	if len(nodes) > 0 {
		return nodes, -1, err
	}
	return nil, slices.IndexFunc(p.replies, func(r reply) bool { return errors.Is(r.err, ErrBusy) }), err
}

// grant makes the hold of the nodes that carry its token. The others are given back: each part of a hold carries the hold's
// token. After an error it returns what the caller must give back. The candidate has its owner's turn.
func (b *candidate) grant(nodes []*singleHold) ([]*singleHold, error) {
	h := b.hold
	token := b.token(nodes)
	carriers, err := b.red.level(b.call.ctx, b.limit, nodes, token)
	giveBack(slices.DeleteFunc(nodes, func(node *singleHold) bool { return slices.Contains(carriers, node) }), 0, 0)
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

// token returns the token of what the owner holds, or else of a new grant. That is above those of its nodes if the owner may still
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

// A reply is what a node said: the hold that it has granted, or whose part it is; or an error, ErrNoAnswer until it says
// something.
type reply struct {
	hold *singleHold
	err  error
	node int
}

// A poll is a question to several nodes, with the replies so far.
type poll struct {
	need                 int // how many must agree
	replies              []reply
	agreed, busy, silent int
}

// askAll asks all nodes at once, each in a goroutine, for which Close of the node's Locks waits. It returns when all have
// answered, when the limit has passed, or when it is decided whether enough of them agree and the others have had a moment.
// What is granted too late goes to late, unless that is nil.
func askAll(nodes []*Locks, need int, limit time.Duration, ask func(i int) (*singleHold, error), late func(*singleHold)) *poll {
	p := &poll{need: need, replies: make([]reply, len(nodes)), silent: len(nodes)}
	came, quit := make(chan reply), make(chan struct{}) // without room: what is not received is late
	for i, l := range nodes {
		p.replies[i].err = ErrNoAnswer
		if err := l.enter(); err != nil {
			p.add(reply{err: err, node: i})
			continue
		}
		go func() {
			defer l.calls.Done()
			hold, err := ask(i)
			select {
			case came <- reply{hold, err, i}:
			case <-quit:
				if err == nil && late != nil {
					late(hold)
				}
			}
		}()
	}
	p.collect(came, limit)
	close(quit)
	return p
}

// askParts does something with all parts at once.
func askParts(nodes []*singleHold, need int, limit time.Duration, do func(node *singleHold) error) *poll {
	locks := make([]*Locks, len(nodes))
	for i, node := range nodes {
		locks[i] = node.locks
	}
	return askAll(locks, need, limit, func(i int) (*singleHold, error) { return nodes[i], do(nodes[i]) }, nil)
}

// collect waits for replies. What has come when the time is over still counts.
func (p *poll) collect(came <-chan reply, limit time.Duration) {
	start := time.Now()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for hurry := false; p.silent > 0; {
		if !hurry && p.decided() {
			hurry = true
			took := time.Since(start)
			timer.Reset(min(max(2*took, policy.Straggle), limit-took))
		}
		select {
		case r := <-came:
			p.add(r)
		case <-timer.C:
			for {
				select {
				case r := <-came:
					p.add(r)
				default:
					return
				}
			}
		}
	}
}

func (p *poll) add(r reply) {
	p.replies[r.node] = r
	p.silent--
	if r.err == nil {
		p.agreed++
	} else if errors.Is(r.err, ErrBusy) {
		p.busy++
	}
}

// decided reports whether enough have answered, one way or the other, or not enough can agree any more.
//
// A candidate that has some nodes and not enough must not keep them while others are silent: two that did so would be in each
// other's way for ever. One that has none keeps nobody from anything. It waits while those who are silent can still make
// sure that the lock is busy, which is no fault.
func (p *poll) decided() bool {
	switch {
	case p.agreed+p.busy >= p.need:
		return true
	case p.agreed > 0:
		return p.agreed+p.silent < p.need
	default:
		return p.busy+p.silent < p.need
	}
}

// agreeing returns the holds of the nodes that agree, and an error if they are too few: ErrBusy if enough nodes have answered,
// joined with the errors of the others.
func (p *poll) agreeing(verb, name string) (nodes []*singleHold, err error) {
	for _, reply := range p.replies {
		if reply.err == nil {
			nodes = append(nodes, reply.hold)
		} else if !errors.Is(reply.err, ErrBusy) {
			err = errors.Join(err, reply.err)
		}
	}
	switch {
	case p.agreed >= p.need:
		return nodes, nil
	case p.agreed+p.busy >= p.need:
		return nodes, errors.Join(ErrBusy, err)
	default:
		return nodes, failed(verb, name, err)
	}
}
