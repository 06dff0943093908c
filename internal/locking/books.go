package locking

import (
	"slices"
	"time"
)

// The books say what this process holds, and who waits in it for what. They are kept under Locks.mu.

// A book is what this process knows of one lock, while anything goes on there.
type book struct {
	grants  grantSet
	tenure  *tenure   // this process holds the lock; it may pass between owners
	passing bool      // the holder is handing it over by a trip
	called  bool      // somebody was to look while that went on
	waiters []*waiter // first come, first served
	queued  bool      // the process may be in the server's queue, or may have its promise
	visits  []*visit  // that ask just now

	firstWaiter [1]*waiter // where waiters begins: most books are small
}

// A grant is one time that an owner has a lock, from free to held to free. It has one token, and a name of its own at
// the server, its tenure's: what is said of one grant cannot touch another, not even of the same owner.
//
// What the server is told of it is a number of holds, and for how long it must live: those of its holds and of the
// bids to more. Both are read and numbered under Locks.mu, so a later number is a later truth. Nothing is said with
// an older one, and none frees the lock while a bid may become a hold.
type grant struct {
	lock   *lock
	who    *owner
	token  int64
	holds  []*Hold
	bids   []*bid
	said   int  // how many of both the server was told last
	gone   bool // the server has it no longer
	passed bool // its tenure has gone on to the next owner
	tenure *tenure

	firstHold [1]*Hold // where the slice begins
}

// A bid is a re-entry on its way to the server.
type bid struct {
	grant *grant
	times int
	lease time.Duration
}

// A tenure is one time that this process has a lock at the server. It begins with a script and can pass
// through several owners, which get a grant each.
type tenure struct {
	id    any   // of the holder, a string, as the server knows it: no other tenure has had it, or will
	first int64 // its token, as the server has it: the first one of those that came with the last script; 0 in doubt
	lease time.Duration
	life  time.Duration // the longest lease that the server was told of
	cut   bool          // the server was told of a shorter one since the last script that began a lease
	ghost int64         // the attempt that took it, where a copy of that may still arrive; else 0

	raises   int   // how many calls are about to give it a higher token
	raised   int64 // the highest that it was given so
	unraised bool  // one of them had no answer

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
	if b := l.books[a.state]; b != nil && b.grants.len() == 0 && len(b.waiters) == 0 && len(b.visits) == 0 && b.tenure == nil {
		delete(l.books, a.state)
	}
}

// grantOf returns what an owner has of the lock with a state key, or nil. l.mu is held.
func (l *Locks) grantOf(state string, who *owner) *grant {
	if b := l.books[state]; b != nil {
		return b.grants.of(who)
	}
	return nil
}

// count is how many holds the server must know of. l.mu is held.
func (g *grant) count() int {
	n := len(g.holds)
	for _, c := range g.bids {
		n += c.times
	}
	return n
}

// longest is the longest lease of those: no longer need the lock live from now on. What they have left of it does
// not count, for a renewal may overtake whoever tells the server. l.mu is held.
func (g *grant) longest() time.Duration {
	longest := time.Millisecond
	for _, h := range g.holds {
		longest = max(longest, h.lease)
	}
	for _, c := range g.bids {
		longest = max(longest, c.lease)
	}
	return longest
}

// row is what a release tells the server of the grant from now on. l.mu is held.
func (g *grant) row() row {
	r := row{id: g.tenure.id, count: g.count(), longest: g.longest(), place: placeStay}
	g.said = r.count
	g.tenure.cut = g.tenure.cut || r.longest < g.tenure.lease
	return r
}

// bid lets a call take part in what its owner holds of the lock already, if it does: a grant that only bids keep may
// come to nothing. l.mu is held.
func (l *Locks) bid(c *call, p *part) bool {
	g := l.grantOf(p.lock.state, c.who)
	if g == nil || len(g.holds) == 0 {
		return false
	}
	p.bid = &bid{grant: g, times: p.times, lease: c.leaseOr(l.lease)}
	g.bids = append(g.bids, p.bid)
	g.tenure.life = max(g.tenure.life, p.bid.lease)
	return true
}

// unbid ends the bid of a part, if it has one, and returns its grant. l.mu is held.
func (p *part) unbid() *grant {
	if p.bid == nil {
		return nil
	}
	g := p.bid.grant
	g.bids = slices.DeleteFunc(g.bids, func(c *bid) bool { return c == p.bid })
	p.bid = nil
	return g
}

// withdraw ends a bid that has come to nothing. Where the server may count it, it is told. l.mu is held.
func (l *Locks) withdraw(p *part) {
	g := p.unbid()
	if g == nil || g.gone {
		return
	}
	if g.count() != g.said {
		l.janitor.add(&settlement{
			locks: []*lock{g.lock}, attempt: l.attempt(), rows: []row{g.row()}, until: time.Now().Add(g.tenure.life),
		})
	}
	l.closeGrant(g)
}

// closeGrant ends a grant of which nothing is left, and with it the tenure. l.mu is held.
func (l *Locks) closeGrant(g *grant) {
	if l.forget(g) && !g.passed {
		l.endTenure(g.lock, g.tenure)
	}
}

// forget takes a grant out of the books if nothing is left of it, and tells whether it did. l.mu is held.
func (l *Locks) forget(g *grant) bool {
	if !g.gone && g.count() > 0 {
		return false
	}
	if b := l.books[g.lock.state]; b != nil {
		b.grants.remove(g)
		l.tidy(g.lock)
	}
	return true
}

// admit makes as many holds as the part wants: of the grant that it bids, or of a new one. A grant that its owner
// had until now cannot be there any more. It returns what the caller must lose when it has given l.mu back.
func (l *Locks) admit(c *call, p *part, t *tenure, trusted time.Time) (over []*Hold) {
	b := l.bookOf(p.lock)
	g := p.unbid()
	if g == nil {
		if old := b.grants.of(c.who); old != nil {
			old.gone = true
			over = slices.Clone(old.holds)
			b.grants.remove(old)
		}
		g = &grant{lock: p.lock, who: c.who, token: t.first, tenure: t, said: p.times}
		b.grants.add(g)
	}
	g.token = max(g.token, t.first)
	l.holdAll(c, p, g, trusted)
	if g.gone { // the server has lost it since
		return append(over, p.holds...)
	}
	return over
}

// holdAll makes the holds. l.mu is held.
func (l *Locks) holdAll(c *call, p *part, g *grant, trusted time.Time) {
	for range p.times {
		h := l.newHold(c, p, g, trusted)
		p.holds = append(p.holds, h)
		c.taken = append(c.taken, h)
	}
}

// drop takes a hold out of the books. It tells whether it was there. l.mu is held.
func (l *Locks) drop(h *Hold) bool {
	g := h.grant
	i := slices.Index(g.holds, h)
	if i < 0 {
		return false
	}
	g.holds = slices.Delete(g.holds, i, i+1)
	l.forget(g)
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
			l.closeGrant(h.grant)
		}
	}
	l.mu.Unlock()
	for _, h := range lost {
		h.end(ErrLost)
	}
}

// refuted deals with the server's word that it knows no grant by this token. It tells whether the grant is lost by that:
// it is not where the token has risen since, or is rising.
func (l *Locks) refuted(g *grant, token int64) bool {
	l.mu.Lock()
	outrun := g.tenure.outrun(token)
	l.mu.Unlock()
	if !outrun {
		l.loseGrant(g)
	}
	return !outrun
}

// loseGrant is lose for all holds of a grant that the server has no longer.
func (l *Locks) loseGrant(g *grant) {
	l.mu.Lock()
	g.gone = true
	holds := slices.Clone(g.holds)
	l.closeGrant(g)
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
