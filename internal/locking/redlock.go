package locking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/quorum"
)

// silences is how many attempts in a row may find less than a quorum that answers: a moment in which the
// network or the machine stands still does not end a long wait.
const silences = 3

// A Red is one lock on several independent servers, of which most must agree: it works while a minority of them is
// down, is slow or has forgotten. On each node it is the Mutex of the same name, so it is reentrant, renewed and bound
// by deadlines like that one. Everybody must name the same nodes.
type Red struct {
	name  string
	nodes []*Mutex
	locks []*Locks // of the nodes
	order string   // where it stands in the order of all locks
	key   string   // its name among an owner's RedLocks
	err   error    // why it can never be locked
}

// RedLock returns the lock of a name on the servers of these Locks, which must be different servers. Use an odd number:
// one more server makes no further failure bearable.
//
// A hold's Token is the same on all nodes, and grows as long as few enough of them forget (see
// PROTOCOL.md). The hold lives while a quorum of its Parts does; each of them counts its lease from its own beginning.
// Wait, Lease and contexts mean what they mean for a Mutex. A node has an eighth of the lease to answer, from 50 to
// 250 ms. If less than a quorum answers, Lock asks twice more, and returns an error that is not ErrBusy. It promises no
// order of waiters.
func RedLock(name string, nodes ...*Locks) *Red {
	r := &Red{name: name, locks: slices.Clone(nodes)}
	if r.err = checkNodes(name, nodes); r.err != nil {
		return r
	}
	var orders, processes []string
	for _, l := range nodes {
		m := l.Mutex(name)
		r.nodes = append(r.nodes, m)
		orders = append(orders, m.order)
		processes = append(processes, l.process)
	}
	slices.Sort(processes)
	r.order = slices.Min(orders)
	r.key = strings.Join(processes, ",") + ":" + name
	return r
}

func checkNodes(name string, nodes []*Locks) error {
	if name == "" {
		return ErrEmptyName
	}
	if len(nodes) == 0 {
		return fmt.Errorf("%w: a RedLock without nodes", ErrInvalid)
	}
	for i, l := range nodes {
		if l == nil {
			return fmt.Errorf("%w: a RedLock with a nil node", ErrInvalid)
		}
		for _, other := range nodes[:i] {
			if l == other || l.address != "" && l.address == other.address {
				return fmt.Errorf("%w: a RedLock with one server twice: %s", ErrInvalid, l.address)
			}
		}
	}
	return nil
}

// Name returns the name that the lock was made with.
func (r *Red) Name() string { return r.name }

// Lock implements Locker.
func (r *Red) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return r.lock(ctx, false, opts)
}

// TryLock implements Locker. It makes one attempt.
func (r *Red) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return r.lock(ctx, true, opts)
}

// quorum is how many nodes must agree.
func (r *Red) quorum() int { return quorum.Of(len(r.nodes)) }

// spare is how many nodes may fail.
func (r *Red) spare() int { return len(r.nodes) - r.quorum() }

// A candidate is one Lock or TryLock of a RedLock.
type candidate struct {
	red    *Red
	call   *acquisition
	ctx    context.Context // of the hold to be, and of its parts
	cancel context.CancelCauseFunc
	owner  *redOwner
	limit  time.Duration   // of a node's answer
	asked  []chan struct{} // holds one element while the node has not answered the last question
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
	defer acq.owner.reds.retire(b.owner)
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
	silent := 0
	for {
		h, busy, err := b.attempt(woken)
		if silent++; errors.Is(err, ErrBusy) {
			silent, waiting = 0, ErrBusy
		}
		switch {
		case err == nil:
			return h, nil
		case b.call.ctx.Err() != nil:
			return nil, ended(b.call.ctx, waiting)
		case b.call.try || silent >= silences || b.call.waitIsOver(time.Now()):
			return nil, err
		}
		woken = b.await(busy, policy.Jitter(pause.Now()))
		if pause.Double(); woken != nil {
			pause.Reset()
		}
	}
}

// A firstNode is what a candidate got while it waited: the lock of one node.
type firstNode struct {
	node int
	hold *Hold
}

func (w *firstNode) holds() []*Hold {
	if w == nil {
		return nil
	}
	return []*Hold{w.hold}
}

// await waits until another attempt makes sense. If all nodes are somebody else's, it waits in the line of a busy node,
// whose release wakes it and gives it that node's lock. Else several candidates may have some nodes each: a random
// pause lets one of them come first.
func (b *candidate) await(busy int, pause time.Duration) *firstNode {
	if !b.call.until.IsZero() {
		pause = min(pause, max(time.Until(b.call.until), 0))
	}
	start := time.Now()
	if busy >= 0 {
		h, err := b.red.nodes[busy].Lock(b.ctx, b.options(pause)...)
		if err == nil {
			return &firstNode{busy, h}
		}
		pause -= time.Since(start) // the next attempt tells what is wrong there
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
	if b.call.kept {
		opts = append(opts, kept)
	}
	return opts
}
