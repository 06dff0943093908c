package locking

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// lookInterval is how often a waiter looks at the server by itself. The heart looks for it every second.
	lookInterval = 5 * time.Second

	// outage is for how long a waiter keeps asking a server that does not answer, rather than give up its
	// place: long enough for a server that stops for a moment.
	outage = 10 * time.Second
)

// A visit is one caller's way to a first-come lock. Every caller queues at the server by itself, with a
// ticket of its own.
type visit struct {
	locks *Locks
	fifo  *fifo
	call  *call
	part  *part

	ticket   *ticket       // nil before it waits
	id       any           // of the holder that it would be, a string; nil before it asks as one
	over     chan struct{} // closed when it does not ask any more; nil where nobody waits for that
	trouble  time.Time     // since when the server has not answered; zero where it has
	doubtful bool          // an attempt may have taken the lock under its id, or may still
}

// seek asks for the lock until it has it.
func (v *visit) seek() error {
	l, c, p := v.locks, v.call, v.part
	for {
		if err := l.check(c); err != nil {
			if v.queued() && c.ctx.Err() != nil {
				return ended(c.ctx, ErrBusy)
			}
			return err
		}
		pause, err := v.reach()
		if err != nil || len(p.holds) > 0 {
			return err
		}
		if pause < 0 {
			continue
		}
		if c.try || c.waited(time.Now()) || c.ordered && c.who.holdsAfter(p.lock.order) {
			return ErrBusy
		}
		if l.subscription.start(c) {
			continue
		}
		if err := l.await(c, p, pause); err != nil {
			return err
		}
	}
}

// look gets the visit ready for a trip: who may wait has a ticket, and what wakes it from now on is news.
// It tells the script the ticket, and how the visit stands to the queue.
func (v *visit) look() (number, place string) {
	l, c := v.locks, v.call
	if c.try || v.ticket == nil && c.waited(time.Now()) {
		return "", placeNone
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if v.ticket == nil {
		v.ticket = &ticket{number: strconv.FormatInt(l.attempt().number, 10), fifo: v.fifo, waiter: waiter{part: v.part, who: c.who}}
		v.part.waiter = &v.ticket.waiter
		l.tickets.add(v.ticket)
	}
	v.ticket.waiter.woken = false
	return v.ticket.number, placeQueue
}

// queued tells whether the visit may stand in the queue.
func (v *visit) queued() bool { return v.ticket != nil && v.ticket.queued }

// queues notes it.
func (v *visit) queues(queued bool) {
	if v.ticket == nil || v.ticket.queued == queued {
		return
	}
	v.locks.mu.Lock()
	v.ticket.queued = queued
	v.locks.mu.Unlock()
	if queued {
		v.locks.heart.start()
	}
}

// begin gets the visit ready to ask: for the grant that its owner holds, or for one of its own if no other visit of the
// owner is about to have one. Else it returns what to wait for.
func (v *visit) begin() (wait <-chan struct{}) {
	l, c, p := v.locks, v.call, v.part
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bookOf(p.lock)
	sibling := func(other *visit) bool { return other.call.who == c.who }
	if i := slices.IndexFunc(b.visits, sibling); !l.bid(c, p) && i >= 0 {
		other := b.visits[i]
		if other.over == nil {
			other.over = make(chan struct{})
		}
		return other.over
	}
	b.visits = append(b.visits, v)
	return nil
}

// end is the end of what began.
func (v *visit) end() {
	l, p := v.locks, v.part
	l.mu.Lock()
	defer l.mu.Unlock()
	l.withdraw(p)
	b := l.books[p.lock.state]
	if b == nil {
		return
	}
	if i := slices.Index(b.visits, v); i >= 0 {
		b.visits = slices.Delete(b.visits, i, i+1)
	}
	if v.over != nil {
		close(v.over)
		v.over = nil
	}
	l.tidy(p.lock)
}

// ask prepares a trip.
func (v *visit) ask() *asked {
	l, c, p := v.locks, v.call, v.part
	number, place := v.look()
	l.mu.Lock()
	defer l.mu.Unlock()
	q := &asked{start: time.Now()}
	q.attempt.number = l.numbers.Add(1)
	q.parts = q.one[:]
	count, token := p.times, any("")
	if p.bid != nil {
		g := p.bid.grant
		g.said = g.count()
		q.one[0] = askedPart{id: g.tenure.id, token: g.tenure.first}
		count, token = g.said, g.tenure.first
	} else {
		if v.id == nil {
			v.id = l.holder(c.who, q.attempt.number)
		}
		q.one[0] = askedPart{id: v.id, fresh: true}
	}
	q.call = append(v.fifo.newMintingCall(fifoAcquireScript, q.attempt.number, 11), l.boxed, &q.attempt, v.fifo.side,
		q.one[0].id, l.milliseconds(c.leaseOr(l.lease)), count, token, number, place, v.fifo.beside(c.who))
	return q
}

// reach asks the server once. Where it gets no hold, it returns when to look again at the latest, negative
// for at once.
func (v *visit) reach() (pause time.Duration, err error) {
	l, c := v.locks, v.call
	if sibling := v.begin(); sibling != nil {
		return -1, l.awaitSibling(c, sibling)
	}
	defer v.end()
	ask := v.ask()
	c.begins(ask.start)
	trusted := ask.start.Add(trust(c.leaseOr(l.lease)))
	answer, err := v.trip(ask, trusted)
	if isMoving(err) && !c.try { // it may work in a moment
		if ask.attempt.sent.Load() > 1 {
			v.bury(ask)
		}
		return migrationPause, nil
	}
	var heard acquireAnswer
	if err == nil {
		heard, err = readAcquire(answer, 1)
	}
	if err == nil && !time.Now().Before(trusted) {
		err = ErrNoAnswer // its lease may have run out on the way
	}
	if err != nil {
		return v.unanswered(ask, err)
	}
	v.trouble = time.Time{}
	return v.answered(ask, heard, trusted)
}

// trip runs the script within the bounds of the call.
func (v *visit) trip(ask *asked, trusted time.Time) (any, error) {
	l, c := v.locks, v.call
	ctx := c.ctx
	if !c.until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, latest(c.until, ask.start.Add(grace)))
		defer cancel()
	}
	e := errand{script: fifoAcquireScript, call: ask.call}
	if l.replicas.count > 0 && ask.anyFresh() {
		e.eval = (*Locks).evalReplicated
	}
	return l.trip(ctx, trusted, l.closing, e, &ask.attempt)
}

// unanswered deals with an attempt whose outcome is uncertain. Who stands in the queue asks again, for a
// while: the next answer tells what the lost one would have, and a late copy of this one meets a
// tombstone. Else the attempt is cancelled.
func (v *visit) unanswered(ask *asked, err error) (pause time.Duration, _ error) {
	l, c, p := v.locks, v.call, v.part
	refused := redis.Error(nil)
	over := l.check(c)
	if v.queued() && !errors.As(err, &refused) && !errors.Is(err, ErrNotReplicated) && over == nil && !c.waited(time.Now()) {
		if v.trouble.IsZero() {
			v.trouble = time.Now()
		}
		if time.Since(v.trouble) < outage {
			v.bury(ask)
			return pollInterval / 4, nil
		}
	}
	v.queues(ask.attempt.sent.Load() > 0 || v.queued())
	l.cancel(c, []*part{p}, ask)
	if ask.one[0].fresh {
		v.doubtful = false // that is settled
	}
	return 0, failed("acquire", p.lock.name, errors.Join(err, over)) // the context, or Close, may be why
}

// bury has a tombstone written for an attempt, which changes nothing else. Of a bid it is told what is left.
func (v *visit) bury(ask *asked) {
	if v.part.bid != nil {
		v.locks.cancel(v.call, []*part{v.part}, ask)
		return
	}
	v.doubtful = true
	life := 2 * v.call.leaseOr(v.locks.lease)
	v.locks.janitor.add(&settlement{
		locks: []*lock{v.part.lock}, rows: []row{{place: placeStay}},
		tombstone: ask.attempt.number, tombstoneFor: life, until: time.Now().Add(life),
	})
}

// answered puts an answer into the books.
func (v *visit) answered(ask *asked, heard acquireAnswer, trusted time.Time) (pause time.Duration, err error) {
	l, p := v.locks, v.part
	resent := ask.attempt.sent.Load() > 1
	if heard.code == codeTaken {
		token, err := tokenOf(heard.tokens[0])
		if err != nil {
			l.cancel(v.call, []*part{p}, ask)
			return 0, failed("acquire", p.lock.name, err)
		}
		lease := v.call.leaseOr(l.lease)
		t := &tenure{id: ask.one[0].id, first: token, lease: lease, life: lease}
		if resent && ask.one[0].fresh { // a late copy of a re-entry finds nothing to re-enter
			t.ghost = ask.attempt.number
		}
		v.admit(t, trusted)
		return 0, nil
	}
	bid := p.bid
	if resent {
		v.bury(ask) // a copy may still take what was busy
	}
	switch {
	case heard.code == codeBusy:
		v.queues(true)
		if heard.busy >= pollInterval {
			return lookInterval, nil
		}
		return heard.busy, nil
	case heard.code == codeGone && bid != nil:
		l.refuted(bid.grant, ask.one[0].token)
		return -1, nil
	case heard.code == codeCancelled && bid != nil:
		return -1, nil // a later word about the grant came first
	case heard.code == codeUpgrade:
		return 0, ErrUpgrade
	default:
		return 0, failed("acquire", p.lock.name, errors.New("the attempt was cancelled"))
	}
}

// admit puts a lock into the books that the server has granted. Others of the same owner who wait for
// either side need not wait any more.
func (v *visit) admit(t *tenure, trusted time.Time) {
	l := v.locks
	l.mu.Lock()
	if v.ticket != nil {
		v.ticket.queued = false // the script took us out
	}
	if t.id == v.id {
		v.doubtful = false // what was in doubt is the grant
	}
	v.part.spared = v.spared()
	over := l.admit(v.call, v.part, t, trusted)
	l.tickets.wakeOwner(v.call.who)
	l.mu.Unlock()
	l.lose(over)
}

// spared returns whose end does not end the hold: a reader goes on when its owner's writer is unlocked, of whose
// context its own may be made. l.mu is held.
func (v *visit) spared() func(*Hold) bool {
	l, f := v.locks, v.fifo
	if f.side != sideRead || l.grantOf(f.other, v.call.who) == nil {
		return nil
	}
	return func(h *Hold) bool { return h.has(l, f.other) }
}

// leave gives up the ticket and the place in the queue, if there is one, and waits a moment for it to be
// gone. What an attempt may have taken without our knowing is nobody's.
func (v *visit) leave() {
	l, t := v.locks, v.ticket
	if t == nil {
		return
	}
	v.part.waiter = nil
	l.mu.Lock()
	l.tickets.drop(t)
	l.mu.Unlock()
	if !t.queued && !v.doubtful {
		return
	}
	now := time.Now()
	s := &settlement{locks: []*lock{v.part.lock}, rows: []row{{place: t.number}}, until: now.Add(cancelPatience)}
	if v.doubtful {
		s.rows[0].id, s.attempt, s.until = v.id, l.attempt(), now.Add(2*v.call.leaseOr(l.lease)+cancelPatience)
	}
	l.janitor.briefly(s)
}
