package locking

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// redTenants is what an owner does with RedLocks.
type redTenants struct {
	mu sync.Mutex
	at map[string]*redTenant

	again bool // the owner has had a RedLock: a minority of its nodes may not know that this is over
}

// A redTenant is one owner at one RedLock of this process, while anything is going on between the two.
type redTenant struct {
	owner *redTenants
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
	red    *Red
	tenant *redTenant
	grant  *redGrant
	whole  *Hold
	stops  []func() bool

	unlocked bool // under redTenants.mu
}

// tenant returns what an owner does with one RedLock; its user gives it back with retire.
func (o *redTenants) tenant(key string) *redTenant {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.at[key]
	if t == nil {
		t = &redTenant{owner: o, key: key, turn: make(chan struct{}, 1)}
		if o.at == nil {
			o.at = make(map[string]*redTenant)
		}
		o.at[key] = t
	}
	t.users++
	return t
}

// retire ends one use of a tenant.
func (o *redTenants) retire(t *redTenant) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t.users--
	if t.users == 0 && t.live() == 0 {
		delete(o.at, t.key)
	}
}

// begin takes the owner's turn.
func (t *redTenant) begin(ctx context.Context) error {
	select {
	case t.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ended(ctx, nil)
	}
}

// end gives the turn back.
func (t *redTenant) end() { <-t.turn }

// live counts the owner's holds. redTenants.mu is held.
func (t *redTenant) live() int {
	if t.grant == nil {
		return 0
	}
	t.grant.holds = slices.DeleteFunc(t.grant.holds, func(r *redHold) bool { return r.remaining() == 0 })
	return len(t.grant.holds)
}

// token returns the token of what the owner holds, if it does.
func (t *redTenant) token() (token int64, held bool) {
	t.owner.mu.Lock()
	defer t.owner.mu.Unlock()
	if t.live() == 0 {
		return 0, false
	}
	return t.grant.number, true
}

// fresh returns the token of a new grant, which is above that of any earlier one. A node that the owner has held
// before, or still holds by what it has heard, repeats the token of then.
func (t *redTenant) fresh(parts []*Hold) int64 {
	t.owner.mu.Lock()
	again := t.owner.again
	t.owner.mu.Unlock()
	token := int64(0)
	for _, part := range parts {
		mine := part.Token()
		if again || part.Count() > 1 {
			mine++
		}
		token = max(token, mine)
	}
	return token
}

// Count tells how often the owner that ctx carries holds the lock: 0 when it does not.
func (r *Red) Count(ctx context.Context) int {
	who, ok := ctx.Value(ownerKey{}).(*owner)
	if !ok {
		return 0
	}
	who.reds.mu.Lock()
	defer who.reds.mu.Unlock()
	if t := who.reds.at[r.key]; t != nil {
		return t.live()
	}
	return 0
}

// grant makes a hold. The candidate has its owner's turn.
func (b *candidate) grant(parts []*Hold, token int64) *Hold {
	r := &redHold{red: b.red, tenant: b.tenant}
	h := &Hold{ctx: b.ctx, cancel: b.cancel, who: b.call.who, parts: parts, red: r}
	r.whole = h
	b.call.who.reds.mu.Lock()
	b.call.who.reds.again = true
	if b.tenant.live() == 0 {
		b.tenant.grant = &redGrant{number: token}
	}
	r.grant = b.tenant.grant
	r.grant.holds = append(r.grant.holds, r)
	b.call.who.reds.mu.Unlock()
	for _, part := range parts {
		r.stops = append(r.stops, context.AfterFunc(part.Context(), r.partEnded))
	}
	return h
}

// partEnded ends the hold when fewer than a quorum of its parts live. With it end the contexts of those that
// are left: nothing renews them then.
func (r *redHold) partEnded() {
	live := 0
	for _, part := range r.whole.parts {
		if part.Context().Err() == nil {
			live++
		}
	}
	if live < r.red.quorum() {
		r.whole.cancel(ErrLost) // in vain where all parts ended because the hold has
	}
}

// remaining is for how long a quorum of the parts can be relied on.
func (r *redHold) remaining() time.Duration {
	left := make([]time.Duration, len(r.whole.parts))
	for i, part := range r.whole.parts {
		left[i] = part.Remaining()
	}
	return nth(left, r.red.quorum())
}

// nth returns the value that n of them reach, or zero.
func nth[T int | time.Duration](values []T, n int) T {
	if len(values) < n {
		return 0
	}
	slices.Sort(values)
	return values[len(values)-n]
}

func (r *redHold) token() int64 {
	r.tenant.owner.mu.Lock()
	defer r.tenant.owner.mu.Unlock()
	return r.grant.number
}

func (r *redHold) count() int {
	r.tenant.owner.mu.Lock()
	defer r.tenant.owner.mu.Unlock()
	if r.tenant.grant != r.grant {
		return 0
	}
	return r.tenant.live()
}

// unlock gives all parts back, at once. The lock is free for others when all nodes are but a minority.
func (r *redHold) unlock(ctx context.Context) error {
	o := r.tenant.owner
	o.mu.Lock()
	first := !r.unlocked
	r.unlocked = true
	lost := r.remaining() == 0
	r.grant.holds = slices.DeleteFunc(r.grant.holds, func(other *redHold) bool { return other == r })
	o.mu.Unlock()
	if !first {
		return nil
	}
	for _, stop := range r.stops {
		stop()
	}
	r.whole.cancel(context.Canceled)
	parts := r.whole.parts
	replies := release(parts, len(parts)-r.red.spare(), releaseBound)
	failed, gone := 0, 0
	var errs []error
	for i, reply := range replies {
		if errors.Is(reply.err, ErrClosed) {
			_ = parts[i].Unlock(ctx) // only notes that it is over
		}
		if errors.Is(reply.err, ErrLost) {
			gone++
		}
		if reply.err != nil {
			failed++
			errs = append(errs, reply.err)
		}
	}
	switch {
	case lost || len(parts)-gone < r.red.quorum():
		return ErrLost
	case failed > r.red.spare():
		return errors.Join(errs...)
	default:
		return nil
	}
}

// tokenAbove is Hold.TokenAbove: a quorum of the nodes must carry the new token.
func (r *redHold) tokenAbove(ctx context.Context, n int64) (int64, error) {
	if err := r.tenant.begin(ctx); err != nil {
		return 0, err
	}
	defer r.tenant.end()
	if token := r.token(); token > n || r.remaining() == 0 {
		if r.remaining() == 0 {
			return 0, ErrLost
		}
		return token, nil
	}
	parts := r.whole.parts
	replies := askAll(locksOf(parts), r.red.quorum(), releaseBound, func(i int, _ <-chan struct{}) (int64, error) {
		return parts[i].raise(ctx, func() errand { return parts[i].lock.kind.raising(parts[i].grant, n) })
	}, nil)
	var raised []*Hold
	token := n
	for i, reply := range replies {
		if reply.err == nil {
			raised = append(raised, parts[i])
			token = max(token, reply.value)
		}
	}
	if len(raised) < r.red.quorum() {
		return 0, refusal(r.red, "raise the token of", replies)
	}
	if _, _, err := r.red.level(ctx, releaseBound, raised, token); err != nil {
		return 0, err
	}
	r.tenant.owner.mu.Lock()
	defer r.tenant.owner.mu.Unlock()
	r.grant.number = token
	return token, nil
}
