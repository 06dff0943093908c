package locking

import (
	"context"
	"slices"
	"time"
)

// The books say what this process holds, and who waits in it for what. They are kept under Locks.mu.

// A book is what this process knows of one lock, while anything goes on there.
type book struct {
	tenants tenants
	tenure  *tenure   // this process holds the lock; it may pass between owners
	passing bool      // the holder is handing it over by a trip
	called  bool      // somebody was to look while that went on
	waiters []*waiter // first come, first served
	queued  bool      // the process may be in the server's queue, or may have its promise

	firstWaiter [1]*waiter // where waiters begins: most books are small
}

// A tenant is one owner at one lock of this process, while anything is going on between the two. Its
// turn serialises their talks to the server: each says with a growing number how often the owner holds
// the lock, and that number must be true when it is said.
type tenant struct {
	lock  *lock
	who   *owner
	id    string        // of the owner, as the server knows it
	arg   any           // the same, as scripts take it
	turn  chan struct{} // holds one element while somebody has the turn
	users int
	grant *grant // nil while the owner does not hold the lock
}

// A grant is one time that an owner has a lock, from free to held to free. It has one token.
type grant struct {
	lock   *lock
	who    *owner
	token  int64
	holds  []*Hold // those that live; never empty while the tenant has the grant
	tenure *tenure

	firstHold [1]*Hold // where the slice begins
}

// A tenure is one time that this process has a lock at the server. It begins with a script and can pass
// through several owners, which get a grant each.
type tenure struct {
	id    any    // of the holder, a string, as the server knows it: an owner, or this process for whoever is next
	token string // as the server has it: the first one of those that came with the last script
	lease time.Duration
	ghost int64 // the attempt that took it, where a copy of that may still arrive; else 0

	next, last int64     // tokens in reserve
	script     time.Time // when the last script was sent
	scripts    int       // since other processes had the chance to get the lock
	since      time.Time // when they had it
}

// bookOf returns the book of a lock. l.mu is held.
func (l *Locks) bookOf(a *lock) *book {
	b := l.books[a.state]
	if b == nil {
		b = &book{}
		b.waiters = b.firstWaiter[:0]
		l.books[a.state] = b
	}
	return b
}

// tidy forgets a book with nothing in it. l.mu is held.
func (l *Locks) tidy(a *lock) {
	if b := l.books[a.state]; b != nil && b.tenants.len() == 0 && len(b.waiters) == 0 && b.tenure == nil {
		delete(l.books, a.state)
	}
}

// tenant returns the books of an owner at a lock; its user gives it back with retire.
func (l *Locks) tenant(a *lock, who *owner) *tenant {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bookOf(a)
	t := b.tenants.of(who)
	if t == nil {
		t = &tenant{lock: a, who: who, id: l.process + ":" + who.id, turn: make(chan struct{}, 1)}
		t.arg = t.id
		b.tenants.add(t)
	}
	t.users++
	return t
}

// retire ends one use of a tenant.
func (l *Locks) retire(t *tenant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.users--
	l.forget(t)
}

// forget forgets a tenant that nobody uses. l.mu is held.
func (l *Locks) forget(t *tenant) {
	if t.users > 0 || t.grant != nil {
		return
	}
	if b := l.books[t.lock.state]; b != nil {
		b.tenants.remove(t)
		l.tidy(t.lock)
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

// liveAs is live for a holder as the server knows it: a grant under another name does not count. l.mu is held.
func (t *tenant) liveAs(id any) int {
	if t.grant == nil || t.grant.tenure.id != id {
		return 0
	}
	return len(t.grant.holds)
}

// longest is the longest lease of the holds that are left: no longer need the lock live from now on. What they
// have left of it does not count, for a renewal may overtake whoever tells the server. l.mu is held.
func (t *tenant) longest() time.Duration {
	longest := time.Millisecond
	if t.grant != nil {
		for _, h := range t.grant.holds {
			longest = max(longest, h.lease)
		}
	}
	return longest
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
		l.forget(h.tenant)
	}
	l.forgetDeadline(h)
	h.who.gave(h.lock.order)
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
			l.observer.Lost(h.lock.kind.name(), time.Since(h.since))
			if len(h.grant.holds) == 0 {
				l.endTenure(h.lock, h.grant.tenure)
			}
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

// endTenure notes that this process has a lock no longer, and lets the first in line try. l.mu is held.
func (l *Locks) endTenure(a *lock, t *tenure) {
	b := l.books[a.state]
	if b == nil || b.tenure != t {
		return
	}
	b.tenure, b.passing = nil, false
	b.wakeHead()
	l.tidy(a)
}
