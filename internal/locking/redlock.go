package locking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"inventory/internal/locking/internal/quorum"
	"inventory/internal/locking/internal/scripts"
)

// A Red is one lock on several independent servers, of which most must agree: it works while a minority of them is
// down, is slow or has forgotten. On each node it is the Mutex of the same name, so it is reentrant, renewed and bound
// by deadlines like a Mutex. All processes must name the same nodes.
type Red struct {
	name  string
	nodes []*Mutex
	locks []*Locks // of the nodes
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
func (r *Red) quorum() int { return quorum.Of(len(r.nodes)) }

// spare is how many nodes may fail.
func (r *Red) spare() int { return len(r.nodes) - r.quorum() }

// askAll asks all nodes at once. Close of each node's Locks waits for it. What is granted too late goes to late, unless that is
// nil.
func askAll[T any](nodes []*Locks, need int, limit time.Duration, ask func(i int, quit <-chan struct{}) (T, error), late func(T)) []quorum.Reply[T] {
	return quorum.Poll[T]{
		Nodes: len(nodes), Need: need, Limit: limit, Busy: ErrBusy, Ask: ask, Late: late,
		Enter: func(i int) (func(), error) { return nodes[i].calls.Done, nodes[i].enter() },
	}.Run()
}

// agreeing returns the replies of the nodes that succeeded, and an error if they are no quorum: ErrBusy if enough nodes have
// answered, joined with the errors of the others.
func agreeing[T any](r *Red, verb string, replies []quorum.Reply[T]) (values []T, err error) {
	busy := 0
	var errs []error
	for i, reply := range replies {
		switch {
		case reply.Err == nil:
			values = append(values, reply.Value)
		case errors.Is(reply.Err, ErrBusy):
			busy++
		default:
			errs = append(errs, fmt.Errorf("node %d: %w", i, reply.Err))
		}
	}
	answered := len(values) + busy
	switch {
	case len(values) >= r.quorum():
		return values, nil
	case answered >= r.quorum():
		return values, errors.Join(append([]error{ErrBusy}, errs...)...)
	default:
		return values, fmt.Errorf("locking: %s %q: %d of %d nodes answered: %w", verb, r.name, answered, len(replies), errors.Join(errs...))
	}
}

// raiseAll gives parts another token, and returns those that have got it. They are a quorum if there is no error.
func (r *Red) raiseAll(parts []*Hold, limit time.Duration, raise func(part *Hold) error) (raised []*Hold, err error) {
	return agreeing(r, "raise the token of", askAll(locksOf(parts), r.quorum(), limit, func(i int, _ <-chan struct{}) (*Hold, error) {
		return parts[i], raise(parts[i])
	}, nil))
}

// level raises parts to a token, and returns those that carry it.
func (r *Red) level(ctx context.Context, limit time.Duration, parts []*Hold, token int64) (carriers []*Hold, err error) {
	return r.raiseAll(parts, limit, func(part *Hold) error {
		if part.carries(token) {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		_, err := part.raise(ctx, func() scripts.Call { return leveling(part.grant, token) })
		return err
	})
}

// carries reports whether the server has this token or a higher one for the hold's lock.
func (h *Hold) carries(token int64) bool {
	h.locks.mu.Lock()
	known := h.grant.lease.first
	h.locks.mu.Unlock()
	return known >= token
}

// release gives parts back, all at once. It waits until need of them are, but not for long.
func release(parts []*Hold, need int, limit time.Duration) []quorum.Reply[struct{}] {
	return askAll(locksOf(parts), need, limit, func(i int, _ <-chan struct{}) (struct{}, error) {
		return struct{}{}, parts[i].giveBack()
	}, nil)
}

// giveBack is Unlock for a goroutine that Close waits for.
func (h *Hold) giveBack() error { return h.locks.release(context.Background(), []*Hold{h}, false) }

func locksOf(parts []*Hold) []*Locks {
	all := make([]*Locks, len(parts))
	for i, part := range parts {
		all[i] = part.locks
	}
	return all
}
