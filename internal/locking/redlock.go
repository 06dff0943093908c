package locking

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
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
// A hold's Token is the same on all nodes, and grows as long as few enough of them forget (see PROTOCOL.md). The hold lives while a
// quorum of its Parts does; each of them counts its lease from its own beginning. Wait, Lease and contexts mean what they mean for
// a Mutex. A node has an eighth of the lease to answer, from 50 to 250 ms. If less than a quorum answers, Lock asks twice more, and
// returns an error that is not ErrBusy. It promises no order of waiters.
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
		same := func(other *Locks) bool { return l == other || l.address != "" && l.address == other.address }
		if l == nil || slices.ContainsFunc(nodes[:i], same) {
			return fmt.Errorf("%w: a RedLock with a nil node, or with one server twice", ErrInvalid)
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

// raiseAll gives parts another token, and returns those that have got it. They are a quorum if there is no error.
func (r *Red) raiseAll(nodes []*singleHold, limit time.Duration, raise func(node *singleHold) error) (raised []*singleHold, err error) {
	return askParts(nodes, r.quorum(), limit, raise).agreeing("raise the token of", r.name)
}

// level raises parts to a token, and returns those that carry it.
func (r *Red) level(ctx context.Context, limit time.Duration, nodes []*singleHold, token int64) (carriers []*singleHold, err error) {
	return r.raiseAll(nodes, limit, func(node *singleHold) error {
		if node.token() >= token {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		_, err := node.raise(ctx, func() scripts.Call { return leveling(node.grant, token) })
		return err
	})
}

// giveBackAll gives parts back, all at once. It waits until need of them are, but not for long.
func giveBackAll(nodes []*singleHold, need int, limit time.Duration) *poll {
	return askParts(nodes, need, limit, (*singleHold).giveBack)
}

// reds is what an owner does with RedLocks. It makes one attempt at a time.
type reds struct {
	mu     sync.Mutex
	turn   chan struct{} // with room for one: the attempt that is under way
	grants map[string]*redGrant
	again  bool // it has had a RedLock before, and may still have what is left of that on a node
}

// A redGrant is one time that an owner has a RedLock. Guarded by reds.mu.
type redGrant struct {
	token int64
	holds []*redHold
}

// liveLocked counts the holds that are still good.
func (g *redGrant) liveLocked() int {
	g.holds = slices.DeleteFunc(g.holds, func(h *redHold) bool { return h.remaining() == 0 })
	return len(g.holds)
}

// begin begins an attempt, unless that takes longer than limit.
func (o *reds) begin(ctx context.Context, limit time.Duration) error {
	o.mu.Lock()
	if o.turn == nil {
		o.turn, o.grants = make(chan struct{}, 1), make(map[string]*redGrant)
	}
	o.mu.Unlock()
	alarm := time.NewTimer(limit)
	defer alarm.Stop()
	select {
	case o.turn <- struct{}{}:
		return nil
	case <-alarm.C:
		return ErrNoAnswer // a node keeps the owner's other call waiting
	case <-ctx.Done():
		return ended(ctx, nil)
	}
}

// end ends an attempt. It also forgets the RedLocks of which the owner has nothing left: what was lost, nobody may ever unlock.
func (o *reds) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.grants, func(_ string, g *redGrant) bool { return g.liveLocked() == 0 })
	<-o.turn
}

// A redHold is the hold of a RedLock. Its parts are holds of the Mutexes on the nodes.
type redHold struct {
	jointHold
	red      *Red
	reds     *reds // its owner's
	grant    *redGrant
	unlocked bool // under reds.mu
}

func (h *redHold) token() int64 {
	h.reds.mu.Lock()
	defer h.reds.mu.Unlock()
	return h.grant.token
}

func (h *redHold) count() int {
	h.reds.mu.Lock()
	defer h.reds.mu.Unlock()
	return h.grant.liveLocked()
}

// unlock gives all parts back, at once. The lock is free for others once only a minority of nodes has not confirmed.
func (h *redHold) unlock(ctx context.Context, lost bool) error {
	h.reds.mu.Lock()
	again := h.unlocked
	h.unlocked = true
	h.grant.holds = slices.DeleteFunc(h.grant.holds, func(other *redHold) bool { return other == h })
	h.reds.mu.Unlock()
	if again {
		return nil
	}
	h.finish()
	if lost {
		_ = unlockAll(ctx, h.parts, true)
		return ErrLost
	}
	gone := 0
	var errs []error
	for i, reply := range giveBackAll(singlesOf(h.parts), len(h.parts)-h.red.mayFail(), policy.Release).replies {
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
	case len(h.parts)-gone < h.need:
		return errors.Join(append([]error{ErrLost}, errs...)...)
	case len(errs) > h.red.mayFail():
		return errors.Join(errs...)
	default:
		return nil
	}
}

// tokenAbove is Hold.TokenAbove: a quorum of the nodes must carry the new token.
func (h *redHold) tokenAbove(ctx context.Context, n int64) (int64, error) {
	if err := h.reds.begin(ctx, math.MaxInt64); err != nil {
		return 0, err
	}
	defer h.reds.end()
	if h.remaining() == 0 {
		return 0, ErrLost
	}
	if token := h.token(); token > n {
		return token, nil
	}
	raised, err := h.red.raiseAll(singlesOf(h.parts), policy.Release, func(node *singleHold) error {
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
	h.reds.mu.Lock()
	defer h.reds.mu.Unlock()
	h.grant.token = token
	return token, nil
}

// A reply is what a node said: the hold that it has granted, or whose part it is; or an error, ErrNoAnswer until it says something.
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
// A hold that is granted too late goes to late, unless that is nil.
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

// collect waits for replies. Replies that have come when the time is over still count.
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
