package locking

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"inventory/internal/locking/internal/quorum"
)

// How tokens grow, and what it takes.
//
// Let there be n nodes, and a quorum be q = n/2+1 of them. A candidate takes the Mutex of the name on a quorum
// at least; T is the highest of the tokens minted there. It raises all of them to T, drops those that do not
// confirm, and has the lock only if k >= q nodes carry T: their clock keys are not below it, so whatever they
// mint later is above. The next one has a quorum as well, of which at least q + k - n nodes carry T. Its token
// is their highest, so it is above T unless all of those have forgotten. Only the owner of T itself may meet
// nodes that repeat T instead, for they have not heard of its Unlock: when it comes again, it takes one more
// than the highest. Let f nodes that carry T forget what they knew. Then:
//
//	the next token is greater, and nobody else gets the lock while it is held, as long as f < k + q - n
//
// For the second half: the next one needs q nodes that do not hold the lock, and there are n - k + f. With three
// nodes, k = 2 bears no node that forgets, and k = 3 bears one; of five nodes, k = 3 bears none, and k = 5
// two. That is why a grant waits a moment for the nodes beyond the quorum. Hold.Parts shows k.
//
// Beyond that bound two may hold the lock at once, for up to a lease: until the watchdog of the first finds
// that it has lost its quorum. Tokens still grow then if the time of the nodes that forgot is past T, for tokens
// are microseconds of the server's time: only a clock that has run ahead, or TokenAbove, makes T a later time.
//
// So a node must not come back without its memory while somebody may rely on it. Run the nodes with
// appendfsync always, so that they remember whatever they have confirmed; or start a node that has lost its
// memory only when the longest lease in use has passed, so that it abstains for as long as anybody may
// count on it. The second way keeps the exclusion; for the tokens it relies on clocks. Replicas do not help:
// one that takes over has forgotten what it had not received.

const (
	// nodeShare is which part of the lease a node's answer may take, and nodeBound how long at most. What a
	// round trip gets at least is grace.
	nodeShare = 8
	nodeBound = 250 * time.Millisecond

	// firstPause and lastPause are how long a candidate waits between two attempts, at most: doubled each time.
	firstPause = time.Millisecond
	lastPause  = 50 * time.Millisecond

	// silences is how many attempts in a row may find less than a quorum that answers: a moment in which the
	// network or the machine stands still does not end a long wait.
	silences = 3
)

// A Red is one lock on several independent servers, of which most must agree: it works while a minority of them
// is down, slow or has forgotten. On each node it is the Mutex of the same name, so it re-enters, is renewed
// and has deadlines like that one. Everybody must name the same nodes.
type Red struct {
	name  string
	nodes []*Mutex
	locks []*Locks // of the nodes
	order string   // where it stands in the order of all locks
	key   string   // its name among an owner's RedLocks
	err   error    // why it can never be locked
}

// RedLock returns the lock of a name on the servers of these Locks, which must be different servers: an odd number
// of them, for one more to make it even bears no more that fail.
//
// A hold's Token is the same on all nodes, and grows as long as few enough of them forget (see the package
// comment). The hold lives while a quorum of its Parts does; each of them counts its lease from its own beginning.
// Wait, Lease and contexts mean what they mean for a Mutex. A node has an eighth of the lease to answer, from
// 50 to 250 ms. Where less than a quorum answers, Lock asks twice more, and returns an error that is not ErrBusy.
// Between those who wait it reservations no order.
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
		limit: max(min(lease/nodeShare, nodeBound), grace),
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
	pause := firstPause
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
		woken = b.await(busy, pause)
		if pause = min(2*pause, lastPause); woken != nil {
			pause = firstPause
		}
	}
}

// A wakening is what a candidate got while it waited: the lock of one node.
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

// await waits until another attempt makes sense. Where all was somebody else's, it waits in the line of a busy
// node, whose release wakes it and gives it that node's lock. Else, of several that have got some nodes each,
// one must come first: by chance.
func (b *candidate) await(busy int, pause time.Duration) *firstNode {
	pause = pause/2 + rand.N(pause/2)
	if !b.call.until.IsZero() {
		pause = min(pause, max(time.Until(b.call.until), 0))
	}
	start := time.Now()
	if busy >= 0 {
		h, err := b.red.nodes[busy].Lock(b.ctx, b.options(pause)...)
		if err == nil {
			return &firstNode{busy, h}
		}
		pause -= time.Since(start) // what went wrong there, the next attempt tells
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
	if b.call.fixed {
		return []LockOption{Wait(wait), Lease(b.call.lease)}
	}
	return []LockOption{Wait(wait)}
}
