package locking

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

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
	holds  []*redHold
}

// redHold is what the hold of a RedLock consists of.
type redHold struct {
	red   *Red
	owner *redOwner
	grant *redGrant
	whole *Hold

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
	o.grant.holds = slices.DeleteFunc(o.grant.holds, func(r *redHold) bool { return r.whole.Remaining() == 0 })
	return len(o.grant.holds)
}

// token returns the token of what the owner holds, or else of a new grant, which is above that of any earlier one. A node
// that did not receive the owner's last release still counts that hold, and repeats its token.
func (o *redOwner) token(parts []*Hold) (token int64) {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	if o.liveLocked() > 0 {
		return o.grant.number
	}
	for _, part := range parts {
		mine := part.Token()
		if o.all.again || part.Count() > 1 {
			mine++
		}
		token = max(token, mine)
	}
	return token
}

// partEnded ends the hold when fewer than a quorum of its parts live. That ends the contexts of the parts that are
// left, and nothing renews those any more.
func (r *redHold) partEnded() {
	live := 0
	for _, part := range r.whole.parts {
		if part.Context().Err() == nil {
			live++
		}
	}
	if live < r.red.quorum() {
		r.whole.end(ErrLost) // in vain where all parts ended because the hold has
	}
}

func (r *redHold) token() int64 {
	r.owner.all.mu.Lock()
	defer r.owner.all.mu.Unlock()
	return r.grant.number
}

func (r *redHold) count() int {
	r.owner.all.mu.Lock()
	defer r.owner.all.mu.Unlock()
	if r.owner.grant != r.grant {
		return 0
	}
	return r.owner.liveLocked()
}

// isLost is Hold.isLost: fewer than a quorum of the parts live.
func (r *redHold) isLost() bool {
	r.owner.all.mu.Lock()
	defer r.owner.all.mu.Unlock()
	return !r.unlocked && r.whole.Remaining() == 0
}

// unlock gives all parts back, at once. The lock is free for others once only a minority of nodes has not confirmed.
func (r *redHold) unlock(ctx context.Context, lost bool) error {
	all := r.owner.all
	all.mu.Lock()
	first := !r.unlocked
	r.unlocked = true
	lost = lost || r.whole.Remaining() == 0
	r.grant.holds = slices.DeleteFunc(r.grant.holds, func(other *redHold) bool { return other == r })
	all.tidyLocked(r.owner)
	all.mu.Unlock()
	if !first {
		return nil
	}
	r.whole.endWhole()
	parts := r.whole.parts
	if lost {
		giveUpAll(ctx, parts)
		return ErrLost
	}
	replies := release(parts, len(parts)-r.red.spare(), policy.Release)
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
			_ = parts[i].Unlock(ctx) // only notes that it is over
		}
		errs = append(errs, reply.Err)
	}
	switch {
	case len(parts)-gone < r.red.quorum():
		return errors.Join(append([]error{ErrLost}, errs...)...)
	case len(errs) > r.red.spare():
		return errors.Join(errs...)
	default:
		return nil
	}
}

// tokenAbove is Hold.TokenAbove: a quorum of the nodes must carry the new token.
func (r *redHold) tokenAbove(ctx context.Context, n int64) (int64, error) {
	if err := r.owner.begin(ctx, math.MaxInt64); err != nil {
		return 0, err
	}
	defer r.owner.end()
	if r.whole.Remaining() == 0 {
		return 0, ErrLost
	}
	if token := r.token(); token > n {
		return token, nil
	}
	raised, err := r.red.raiseAll(r.whole.parts, policy.Release, func(part *Hold) error {
		_, err := part.raise(ctx, func() scripts.Call { return part.lock.kind.raising(part.grant, n) })
		return err
	})
	if err != nil {
		return 0, err
	}
	token := n
	for _, part := range raised {
		token = max(token, part.Token())
	}
	if _, err := r.red.level(ctx, policy.Release, raised, token); err != nil {
		return 0, err
	}
	r.owner.all.mu.Lock()
	defer r.owner.all.mu.Unlock()
	r.grant.number = token
	return token, nil
}
