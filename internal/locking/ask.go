package locking

import (
	"fmt"
	"time"
)

// How an acquisition stands to the queue, as acquire.lua knows it.
const (
	placeNone   = "n"
	placeQueue  = "q"
	placeQueued = "Q"
)

// asked is what acquire.lua was told.
type asked struct {
	attempt *attempt
	call    scriptCall
	fresh   []bool // not a re-entry
}

// ask prepares a trip. The caller has the turn of every tenant.
func (l *Locks) ask(c *call, run []*part) *asked {
	q := &asked{attempt: l.attempt(), fresh: make([]bool, len(run))}
	q.call = acquireScript.newCall(2+3*len(run), 4+3*len(run))
	q.call = append(q.call, run[0].mutex.clock, run[0].mutex.tombstone(q.attempt.number))
	for _, p := range run {
		q.call = append(q.call, p.mutex.keys...)
	}
	q.call = append(q.call, l.boxed, c.who.id, q.attempt, c.leaseOr(l.lease).Milliseconds())

	listening := l.subscription.listening()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, p := range run {
		q.fresh[i] = p.tenant.grant == nil
		token := any("")
		if !q.fresh[i] {
			token = p.tenant.grant.token
		}
		q.call = append(q.call, p.tenant.live()+p.times, token, l.placeOf(p, listening && !c.try))
	}
	return q
}

// placeOf tells the script how a part stands to the queue, and notes that it may stand there from now
// on. l.mu is held.
func (l *Locks) placeOf(p *part, queue bool) string {
	if p.waiter == nil {
		return placeNone
	}
	waiting := l.lines[p.mutex.state]
	if waiting.queued {
		return placeQueued
	}
	if !queue {
		return placeNone // nobody would hear a wake-up, or nobody waits for it
	}
	waiting.queued = true
	return placeQueue
}

// heard puts an answer into the books.
func (l *Locks) heard(c *call, run []*part, ask *asked, numbers []int64, trusted time.Time) (n int, busy time.Duration, err error) {
	code, tokens := numbers[0], numbers[2:]
	resent := ask.attempt.sent.Load() > 1
	for i, token := range tokens {
		l.granted(c, run[i], token, ask.fresh[i] && resent, ask.attempt.number, trusted)
	}
	if code == codeTaken {
		return len(tokens), -1, nil // what is left of the run was not asked for
	}
	if resent || code == codeCancelled {
		l.cancel(c, run[len(tokens):], ask) // a copy may still take what was busy
	}
	l.unreached(run, len(tokens)+1)
	switch code {
	case codeBusy:
		return len(tokens), min(time.Duration(max(numbers[1], 0)+1)*time.Millisecond, pollInterval), nil
	case codeGone:
		l.mu.Lock()
		g := run[len(tokens)].tenant.grant
		l.mu.Unlock()
		if g != nil {
			l.loseGrant(g)
		}
		return len(tokens), -1, nil
	default:
		return len(tokens), 0, fmt.Errorf("locking: acquire %q: the attempt was cancelled", run[0].mutex.name)
	}
}

// granted makes the holds of a lock that the server has granted.
func (l *Locks) granted(c *call, p *part, token int64, ghost bool, number int64, trusted time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.waiter != nil {
		l.lines[p.mutex.state].queued = false // the script took us out of the queue
		l.remove(p.mutex.state, p.waiter)
		p.waiter = nil
	}
	g := p.tenant.grant
	if g == nil || g.token != token {
		g = &grant{mutex: p.mutex, who: c.who, token: token}
		p.tenant.grant = g
	}
	if ghost {
		g.ghost = number
	}
	for range p.times {
		h := l.newHold(c, p, g, trusted)
		p.holds = append(p.holds, h)
		c.taken = append(c.taken, h)
	}
	l.reenter(p.mutex.state, c.who)
}

// unreached notes that the script stopped before these parts, and has not queued for them.
func (l *Locks) unreached(run []*part, from int) {
	l.mu.Lock()
	for _, p := range run[min(from, len(run)):] {
		if p.waiter != nil {
			l.lines[p.mutex.state].queued = false
		}
	}
	l.mu.Unlock()
	for _, p := range run[min(from, len(run)):] {
		l.leave(p)
	}
}
