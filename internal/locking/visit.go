package locking

import (
	"context"
	"errors"
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

	ticket   *ticket   // nil before it waits
	trouble  time.Time // since when the server has not answered; zero where it has
	doubtful bool      // an attempt may have taken the lock, or may still
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

// ask prepares a trip. The visit has the turn of its tenant.
func (v *visit) ask() *asked {
	l, c, p := v.locks, v.call, v.part
	number, place := v.look()
	q := &asked{start: time.Now()}
	q.attempt.number = l.numbers.Add(1)
	q.parts = q.one[:]
	l.mu.Lock()
	defer l.mu.Unlock()
	token := ""
	if p.tenant.grant != nil {
		token = p.tenant.grant.tenure.token
	}
	q.one[0] = askedPart{id: p.tenant.arg, fresh: token == ""}
	q.call = append(v.fifo.newMintingCall(fifoAcquireScript, q.attempt.number, 10), l.boxed, &q.attempt, v.fifo.side,
		p.tenant.arg, l.milliseconds(c.leaseOr(l.lease)), p.tenant.live()+p.times, token, number, place)
	return q
}

// reach asks the server once. Where it gets no hold, it returns when to look again at the latest, negative
// for at once.
func (v *visit) reach() (pause time.Duration, err error) {
	l, c, p := v.locks, v.call, v.part
	if err := p.tenant.begin(c.ctx, l.closing); err != nil {
		return 0, err
	}
	defer p.tenant.end()
	ask := v.ask()
	if len(c.taken) == 0 {
		c.kept = ask.start
	}
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
	return 0, failed("acquire", p.lock.name, errors.Join(err, over)) // the context, or Close, may be why
}

// bury has a tombstone written for an attempt, which changes nothing else.
func (v *visit) bury(ask *asked) {
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
		t := &tenure{id: p.tenant.arg, token: heard.tokens[0], lease: v.call.leaseOr(l.lease)}
		if resent && ask.one[0].fresh { // a late copy of a re-entry finds nothing to re-enter
			t.ghost = ask.attempt.number
		}
		v.admit(token, t, trusted)
		return 0, nil
	}
	if resent {
		v.bury(ask) // a copy may still take what was busy
	}
	switch heard.code {
	case codeBusy:
		v.queues(true)
		if heard.busy >= pollInterval {
			return lookInterval, nil
		}
		return heard.busy, nil
	case codeGone:
		l.mu.Lock()
		g := p.tenant.grant
		l.mu.Unlock()
		if g != nil {
			l.loseGrant(g)
		}
		return -1, nil
	case codeUpgrade:
		return 0, ErrUpgrade
	default:
		return 0, failed("acquire", p.lock.name, errors.New("the attempt was cancelled"))
	}
}

// admit makes the holds of a lock that the server has granted. Others of the same owner who wait for
// either side need not wait any more.
func (v *visit) admit(token int64, t *tenure, trusted time.Time) {
	l, p := v.locks, v.part
	l.mu.Lock()
	defer l.mu.Unlock()
	if v.ticket != nil {
		v.ticket.queued = false // the script took us out
	}
	g := p.tenant.grant
	if g == nil || g.token != token {
		g = &grant{lock: p.lock, who: v.call.who, token: token, tenure: t}
		p.tenant.grant = g
	}
	p.base = v.base()
	l.holdAll(v.call, p, g, trusted)
	l.tickets.wakeOwner(v.call.who)
}

// base returns what the hold's context is made from: the caller's. A reader under the very context of its
// own writer's hold must go on when that is unlocked, so its context comes from where the writer's came.
// l.mu is held.
func (v *visit) base() context.Context {
	if b := v.locks.books[v.fifo.wakes]; b != nil && v.fifo.side == sideRead {
		if writer := b.tenants.of(v.call.who); writer != nil && writer.grant != nil {
			for _, h := range writer.grant.holds {
				if h.ctx == v.call.ctx {
					return h.base
				}
			}
		}
	}
	return v.call.ctx
}

// leave gives up the ticket and the place in the queue, if there is one, and waits a moment for it to be
// gone. If an attempt may have taken the lock without our knowing, it says what we hold.
func (v *visit) leave() {
	l, t := v.locks, v.ticket
	if t == nil {
		return
	}
	v.part.waiter = nil
	l.mu.Lock()
	l.tickets.drop(t)
	l.mu.Unlock()
	if !t.queued {
		return
	}
	now := time.Now()
	s := &settlement{locks: []*lock{v.part.lock}, rows: []row{{place: t.number}}, until: now.Add(beatLife)}
	if tenant := v.part.tenant; v.doubtful && tenant.beginBy(now.Add(cleanupBound)) == nil {
		defer tenant.end()
		l.mu.Lock()
		s.rows[0].id, s.rows[0].count, s.rows[0].longest = tenant.arg, tenant.live(), tenant.longest()
		l.mu.Unlock()
		s.attempt, s.until = l.attempt(), now.Add(2*v.call.leaseOr(l.lease)+cancelPatience)
	}
	select {
	case <-l.janitor.add(s):
	case <-time.After(cleanupBound):
	}
}
