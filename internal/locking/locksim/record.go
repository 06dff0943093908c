package locksim

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"inventory/internal/locking"
)

// checkLimit is how long the checker may take for the history of one lock.
const checkLimit = 20 * time.Second

// recorded returns the history of a lock. b.mu is held.
func (b *checker) recorded(name string) *History {
	name = lockOf(name)
	h := b.histories[name]
	if h == nil {
		h = &History{}
		b.histories[name] = h
	}
	return h
}

// recordFailure notes a refusal. Other errors say nothing about the lock. b.mu is held.
func (b *checker) recordFailure(c *call, err error) {
	if len(c.names) == 1 && errors.Is(err, locking.ErrBusy) && c.gone().IsZero() {
		name := c.names[0]
		crowded := c.crowd[name] || c.shared[name] || b.world.weather.Wild || !c.who.Client.calm() || b.misled(c, name)
		op := Op{Kind: OpBusy, Owner: c.who.String(), Crowded: crowded}
		b.recorded(name).Add(op, c.begin, time.Now())
	}
}

// misled tells whether a call waited for a hold of its own process that had been freed by force: the process had not learned of
// it, and a waiter in its line asks the server only after a poll. The process knows a hold that nobody unlocks until its lease is
// over, also after its context. b.mu is held.
func (b *checker) misled(c *call, name string) bool {
	return time.Since(c.begin) < pollTime && slices.ContainsFunc(b.entry(name).grips, func(g *grip) bool {
		return g.who.Client == c.who.Client && b.forced(g) && (g.ended.IsZero() || c.begin.Before(g.ended.Add(2*b.longest)))
	})
}

// kind is the operation on the side of a grip.
func (g *grip) kind(k Kind) Kind {
	if g.reads() {
		return map[Kind]Kind{OpLock: OpRead, OpUnlock: OpReadUnlock, OpEnd: OpReadEnd}[k]
	}
	return k
}

// recordGrant notes a hold. It may be part of one that another call of the owner got before, such as a MultiLock that still
// waits for its other parts and fails in the end: that call is in no history, so this one has got the lock since then. b.mu
// is held.
func (b *checker) recordGrant(c *call, g *grip) {
	b.recorded(g.name).Add(Op{
		Kind: g.kind(OpLock), Owner: g.who.String(), Token: g.token, Crowded: c.crowd[g.name] || !g.who.Client.calm(),
		Shared: c.shared[g.name], Before: b.entry(g.name).before(g, c),
	}, c.since[g.name], time.Now())
	if isRed(g.name) && b.forced(g) {
		b.recordEnd(g, c.begin)
	}
}

// before returns the tokens that a grant may have come with before they were raised, since it may have come.
func (e *entry) before(g *grip, c *call) []int64 {
	token, tokens := g.token, []int64(nil)
	for _, r := range slices.Backward(e.rises) {
		if r.reads == g.reads() && r.to == token && !r.at.Before(c.since[g.name]) {
			token, tokens = r.from, append(tokens, r.from)
		}
	}
	slices.Reverse(tokens)
	return tokens
}

// recordRelease notes what Unlock has returned. b.mu is held.
func (b *checker) recordRelease(g *grip, begin time.Time, err error) {
	if err == nil && !g.over && !b.forced(g) {
		g.over = true
		b.recorded(g.name).Add(Op{Kind: g.kind(OpUnlock), Owner: g.who.String(), Token: g.token}, begin, time.Now())
		return
	}
	if !g.ended.IsZero() && g.ended.Before(begin) {
		begin = g.ended // from when on nothing renewed it
	}
	b.recordEnd(g, begin)
}

// recordEnd notes that a hold ends at some time from a moment on. b.mu is held.
func (b *checker) recordEnd(g *grip, from time.Time) {
	if !g.over {
		g.over = true
		b.recorded(g.name).Add(Op{Kind: g.kind(OpEnd), Owner: g.who.String(), Token: g.token}, from, time.Time{})
	}
}

// checkHistories holds what was recorded against the model. b.mu is held.
func (b *checker) checkHistories() {
	for name, e := range b.names {
		if b.forgetful() && !(isRed(name) && b.allKept(name)) {
			continue // a server that has forgotten keeps no promise but growing tokens
		}
		for _, g := range e.grips {
			if !g.over && !g.ended.IsZero() {
				b.recordEnd(g, g.ended)
			}
		}
		model := MutexModel()
		if strings.HasPrefix(name, writes) {
			model = RWModel()
		}
		if result, why := b.recorded(name).Check(model, checkLimit); result != porcupine.Ok {
			b.wrong("the history of %s is %s: no order of its operations explains it\n%s", name, result, why)
		}
	}
}
