package locking

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/quorum"
	"inventory/internal/locking/internal/scripts"
)

// askAll asks all nodes at once. Close of each waits for it. What is granted too late goes to late, if that is not nil.
func askAll[T any](nodes []*Locks, need int, limit time.Duration, ask func(i int, quit <-chan struct{}) (T, error), late func(T)) []quorum.Reply[T] {
	return quorum.Poll[T]{
		Nodes: len(nodes), Need: need, Limit: limit, Busy: ErrBusy, Ask: ask, Late: late,
		Enter: func(i int) (func(), error) { return nodes[i].calls.Done, nodes[i].enter() },
	}.Run()
}

// attempt asks for the lock once, on all nodes. If it gets nothing, busy is the first node that was busy; else it is
// negative.
func (b *candidate) attempt(woken *firstNode) (h *Hold, busy int, err error) {
	if err := b.owner.begin(b.ctx); err != nil {
		b.giveBack(woken.holds())
		return nil, -1, err
	}
	defer b.owner.end()
	parts, busy, err := b.take(woken)
	if err != nil {
		b.giveBack(parts)
		return nil, busy, err
	}
	token, held := b.owner.token()
	if !held {
		token = b.owner.fresh(parts)
	}
	carriers, err := b.level(parts, token)
	if err != nil {
		b.giveBack(carriers)
		return nil, -1, err
	}
	h = b.grant(carriers, token)
	switch {
	case b.call.ctx.Err() != nil: // granted too late: the caller has gone, so do not admit it
		err = ended(b.call.ctx, nil)
	case h.Remaining() == 0: // the leases of a quorum may have run out on the way
		err = failed("acquire", b.red.name, ErrNoAnswer)
	default:
		return h, -1, nil
	}
	_ = h.Unlock(b.call.ctx) // what fails here is repeated in the background
	b.renew()                // that has ended with the hold
	return nil, -1, err
}

// take takes the lock on a quorum of nodes at least, and as many more as answer in time.
func (b *candidate) take(woken *firstNode) (parts []*Hold, busy int, err error) {
	wait := b.limit
	if !b.call.until.IsZero() {
		wait = min(wait, max(time.Until(b.call.until), policy.Grace))
	}
	ctx := b.ctx // a late question still uses this one when the candidate has another
	replies := askAll(b.red.locks, b.red.quorum(), wait, func(i int, quit <-chan struct{}) (*Hold, error) {
		if woken != nil && woken.node == i {
			return woken.hold, nil
		}
		select {
		case b.asked[i] <- struct{}{}:
		case <-quit:
			return nil, ErrNoAnswer // it has not answered the last question yet
		}
		defer func() { <-b.asked[i] }()
		return b.red.nodes[i].TryLock(ctx, b.options(wait)...)
	}, func(h *Hold) { _ = h.giveBack() })
	busy = -1
	for i, r := range replies {
		switch {
		case r.Err == nil:
			parts = append(parts, r.Value)
		case busy < 0 && errors.Is(r.Err, ErrBusy):
			busy = i
		}
	}
	if len(parts) >= b.red.quorum() {
		return parts, -1, nil
	}
	if len(parts) > 0 {
		busy = -1
	}
	return parts, busy, refusal(b.red, "acquire", replies)
}

// refusal tells why there is no quorum: ErrBusy if enough nodes have answered, and what is wrong with the others.
func refusal[T any](r *Red, verb string, replies []quorum.Reply[T]) error {
	answered := 0
	var errs []error
	for i, reply := range replies {
		if reply.Err == nil || errors.Is(reply.Err, ErrBusy) {
			answered++
		} else {
			errs = append(errs, fmt.Errorf("node %d: %w", i, reply.Err))
		}
	}
	if answered >= r.quorum() {
		return errors.Join(append([]error{ErrBusy}, errs...)...)
	}
	return fmt.Errorf("locking: %s %q: %d of %d nodes answered: %w", verb, r.name, answered, len(replies), errors.Join(errs...))
}

// level raises all parts to a token, and returns those that carry it. The others are given back: each part of a
// hold carries the hold's token.
func (b *candidate) level(parts []*Hold, token int64) ([]*Hold, error) {
	carriers, others, err := b.red.level(b.ctx, b.limit, parts, token)
	release(others, 0, 0)
	return carriers, err
}

// level raises parts to a token, and tells which of them carry it, and whether they are a quorum.
func (r *Red) level(ctx context.Context, limit time.Duration, parts []*Hold, token int64) (carriers, others []*Hold, err error) {
	replies := askAll(locksOf(parts), r.quorum(), limit, func(i int, _ <-chan struct{}) (int64, error) {
		if parts[i].carries(token) {
			return token, nil
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return parts[i].raise(ctx, func() scripts.Call { return leveling(parts[i].grant, token) })
	}, nil)
	for i, reply := range replies {
		if reply.Err == nil {
			carriers = append(carriers, parts[i])
		} else {
			others = append(others, parts[i])
		}
	}
	if len(carriers) < r.quorum() {
		err = refusal(r, "raise the token of", replies)
	}
	return carriers, others, err
}

// carries tells whether the server knows the hold's lock by this token or a higher one.
func (h *Hold) carries(token int64) bool {
	h.locks.mu.Lock()
	known := h.grant.lease.first
	h.locks.mu.Unlock()
	return known >= token
}

// giveBack gives parts back, and waits for slow nodes as long as for any answer.
func (b *candidate) giveBack(parts []*Hold) { release(parts, len(parts), b.limit) }

// release gives parts back, all at once. It waits until need of them are, but not for long.
func release(parts []*Hold, need int, limit time.Duration) []quorum.Reply[struct{}] {
	return askAll(locksOf(parts), need, limit, func(i int, _ <-chan struct{}) (struct{}, error) {
		return struct{}{}, parts[i].giveBack()
	}, nil)
}

// giveBack is Unlock for a goroutine that Close waits for.
func (h *Hold) giveBack() error { return h.locks.release(context.Background(), []*Hold{h}) }

func locksOf(parts []*Hold) []*Locks {
	all := make([]*Locks, len(parts))
	for i, part := range parts {
		all[i] = part.locks
	}
	return all
}
