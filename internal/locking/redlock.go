package locking

import (
	"fmt"
	"slices"
	"strings"

	"inventory/internal/locking/internal/quorum"
)

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

// quorum is how many nodes must agree.
func (r *Red) quorum() int { return quorum.Of(len(r.nodes)) }

// spare is how many nodes may fail.
func (r *Red) spare() int { return len(r.nodes) - r.quorum() }
