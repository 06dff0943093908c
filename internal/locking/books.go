package locking

import (
	"context"
	"slices"
	"time"
)

// The books say what this process holds. They are kept under Locks.mu.

// tenantKey is one owner at one lock.
type tenantKey struct{ state, owner string }

// A tenant is one owner at one lock of this process, while anything is going on between the two. Its
// turn serialises their talks to the server: each says with a growing number how often the owner holds
// the lock, and that number must be true when it is said.
type tenant struct {
	key   tenantKey
	mutex *Mutex
	turn  chan struct{} // holds one element while somebody has the turn
	users int
	grant *grant // nil while the owner does not hold the lock
}

// A grant is one time that an owner has a lock, from free to held to free. It has one token.
type grant struct {
	mutex *Mutex
	who   *owner
	token int64
	holds []*Hold // those that live; never empty while the tenant has the grant
	ghost int64   // the attempt that took it, where a copy of that may still arrive; else 0
}

// tenant returns the books of an owner at a lock; its user gives it back with retire.
func (l *Locks) tenant(m *Mutex, who *owner) *tenant {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := tenantKey{m.state, who.id}
	t := l.tenants[key]
	if t == nil {
		t = &tenant{key: key, mutex: m, turn: make(chan struct{}, 1)}
		l.tenants[key] = t
	}
	t.users++
	return t
}

// retire ends one use of a tenant.
func (l *Locks) retire(t *tenant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.users--
	l.tidy(t)
}

// tidy forgets a tenant that nobody uses. l.mu is held.
func (l *Locks) tidy(t *tenant) {
	if t.users == 0 && t.grant == nil && l.tenants[t.key] == t {
		delete(l.tenants, t.key)
	}
}

// begin takes the turn of a tenant, for one trip at most. It gives up when ctx ends or quit is closed.
func (t *tenant) begin(ctx context.Context, quit <-chan struct{}) error {
	select {
	case t.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case t.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ended(ctx, nil)
	case <-quit:
		return ErrClosed
	}
}

// beginBy is begin for who must speak although its context may have ended.
func (t *tenant) beginBy(until time.Time) error {
	select {
	case t.turn <- struct{}{}:
		return nil
	default:
	}
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	return t.begin(ctx, nil)
}

// end gives the turn back.
func (t *tenant) end() { <-t.turn }

// live is how many holds the owner has. l.mu is held.
func (t *tenant) live() int {
	if t.grant == nil {
		return 0
	}
	return len(t.grant.holds)
}

// remaining is how long the lock must live on for the holds that are left. l.mu is held.
func (t *tenant) remaining(now time.Time) time.Duration {
	longest := time.Duration(0)
	if t.grant != nil {
		for _, h := range t.grant.holds {
			// Back from what we trust to what we asked the server for.
			longest = max(longest, h.deadline.Sub(now)+h.lease-trust(h.lease))
		}
	}
	return max(longest, time.Millisecond)
}

// drop takes a hold out of the books. It tells whether it was there. l.mu is held.
func (l *Locks) drop(h *Hold) bool {
	g := h.grant
	i := slices.Index(g.holds, h)
	if i < 0 {
		return false
	}
	g.holds = slices.Delete(g.holds, i, i+1)
	if len(g.holds) == 0 && h.tenant.grant == g {
		h.tenant.grant = nil
		l.tidy(h.tenant)
	}
	h.timer.Stop()
	h.who.gave(h.mutex.order)
	return true
}

// lose ends holds that are no longer ours, and says so in their contexts.
func (l *Locks) lose(holds []*Hold) {
	l.mu.Lock()
	var lost []*Hold
	for _, h := range slices.Clone(holds) { // drop shortens the slice of a grant
		if l.drop(h) {
			h.lost = true
			lost = append(lost, h)
		}
	}
	l.mu.Unlock()
	for _, h := range lost {
		h.cancel(ErrLost)
	}
}

// loseGrant is lose for all holds of a grant.
func (l *Locks) loseGrant(g *grant) {
	l.mu.Lock()
	holds := slices.Clone(g.holds)
	l.mu.Unlock()
	l.lose(holds)
}
