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
	"inventory/internal/locking/internal/scripts"
)

// A Red is one lock on several independent servers, of which most must agree: it works while a minority of them is
// down, is slow or has forgotten. On each node it is the Mutex of the same name, so it is reentrant, renewed and bound
// by deadlines like a Mutex. All processes must name the same nodes.
type Red struct {
	name  string
	nodes []*Mutex
	locks []*Locks // how to reach the nodes
	order string   // where it stands in the order of all locks
	key   string   // its name among an owner's RedLocks
	err   error    // why it can never be locked
}

// RedLock returns the lock of a name on the servers of these Locks, which must be different servers. Use an odd number: one
// more server would not allow one more failure.
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

// quorum is how many nodes must agree.
func (r *Red) quorum() int { return len(r.nodes)/2 + 1 }

// mayFail is how many nodes may fail.
func (r *Red) mayFail() int { return len(r.nodes) - r.quorum() }

// agreeing returns the holds of the nodes that succeeded, and an error if they are no quorum: ErrBusy if enough nodes have
// answered, joined with the errors of the others.
func (r *Red) agreeing(verb string, replies []reply) (nodes []*singleHold, err error) {
	busy := 0
	var errs []error
	for i, reply := range replies {
		switch {
		case reply.err == nil:
			nodes = append(nodes, reply.hold)
		case errors.Is(reply.err, ErrBusy):
			busy++
		default:
			errs = append(errs, fmt.Errorf("node %d: %w", i, reply.err))
		}
	}
	answered := len(nodes) + busy
	switch {
	case len(nodes) >= r.quorum():
		return nodes, nil
	case answered >= r.quorum():
		return nodes, errors.Join(append([]error{ErrBusy}, errs...)...)
	default:
		return nodes, fmt.Errorf("locking: %s %q: %d of %d nodes answered: %w", verb, r.name, answered, len(replies), errors.Join(errs...))
	}
}

// raiseAll gives parts another token, and returns those that have got it. They are a quorum if there is no error.
func (r *Red) raiseAll(nodes []*singleHold, limit time.Duration, raise func(node *singleHold) error) (raised []*singleHold, err error) {
	return r.agreeing("raise the token of", askParts(nodes, r.quorum(), limit, raise))
}

// level raises parts to a token, and returns those that carry it.
func (r *Red) level(ctx context.Context, limit time.Duration, nodes []*singleHold, token int64) (carriers []*singleHold, err error) {
	return r.raiseAll(nodes, limit, func(node *singleHold) error {
		if node.carries(token) {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		_, err := node.raise(ctx, func() scripts.Call { return leveling(node.grant, token) })
		return err
	})
}

// release gives parts back, all at once. It waits until need of them are, but not for long.
func release(nodes []*singleHold, need int, limit time.Duration) []reply {
	return askParts(nodes, need, limit, (*singleHold).giveBack)
}

// A redHold is the hold of a RedLock.
type redHold struct {
	Hold
	red   *Red
	owner *redOwner
	grant *redGrant
	nodes []*singleHold // those of the Mutexes on the nodes
	stops []func() bool // they end the watch over the parts

	unlocked bool // under redOwners.mu
}

// partEnded ends the hold when fewer than a quorum of its parts live. That ends the contexts of the parts that are
// left, and nothing renews those any more.
func (h *redHold) partEnded() {
	live := 0
	for _, node := range h.nodes {
		if node.ctx.Err() == nil {
			live++
		}
	}
	if live < h.red.quorum() {
		h.end(ErrLost) // in vain where all parts ended because the hold has
	}
}

func (h *redHold) ownerName() string { return h.parts[0].Owner() }

func (h *redHold) remaining() time.Duration { return remainingOf(h.parts, h.red.quorum()) }

func (h *redHold) token() int64 {
	h.owner.all.mu.Lock()
	defer h.owner.all.mu.Unlock()
	return h.grant.number
}

func (h *redHold) count() int {
	h.owner.all.mu.Lock()
	defer h.owner.all.mu.Unlock()
	if h.owner.grant != h.grant {
		return 0
	}
	return h.owner.liveLocked()
}

// isLost reports whether fewer than a quorum of the parts live.
func (h *redHold) isLost() bool {
	h.owner.all.mu.Lock()
	defer h.owner.all.mu.Unlock()
	return !h.unlocked && h.remaining() == 0
}

// unlock gives all parts back, at once. The lock is free for others once only a minority of nodes has not confirmed.
func (h *redHold) unlock(ctx context.Context, lost bool) error {
	all := h.owner.all
	all.mu.Lock()
	first := !h.unlocked
	h.unlocked = true
	lost = lost || h.remaining() == 0
	h.grant.holds = slices.DeleteFunc(h.grant.holds, func(other held) bool { return other == h })
	all.mu.Unlock()
	if !first {
		return nil
	}
	for _, stop := range h.stops {
		stop()
	}
	h.end(context.Canceled)
	if lost {
		_ = unlockAll(ctx, h.parts, true)
		return ErrLost
	}
	replies := release(h.nodes, len(h.nodes)-h.red.mayFail(), policy.Release)
	gone := 0
	var errs []error
	for i, reply := range replies {
		switch {
		case reply.err == nil:
			continue
		case errors.Is(reply.err, ErrLost): // the node is free
			gone++
			continue
		case errors.Is(reply.err, ErrClosed):
			_ = h.parts[i].Unlock(ctx) // only notes that it is over
		}
		errs = append(errs, reply.err)
	}
	switch {
	case len(h.nodes)-gone < h.red.quorum():
		return errors.Join(append([]error{ErrLost}, errs...)...)
	case len(errs) > h.red.mayFail():
		return errors.Join(errs...)
	default:
		return nil
	}
}

// tokenAbove is Hold.TokenAbove: a quorum of the nodes must carry the new token.
func (h *redHold) tokenAbove(ctx context.Context, n int64) (int64, error) {
	if err := h.owner.begin(ctx, math.MaxInt64); err != nil {
		return 0, err
	}
	defer h.owner.end()
	if h.remaining() == 0 {
		return 0, ErrLost
	}
	if token := h.token(); token > n {
		return token, nil
	}
	raised, err := h.red.raiseAll(h.nodes, policy.Release, func(node *singleHold) error {
		_, err := node.tokenAbove(ctx, n)
		return err
	})
	if err != nil {
		return 0, err
	}
	token := n
	for _, node := range raised {
		token = max(token, node.token())
	}
	if _, err := h.red.level(ctx, policy.Release, raised, token); err != nil {
		return 0, err
	}
	h.owner.all.mu.Lock()
	defer h.owner.all.mu.Unlock()
	h.grant.number = token
	return token, nil
}
