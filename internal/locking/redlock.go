package locking

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/quorum"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
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
func (r *Red) raiseAll(nodes []*singleHold, limit time.Duration, raise func(node *singleHold) error) (raised []*singleHold, err error) {
	return agreeing(r, "raise the token of", askAll(locksOf(nodes), r.quorum(), limit, func(i int, _ <-chan struct{}) (*singleHold, error) {
		return nodes[i], raise(nodes[i])
	}, nil))
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

// carries reports whether the server has this token or a higher one for the hold's lock.
func (h *singleHold) carries(token int64) bool {
	h.locks.mu.Lock()
	known := h.grant.lease.first
	h.locks.mu.Unlock()
	return known >= token
}

// release gives parts back, all at once. It waits until need of them are, but not for long.
func release(nodes []*singleHold, need int, limit time.Duration) []quorum.Reply[struct{}] {
	return askAll(locksOf(nodes), need, limit, func(i int, _ <-chan struct{}) (struct{}, error) {
		return struct{}{}, nodes[i].giveBack()
	}, nil)
}

// giveBack is Unlock for a goroutine that Close waits for.
func (h *singleHold) giveBack() error {
	return h.locks.release(context.Background(), []*singleHold{h}, false)
}

func locksOf(nodes []*singleHold) []*Locks {
	all := make([]*Locks, len(nodes))
	for i, node := range nodes {
		all[i] = node.locks
	}
	return all
}

// Lock implements Locker.
func (r *Red) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return r.lock(ctx, false, opts)
}

// TryLock implements Locker. It makes one attempt.
func (r *Red) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return r.lock(ctx, true, opts)
}

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
	if b.call.keptAlive {
		opts = append(opts, keptAlive)
	}
	return opts
}

// silences is how many attempts in a row may find less than a quorum that answers, before the candidate has been told that
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
	nodes, err = agreeing(b.red, "acquire", replies)
	if len(nodes) > 0 {
		return nodes, -1, err
	}
	return nil, slices.IndexFunc(replies, func(r quorum.Reply[*singleHold]) bool { return errors.Is(r.Err, ErrBusy) }), err
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
		node.locks.mu.Lock()
		node.afterLoss = h.owner.tidy
		node.locks.mu.Unlock()
		h.parts = append(h.parts, &node.Hold)
	}
	for _, node := range nodes {
		h.stops = append(h.stops, context.AfterFunc(node.ctx, h.partEnded))
	}
	return h
}

// redOwners is what an owner does with RedLocks.
type redOwners struct {
	mu sync.Mutex
	at map[string]*redOwner

	again bool // the owner has had a RedLock before: a minority of the nodes may not know that it is over
}

// A redOwner is one owner of one RedLock in this process, while it asks for it or holds it.
type redOwner struct {
	all   *redOwners
	key   string
	turn  chan struct{} // holds one element while an attempt is under way: an owner makes one at a time
	users int
	grant *redGrant // nil, or over, while the owner does not hold the lock
}

// A redGrant is one time that an owner has a RedLock.
type redGrant struct {
	number int64 // its token
	holds  []held
}

// A redHold is the hold of a RedLock.
type redHold struct {
	Hold
	red   *Red
	owner *redOwner
	grant *redGrant
	nodes []*singleHold // those of the Mutexes on the nodes
	stops []func() bool // of what watches them

	unlocked bool // under redOwners.mu
}

// of returns what an owner does with one RedLock; its user gives it back with retire.
func (all *redOwners) of(key string) *redOwner {
	all.mu.Lock()
	defer all.mu.Unlock()
	o := all.at[key]
	if o == nil {
		o = &redOwner{all: all, key: key, turn: make(chan struct{}, 1)}
		if all.at == nil {
			all.at = make(map[string]*redOwner)
		}
		all.at[key] = o
	}
	o.users++
	return o
}

// retire ends one use of an owner.
func (all *redOwners) retire(o *redOwner) {
	all.mu.Lock()
	defer all.mu.Unlock()
	o.users--
	all.tidyLocked(o)
}

// tidyLocked forgets an owner of a RedLock that neither asks for it nor holds it.
func (all *redOwners) tidyLocked(o *redOwner) {
	if all.at[o.key] == o && o.users == 0 && o.liveLocked() == 0 {
		delete(all.at, o.key)
	}
}

// tidy forgets the owner if what it held was lost: nobody may ever unlock that.
func (o *redOwner) tidy() {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	o.all.tidyLocked(o)
}

// begin takes the owner's turn, unless that takes longer than limit.
func (o *redOwner) begin(ctx context.Context, limit time.Duration) error {
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

// end gives the turn back.
func (o *redOwner) end() { <-o.turn }

// liveLocked counts the owner's holds that are still good.
func (o *redOwner) liveLocked() int {
	if o.grant == nil {
		return 0
	}
	o.grant.holds = slices.DeleteFunc(o.grant.holds, func(h held) bool { return h.remaining() == 0 })
	return len(o.grant.holds)
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
	all.tidyLocked(h.owner)
	all.mu.Unlock()
	if !first {
		return nil
	}
	for _, stop := range h.stops {
		stop()
	}
	h.end(context.Canceled)
	if lost {
		giveUpAll(ctx, h.parts)
		return ErrLost
	}
	replies := release(h.nodes, len(h.nodes)-h.red.spare(), policy.Release)
	gone := 0
	var errs []error
	for i, reply := range replies {
		switch {
		case reply.Err == nil:
			continue
		case errors.Is(reply.Err, ErrLost): // the node is free
			gone++
			continue
		case errors.Is(reply.Err, ErrClosed):
			_ = h.parts[i].Unlock(ctx) // only notes that it is over
		}
		errs = append(errs, reply.Err)
	}
	switch {
	case len(h.nodes)-gone < h.red.quorum():
		return errors.Join(append([]error{ErrLost}, errs...)...)
	case len(errs) > h.red.spare():
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
