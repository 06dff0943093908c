package locking

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"time"
)

// ownerKey finds the owner in a context.
type ownerKey struct{}

// owner is who holds locks: a request, a job, a worker; never a goroutine. It travels in contexts. It knows what it holds,
// so that a MultiLock does not wait backwards.
type owner struct {
	id string

	mu   sync.Mutex
	held []position // where the lock of each hold stands, in no order

	reds redOwners
}

// A position is where a lock stands in the order of all locks. Locks of one name on servers that show no address have one
// order; then the process tells them apart.
type position struct{ order, process string }

// before reports whether a MultiLock must not hold the other lock while it waits for this one. Of two locks with one order
// each is before the other.
func (p position) before(other position) bool {
	return p.order < other.order || p.order == other.order && p.process != other.process
}

// WithOwner returns a context with an owner: the one that ctx carries already, otherwise a new one. Set it where a piece of
// work begins. Everything that runs under it re-enters the locks of that work instead of waiting for itself, and goroutines
// that share it do not exclude each other.
//
// An owner is known only to the Locks that granted it something. For other Locks on the same server it is another owner, and
// waits.
func WithOwner(ctx context.Context) context.Context {
	ctx, _ = withOwner(ctx)
	return ctx
}

// NewOwner returns a context with a new owner, also if ctx carries one. Use it for a goroutine that
// must be excluded by the locks of the work that started it.
func NewOwner(ctx context.Context) context.Context {
	ctx, _ = newOwner(ctx)
	return ctx
}

// withOwner is WithOwner, and also returns the owner.
func withOwner(ctx context.Context) (context.Context, *owner) {
	if who, ok := ctx.Value(ownerKey{}).(*owner); ok {
		return ctx, who
	}
	return newOwner(ctx)
}

func newOwner(ctx context.Context) (context.Context, *owner) {
	who := &owner{id: newID()}
	return context.WithValue(ctx, ownerKey{}, who), who
}

// newID returns a unique name: 80 random bits as letters and digits.
func newID() string { return rand.Text()[:16] }

// addHold notes a hold.
func (o *owner) addHold(at position) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = append(o.held, at)
}

// removeHold forgets a hold.
func (o *owner) removeHold(at position) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.Index(o.held, at); i >= 0 {
		o.held = slices.Delete(o.held, i, i+1)
	}
}

// holdsAfter reports whether the owner holds a lock that comes after this position.
func (o *owner) holdsAfter(at position) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(o.held, at.before)
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
	turn  chan struct{} // holds one element while an attempt is under way: an owner makes one at a time
	users int
	grant *redGrant // nil, or over, while the owner does not hold the lock
}

// A redGrant is one time that an owner has a RedLock.
type redGrant struct {
	number int64 // its token
	holds  []held
}

// of returns what an owner does with one RedLock; its user gives it back with retire. It forgets those RedLocks for which the owner
// neither asks nor holds anything: what was lost, nobody may ever unlock.
func (all *redOwners) of(key string) *redOwner {
	all.mu.Lock()
	defer all.mu.Unlock()
	maps.DeleteFunc(all.at, func(_ string, o *redOwner) bool { return o.users == 0 && o.liveLocked() == 0 })
	o := all.at[key]
	if o == nil {
		o = &redOwner{all: all, turn: make(chan struct{}, 1)}
		if all.at == nil {
			all.at = make(map[string]*redOwner)
		}
		all.at[key] = o
	}
	o.users++
	return o
}

// retire ends one use of an owner.
func (o *redOwner) retire() {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	o.users--
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
