package locking

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
)

// ownerKey finds the owner in a context.
type ownerKey struct{}

// owner is who holds locks: a request, a job, a worker; never a goroutine. It travels in contexts. It knows what it holds,
// so that a MultiLock does not wait backwards.
type owner struct {
	id string

	mu   sync.Mutex
	held []position // where the lock of each hold stands, in no order
	room [1]position

	reds reds
}

type ownerContext struct {
	context.Context
	owner owner
}

// Value returns the owner, or another value of the context.
func (c *ownerContext) Value(key any) any {
	if key == (ownerKey{}) {
		return &c.owner
	}
	return c.Context.Value(key)
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
// An owner is known only to the Locks that granted it something. For other Locks on the same server it is another owner, and waits.
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
	c := &ownerContext{Context: ctx}
	c.owner.id, c.owner.held = newID(), c.owner.room[:0]
	return c, &c.owner
}

// newID returns a unique name: 80 random bits as letters and digits.
func newID() string { return rand.Text()[:16] }

func (o *owner) addHold(at position) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = append(o.held, at)
}

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
