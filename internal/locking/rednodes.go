package locking

import (
	"context"
	"errors"
	"fmt"
	"time"

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
