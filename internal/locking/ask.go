package locking

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// How an acquisition stands to the queue, as acquire.lua knows it.
const (
	placeNone   = "n"
	placeQueue  = "q"
	placeQueued = "Q"
)

// reserve is how many tokens the process keeps for the next in line when it takes a lock for which more
// than one of its owners waits. They are used up or thrown away within localFor.
const reserve = 64

// asked is what acquire.lua was told.
type asked struct {
	attempt attempt
	start   time.Time
	call    scriptCall
	parts   []askedPart
	one     [1]askedPart // what parts points at where there is one
}

// askedPart is what it was told of one lock.
type askedPart struct {
	id       any   // of the holder, a string
	token    int64 // of the grant that is re-entered, 0 for any
	reserves bool  // tokens beyond the first
	fresh    bool  // not a re-entry
}

// ask prepares a trip. What it says of bids is true under the number that it has.
func (l *Locks) ask(c *call, run []*part) *asked {
	listening := l.subscription.listening()
	l.mu.Lock()
	defer l.mu.Unlock()
	q := &asked{start: time.Now()}
	q.attempt.number = l.numbers.Add(1)
	q.parts = q.one[:]
	if len(run) > 1 {
		q.parts = make([]askedPart, len(run))
	}
	q.call = acquireScript.newCall(2+2*len(run), 2+5*len(run))
	q.call = append(q.call, run[0].lock.args[0], run[0].lock.tombstone(q.attempt.number))
	for _, p := range run {
		q.call = append(q.call, p.lock.args[1:]...)
	}
	q.call = append(q.call, &q.attempt, l.milliseconds(c.leaseOr(l.lease)))

	fresh := any(nil)
	for i, p := range run {
		to := &q.parts[i]
		spare, count, token := 0, p.times, any("")
		switch {
		case p.bid != nil:
			g := p.bid.grant
			g.said = g.count()
			to.id, to.token = g.tenure.id, g.tenure.first
			count, token = g.said, to.token
		case p.waiter != nil && len(l.books[p.lock.state].waiters) > 1 && p.times == 1:
			to.id, to.fresh, spare = l.nameless(&q.attempt), true, reserve-1
		default:
			if fresh == nil {
				fresh = l.holder(c.who, q.attempt.number)
			}
			to.id, to.fresh = fresh, true
		}
		to.reserves = spare > 0
		q.call = append(q.call, to.id, l.placeOf(p, listening && !c.try), spare, count, token)
	}
	if to := &q.parts[0]; len(run) == 1 && to.fresh && run[0].times == 1 {
		q.call = q.call[:len(q.call)-2] // what the script takes for granted
		if !to.reserves {
			q.call = q.call[:len(q.call)-1]
		}
	}
	return q
}

// anyFresh tells whether a lock may be taken that its owner does not hold already.
func (q *asked) anyFresh() bool {
	return slices.ContainsFunc(q.parts, func(p askedPart) bool { return p.fresh })
}

// holder returns the id of a holder at the server: of one grant to an owner, and no other before or after it.
func (l *Locks) holder(who *owner, number int64) string {
	return l.process + ":" + who.id + ":" + strconv.FormatInt(number, 10)
}

// ownerOf returns the owner of a holder's id: the process, a colon, and who of it.
func ownerOf(id string) string {
	if first, last := strings.IndexByte(id, ':'), strings.LastIndexByte(id, ':'); first < last {
		return id[:last]
	}
	return id
}

// nameless returns the id of a holder for as long as the lock passes from owner to owner inside this
// process: the server cannot know which of them has it just now.
func (l *Locks) nameless(try *attempt) string {
	return l.process + ":*" + strconv.FormatInt(try.number, 10)
}

// placeOf tells the script how a part stands to the queue, and notes that it may stand there from now
// on. l.mu is held.
func (l *Locks) placeOf(p *part, queue bool) any {
	if p.waiter == nil {
		return placeNone
	}
	b := l.books[p.lock.state]
	if b.queued {
		return placeQueued
	}
	if !queue || b.tenure != nil {
		return placeNone // nobody would hear a wake-up, or nobody waits for it
	}
	b.queued = true
	return placeQueue
}

// milliseconds is a lease as scripts take it.
func (l *Locks) milliseconds(lease time.Duration) any {
	if lease == l.lease {
		return l.leaseArg
	}
	return lease.Milliseconds()
}

// acquireAnswer is what acquire.lua answered.
type acquireAnswer struct {
	code   int64
	busy   time.Duration // how long the first lock that is busy will be so at most
	tokens []string
}

// readAcquire reads the answer to an acquisition of n locks.
func readAcquire(answer any, n int) (acquireAnswer, error) {
	if token, ok := answer.(string); ok && n == 1 {
		return acquireAnswer{tokens: []string{token}}, nil
	}
	list, ok := answer.([]any)
	if !ok || len(list) < 2 || len(list) > n+2 {
		return acquireAnswer{}, strange(answer)
	}
	code, isCode := list[0].(int64)
	busy, isBusy := list[1].(int64)
	if !isCode || !isBusy || code < codeTaken || code > codeUpgrade || (code == codeTaken) != (len(list) == n+2) {
		return acquireAnswer{}, strange(answer)
	}
	a := acquireAnswer{code: code}
	a.busy = min(time.Duration(max(busy, 0)+1)*time.Millisecond, pollInterval)
	if busy > pollInterval.Milliseconds() {
		a.busy = pollInterval
	}
	for _, item := range list[2:] {
		token, ok := item.(string)
		if !ok {
			return acquireAnswer{}, strange(answer)
		}
		a.tokens = append(a.tokens, token)
	}
	return a, nil
}

// tokensOf reads a token, and how many after it are reserved: what a script that grants answers.
func tokensOf(text string) (token, spare int64, err error) {
	first, rest, more := strings.Cut(text, " ")
	if token, err = tokenOf(first); err != nil || !more {
		return token, 0, err
	}
	if spare, err = strconv.ParseInt(rest, 10, 64); err != nil || spare < 0 || spare >= reserve {
		return 0, 0, strange(text)
	}
	return token, spare, nil
}

// tokenOf reads a token.
func tokenOf(text string) (int64, error) {
	token, err := strconv.ParseInt(text, 10, 64)
	if err != nil || token <= 0 {
		return 0, strange(text)
	}
	return token, nil
}

func strange(answer any) error {
	return fmt.Errorf("locking: the server answers %v to a script", answer)
}

// heard puts an answer into the books.
func (l *Locks) heard(c *call, run []*part, ask *asked, answer acquireAnswer, trusted time.Time) (n int, busy time.Duration, err error) {
	var few [4]*tenure
	tenures := few[:0]
	resent := ask.attempt.sent.Load() > 1
	for i, text := range answer.tokens {
		token, spare, err := tokensOf(text)
		if err != nil {
			l.cancel(c, run, ask)
			return 0, 0, failed("acquire", run[0].lock.name, err)
		}
		lease := c.leaseOr(l.lease)
		t := &tenure{
			id: ask.parts[i].id, first: token, lease: lease, life: lease,
			next: token + 1, last: token + spare, script: ask.start, since: ask.start,
		}
		if resent && ask.parts[i].fresh { // a late copy of a re-entry finds nothing to re-enter
			t.ghost = ask.attempt.number
		}
		tenures = append(tenures, t)
	}
	for i, t := range tenures {
		l.granted(c, run[i], t, trusted)
	}
	n = len(tenures)
	if answer.code == codeTaken {
		return n, -1, nil // what is left of the run was not asked for
	}
	bid := run[n].bid
	if resent || answer.code == codeCancelled && bid == nil {
		l.cancel(c, run[n:], ask) // a copy may still take what was busy
	}
	l.unreached(run, n+1)
	switch {
	case answer.code == codeBusy:
		return n, answer.busy, nil
	case answer.code == codeGone && bid != nil:
		l.refuted(bid.grant, ask.parts[n].token)
		return n, -1, nil
	case answer.code == codeCancelled && bid != nil:
		return n, -1, nil // a later word about the grant came first
	default:
		return n, 0, fmt.Errorf("locking: acquire %q: the attempt was cancelled", run[0].lock.name)
	}
}

// granted puts a lock into the books that the server has granted.
func (l *Locks) granted(c *call, p *part, t *tenure, trusted time.Time) {
	l.mu.Lock()
	b := l.bookOf(p.lock)
	if w := p.waiter; w != nil {
		b.queued = false // the script took us out of the queue
		p.waiter = nil
		l.remove(p.lock, w)
	}
	over := l.admit(c, p, t, trusted)
	b = l.bookOf(p.lock)
	b.tenure = p.holds[0].grant.tenure
	l.reenter(b, c.who)
	l.mu.Unlock()
	l.lose(over)
}

// unreached notes that the script stopped before these parts, and has not queued for them.
func (l *Locks) unreached(run []*part, from int) {
	for _, p := range run[min(from, len(run)):] {
		l.mu.Lock()
		if p.waiter != nil {
			l.books[p.lock.state].queued = false
		}
		l.leaveLine(p)
		l.mu.Unlock()
	}
}
