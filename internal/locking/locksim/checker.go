package locksim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"inventory/internal/locking"
)

// settled is how long after the weather has cleared up the last uncertain attempt must be settled.
const settled = 5 * time.Second

// A checker holds what the clients believe against what must be true. Everything in it is of one history.
type checker struct {
	world *World

	mu       sync.Mutex
	names    map[string]*entry
	owners   map[string]*Actor // as they stand in the server's state
	stepped  time.Duration     // how far the server's clock has been set back
	trouble  []string
	excused  []string           // what would be trouble if no server had forgotten
	longest  time.Duration      // lease
	queues   map[string][]place // of first-come locks, by the key of their state
	admitted map[string]string  // with which token a holder got a first-come lock, as the server answered
	copies   bool               // a tombstone has vanished, so a late copy may take a lock
}

// An entry is what is known of one lock.
type entry struct {
	grips   []*grip
	history History
	state   map[shown]int64 // the highest token that a server has shown
	free    time.Time       // when the last hold ended
	asks    map[*Actor]asks
	doubts  []doubt
	forces  []force
	rises   []rise
	lifted  bool // a phase of readers had more than one token
	losses  []loss
	blurred bool      // a token that its history needs has vanished
	wiped   time.Time // when one of its keys vanished last
}

// asks is what an owner asks of a lock.
type asks struct {
	now   int       // calls under way
	since time.Time // when the first of those began that have been asking without a gap
	begun int       // how many calls there have been
}

// shown is where a server shows the state of one side of a lock.
type shown struct {
	server *server
	key    string
}

// A grip is one hold on one lock, as its owner sees it.
type grip struct {
	who       *Actor
	name      string
	token     int64 // when it was granted
	hold      *locking.Hold
	ctx       context.Context
	at        time.Time
	asked     time.Time
	lease     time.Duration
	fixed     bool      // nothing renews it
	learns    time.Time // when it knows at the latest that it has been lost; zero if it has not been
	released  bool      // Unlock has been called
	settled   bool      // and has returned
	confirmed time.Time // when it did so with no error
	carriers  []*server // which of them granted it
	ended     time.Time
	over      bool // the history for the model knows of its end
}

// doubt is an owner's attempt whose outcome nobody knows yet.
type doubt struct {
	who   *Actor
	until time.Time
}

// rise is a token of one side of a lock that was raised.
type rise struct {
	at       time.Time
	reads    bool
	from, to int64
}

func newChecker(w *World) *checker {
	return &checker{
		world:    w,
		names:    make(map[string]*entry),
		owners:   make(map[string]*Actor),
		queues:   make(map[string][]place),
		admitted: make(map[string]string),
	}
}

// entry returns what is known of a lock. b.mu is held.
func (b *checker) entry(name string) *entry {
	name = lockOf(name)
	e := b.names[name]
	if e == nil {
		e = &entry{asks: make(map[*Actor]asks), state: make(map[shown]int64)}
		b.names[name] = e
	}
	return e
}

// wrong notes a violation. b.mu is held.
func (b *checker) wrong(format string, args ...any) {
	text := sprintf(format, args...)
	b.trouble = append(b.trouble, text)
	b.world.note("WRONG: %s", text)
}

// A call is one Lock or TryLock under way.
type call struct {
	who   *Actor
	names []string
	begin time.Time
	lease time.Duration
	fixed bool
	alive func() bool      // its context has not ended
	gone  func() time.Time // when it has
	locks map[string]*asked
}

// asked is what is known of a lock that a call asks for.
type asked struct {
	asks        // of its owner, with this call: from when on one of them may have got it
	crowd  bool // others wait for it, or may hold it
	shared bool // other calls of the same owner ask for it
}

// asks notes the beginning of a call.
func (b *checker) asks(c *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.longest = max(b.longest, c.lease)
	c.locks = make(map[string]*asked)
	for _, name := range c.names {
		e := b.entry(name)
		b.calls(c.who.Client, 1)
		mine := e.asks[c.who]
		if mine.now == 0 {
			mine.since = c.begin
		}
		mine.now++
		mine.begun++
		e.asks[c.who] = mine
		c.locks[name] = &asked{asks: mine, crowd: b.crowded(name, c.who), shared: mine.now > 1}
	}
}

// crowded tells whether anybody else asks for a lock, or anybody may hold it without knowing. An owner itself may: a server
// keeps a lease a little longer than its holder trusts it. b.mu is held.
func (b *checker) crowded(name string, who *Actor) bool {
	e := b.entry(name)
	for other, theirs := range e.asks {
		if other != who && theirs.now > 0 {
			return true
		}
	}
	kept := 2 * b.longest // a hold whose context has ended may be renewed just then
	lapsed := func(g *grip) bool {
		return g.who == who && !g.over && !g.ended.IsZero() && time.Since(g.ended) < kept
	}
	if slices.ContainsFunc(e.grips, lapsed) {
		return true
	}
	return slices.ContainsFunc(e.doubts, func(d doubt) bool { return time.Now().Before(d.until) })
}

// answered notes what a call has returned. parts are the holds of each of its locks.
func (b *checker) answered(c *call, parts []*locking.Hold, err error) []*grip {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for _, name := range c.names {
		e, lock := b.entry(name), c.locks[name]
		b.calls(c.who.Client, -1)
		mine := e.asks[c.who]
		mine.now--
		e.asks[c.who] = mine
		lock.crowd = lock.crowd || b.crowded(name, c.who)
		lock.shared = lock.shared || mine.begun > lock.begun
	}
	if err != nil {
		b.failed(c, err)
		return nil
	}
	if gone := c.gone(); !gone.IsZero() && gone.Before(now) {
		b.wrong("%s was admitted to %s, but had gone %s before", c.who, c.names, now.Sub(gone))
	}
	var grips []*grip
	for i, name := range c.names {
		g := &grip{
			who: c.who, name: name, token: parts[i].Token(), hold: parts[i], ctx: parts[i].Context(),
			at: now, asked: c.begin, lease: c.lease, fixed: c.fixed,
		}
		for _, part := range partsOf(parts[i]) {
			b.owners[part.Owner()] = c.who
			g.carriers = append(g.carriers, b.world.home(part))
		}
		b.granted(g, c)
		grips = append(grips, g)
	}
	return grips
}

// partsOf returns what a hold of one lock consists of.
func partsOf(h *locking.Hold) []*locking.Hold {
	if parts := h.Parts(); parts != nil {
		return parts
	}
	return []*locking.Hold{h}
}

// failed notes an error. b.mu is held.
func (b *checker) failed(c *call, err error) {
	b.recordFailure(c, err)
	until := b.sure()
	if errors.Is(err, locking.ErrBusy) || errors.Is(err, locking.ErrUpgrade) {
		until = time.Now().Add(leaveTime)
	} else if b.world.Peaceful && c.alive() && !b.forcedDuring(c, err) {
		b.wrong("%s is refused %s in good weather: %v", c.who, c.names, err)
	} else if b.world.Peaceful && !c.alive() && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		b.wrong("%s is refused %s, and not told that its context has ended: %v", c.who, c.names, err)
	}
	for _, name := range c.names {
		e := b.entry(name)
		e.doubts = append(e.doubts, doubt{who: c.who, until: until})
	}
}

// sure is when something that is uncertain now must be settled.
func (b *checker) sure() time.Time { return later(time.Now(), b.world.weather.clears).Add(settled) }

// granted checks a new grip. b.mu is held.
func (b *checker) granted(g *grip, c *call) {
	e := b.entry(g.name)
	reentry := false
	for _, other := range e.grips {
		if !other.trusted() || other.who != g.who && other.reads() && g.reads() {
			continue
		}
		if other.who == g.who {
			if other.reads() != g.reads() {
				continue // a writer who reads
			}
			reentry = true
			if other.current() != g.current() && !b.forced(other) {
				b.wrong("%s re-enters %s with token %d, and holds it with %d", g.who, g.name, g.current(), other.current())
			}
			continue
		}
		if b.forced(lower(other, g)) {
			continue
		}
		b.judge(b.kept(lower(other, g)), "%s gets %s with token %d while %s holds it with %d", g.who, g.name, g.token, other.who, other.token)
	}
	if shared := c.locks[g.name].shared; !reentry && !e.has(g, shared) {
		b.checkToken(e, g, shared)
	}
	b.checkGap(e, g, c)
	e.grips = append(e.grips, g)
	b.recordGrant(c, g)
	context.AfterFunc(g.ctx, func() { b.ended(g) })
}

// checkToken checks that a new grant's token is above all earlier ones; a reader's may be that of the phase. Calls of one
// owner may be answered in another order than they were granted. b.mu is held.
func (b *checker) checkToken(e *entry, g *grip, shared bool) {
	for _, other := range e.grips {
		if shared && other.who == g.who && other.reads() != g.reads() {
			continue
		}
		if e.lifted && other.reads() && g.reads() {
			continue // the model knows what a phase may have
		}
		if last := other.current(); !b.forced(g) && (last > g.token || last == g.token && !g.reads()) {
			b.judge(b.kept(g) && b.outgrown(other), "%s gets %s with token %d after %d", g.who, g.name, g.token, last)
		}
	}
}

// has tells whether the owner has a hold with the same token, or had when it asked, that was not confirmed to be over.
// The server may keep it for longer than the owner trusts it; so may another call of the owner.
func (e *entry) has(g *grip, shared bool) bool {
	return slices.ContainsFunc(e.grips, func(other *grip) bool {
		return other.who == g.who && other.current() == g.token && (shared || !other.isConfirmed() || !other.confirmed.Before(g.asked))
	})
}

// lower returns the grip whose grant came first, by their tokens.
func lower(a, b *grip) *grip {
	if b.current() < a.current() {
		return b
	}
	return a
}

// isConfirmed tells whether it was given back without an error.
func (g *grip) isConfirmed() bool { return !g.confirmed.IsZero() }

// reads tells whether it is a hold on the reading side.
func (g *grip) reads() bool { return isRead(g.name) }

// trusted tells whether the owner may rely on a grip.
func (g *grip) trusted() bool { return !g.released && g.ctx.Err() == nil }

// ended notes that the context of a grip has ended.
func (b *checker) ended(g *grip) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if g.ended.IsZero() {
		g.ended = time.Now()
	}
	if !g.released {
		b.relies(g)
	}
	b.entry(g.name).free = later(b.entry(g.name).free, time.Now())
	if errors.Is(context.Cause(g.ctx), locking.ErrLost) {
		b.recordEnd(g, time.Now())
		if b.world.Peaceful && !b.fixed(g.who) && !b.forcedFrom(g.who) {
			b.wrong("%s has lost %s in good weather", g.who, g.name)
		}
		b.world.note("%s has lost %s, token %d", g.who, g.name, g.token)
	}
}

// fixed tells whether an owner has had a fixed lease, which ends what was taken inside of it. b.mu is held.
func (b *checker) fixed(who *Actor) bool {
	for _, e := range b.names {
		if slices.ContainsFunc(e.grips, func(g *grip) bool { return g.who == who && g.fixed }) {
			return true
		}
	}
	return false
}

// releases notes that Unlock is called.
func (b *checker) releases(grips []*grip) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range grips {
		if g.trusted() {
			b.relies(g)
		}
		g.released = true
		b.entry(g.name).free = time.Now()
	}
}

// released notes what Unlock has returned.
func (b *checker) released(grips []*grip, begin time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range grips {
		if g.settled = true; err == nil {
			g.confirmed = time.Now()
		}
		e := b.entry(g.name)
		e.free = time.Now()
		switch {
		case err != nil:
			e.doubts = append(e.doubts, doubt{who: g.who, until: b.sure()})
		case isRed(g.name): // a minority of the servers has not heard of it yet, perhaps
			e.doubts = append(e.doubts, doubt{who: g.who, until: time.Now().Add(leaveTime)})
		}
		b.recordRelease(g, begin, err)
	}
}

// checkGap checks that a lock does not stay free for long while somebody waits for it. b.mu is held.
func (b *checker) checkGap(e *entry, g *grip, c *call) {
	if len(c.names) > 1 {
		return // it waited for something else meanwhile
	}
	since := later(later(c.begin, e.free), b.world.weather.clears)
	limit := b.longest + pollTime + roundTripTime + time.Second
	if strings.Contains(g.name, ":") {
		limit += beatTime + min(b.stepped, 10*time.Second) // a waiter before it may have died
	}
	if b.world.Peaceful && b.tidy(e, g) {
		since = later(later(c.begin, e.free), e.wiped)
		limit = reservationTime + 20*b.world.weather.Latency // the release has woken the next
		if b.world.weather.lies() || b.world.weather.Vanish > 0 {
			limit += pollTime // or it has looked by itself
		}
	}
	if gap := g.at.Sub(since); gap > limit && !e.held() {
		b.wrong("%s waited %s for %s, which nobody held", g.who, gap, g.name)
	}
}

// tidy tells whether no server keeps a lock for any hold but one: all have been given back, or have vanished. b.mu is held.
func (b *checker) tidy(e *entry, but *grip) bool {
	return !slices.ContainsFunc(e.grips, func(g *grip) bool { return g != but && !g.isConfirmed() && b.kept(g) })
}

// held tells whether anybody trusts a hold.
func (e *entry) held() bool { return slices.ContainsFunc(e.grips, (*grip).trusted) }

// reservationTime is how long a free lock is reserved for the process that was woken, which may not want it any more.
const reservationTime = 500 * time.Millisecond

const (
	pollTime = time.Second // how often a waiter looks by itself
	// leaveTime is for how long in good weather the lock may be on its way to somebody who has just gone.
	leaveTime = 250 * time.Millisecond

	beatTime      = 8 * time.Second // after which a first-come lock passes over a dead waiter, if nobody has asked for long
	roundTripTime = 3 * time.Second // how long a process may wait for an answer that it cleans up with
)

// finish reports the violations and the history that led to them.
func (b *checker) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.names {
		for _, g := range e.grips {
			if g.trusted() {
				b.relies(g)
			}
		}
	}
	b.checkHistories()
	if len(b.trouble) == 0 {
		return
	}
	slices.Sort(b.trouble)
	b.world.T.Errorf("%s\n%s\nthe history:\n%s", b.world.Name, strings.Join(slices.Compact(b.trouble), "\n"), &b.world.trace)
}
