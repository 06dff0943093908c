package locking

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"inventory/internal/locking/internal/keys"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"

	"github.com/redis/go-redis/v9"
)

const (
	// lookInterval is how often a waiter looks at the server by itself. The heartbeat looks for it every second.
	lookInterval = 5 * time.Second

	// outage is for how long a waiter keeps asking a server that does not answer, rather than give up its
	// place: long enough for a server that stops for a moment.
	outage = 10 * time.Second
)

// A acquisition is one caller's way to a first-come lock. Every caller queues at the server by itself, with a
// ticket of its own.
type visit struct {
	locks *Locks
	fifo  *fifo
	call  *acquisition
	part  *part

	ticket      *ticket       // nil before it waits
	id          any           // of the holder that it would be, a string; nil before it asks as one
	over        chan struct{} // closed when it does not ask any more; nil where nobody waits for that
	silentSince time.Time     // since when the server has not answered; zero where it has
	doubtful    bool          // an attempt may have taken the lock under its id, or may still
}

// seek asks for the lock until it has it.
func (v *visit) seek() error {
	l, acq, p := v.locks, v.call, v.part
	for {
		if err := l.check(acq); err != nil {
			if v.queued() && acq.ctx.Err() != nil {
				return ended(acq.ctx, ErrBusy)
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
		if acq.try || acq.waitIsOver(time.Now()) || acq.ordered && acq.owner.holdsAfter(p.lock.order) {
			return ErrBusy
		}
		if l.subscribe(acq) {
			continue
		}
		if err := l.await(acq, p, pause); err != nil {
			return err
		}
	}
}

// look gets the acquisition ready for a round trip: who may wait has a ticket, and what wakes it from now on is news.
// It tells the script the ticket, and how the acquisition stands to the queue.
func (v *visit) look() (number, place string) {
	l, acq := v.locks, v.call
	if acq.try || v.ticket == nil && acq.waitIsOver(time.Now()) {
		return "", scripts.QueueIgnore
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if v.ticket == nil {
		v.ticket = &ticket{number: strconv.FormatInt(l.attempt().Number, 10), fifo: v.fifo, waiter: waiter{part: v.part, owner: acq.owner}}
		v.part.waiter = &v.ticket.waiter
		l.tickets.addLocked(v.ticket)
	}
	v.ticket.waiter.woken = false
	return v.ticket.number, scripts.QueueEnter
}

// queued tells whether the acquisition may stand in the queue.
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
		v.locks.heartbeat.start()
	}
}

// begin gets the acquisition ready to ask: for the grant that its owner holds, or for one of its own if no other acquisition of the
// owner is about to have one. Else it returns what to wait for.
func (v *visit) begin() (wait <-chan struct{}) {
	l, acq, p := v.locks, v.call, v.part
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.stateOfLocked(p.lock)
	sibling := func(other *visit) bool { return other.call.owner == acq.owner }
	if i := slices.IndexFunc(st.visits, sibling); !l.reenterLocked(acq, p) && i >= 0 {
		other := st.visits[i]
		if other.over == nil {
			other.over = make(chan struct{})
		}
		return other.over
	}
	st.visits = append(st.visits, v)
	return nil
}

// end is the end of what began.
func (v *visit) end() {
	l, p := v.locks, v.part
	l.mu.Lock()
	defer l.mu.Unlock()
	l.withdrawLocked(p)
	st := l.states[p.lock.stateKey]
	if st == nil {
		return
	}
	if i := slices.Index(st.visits, v); i >= 0 {
		st.visits = slices.Delete(st.visits, i, i+1)
	}
	if v.over != nil {
		close(v.over)
		v.over = nil
	}
	l.tidyLocked(p.lock)
}

// ask prepares a round trip.
func (v *visit) ask() *acquireCall {
	l, acq, p := v.locks, v.call, v.part
	number, place := v.look()
	l.mu.Lock()
	defer l.mu.Unlock()
	q := &acquireCall{start: time.Now()}
	q.attempt.Number = l.numbers.Add(1)
	q.parts = q.one[:]
	count, token := p.times, any("")
	if p.reentry != nil {
		g := p.reentry.grant
		g.told = g.countLocked()
		q.one[0] = acquirePart{id: g.lease.id, token: g.lease.first}
		count, token = g.told, g.lease.first
	} else {
		if v.id == nil {
			v.id = keys.Holder(l.process, acq.owner.id, q.attempt.Number)
		}
		q.one[0] = acquirePart{id: v.id, fresh: true}
	}
	q.call = v.fifo.newMintingCall(scripts.FifoAcquire, q.attempt.Number, 11).With(l.boxed, &q.attempt, v.fifo.side,
		q.one[0].id, l.milliseconds(acq.leaseOr(l.lease)), count, token, number, place, v.fifo.otherSideLocked(acq.owner))
	return q
}

// reach asks the server once. Where it gets no hold, it returns when to look again at the latest, negative
// for at once.
func (v *visit) reach() (pause time.Duration, err error) {
	l, acq := v.locks, v.call
	if sibling := v.begin(); sibling != nil {
		return -1, l.awaitSibling(acq, sibling)
	}
	defer v.end()
	ask := v.ask()
	acq.noteStart(ask.start)
	trusted := ask.start.Add(trust(acq.leaseOr(l.lease)))
	answer, err := v.trip(ask, trusted)
	if server.IsMoving(err) && !acq.try { // it may work in a moment
		if ask.attempt.Resent() {
			v.cancelAttempt(ask)
		}
		return server.MigrationPause, nil
	}
	var heard scripts.Acquired
	if err == nil {
		heard, err = scripts.ReadAcquire(answer, 1, pollInterval)
	}
	if err == nil && !time.Now().Before(trusted) {
		err = ErrNoAnswer // its lease may have run out on the way
	}
	if err != nil {
		return v.unanswered(ask, err)
	}
	v.silentSince = time.Time{}
	return v.applyAnswer(ask, heard, trusted)
}

// round trip runs the script within the bounds of the call.
func (v *visit) trip(ask *acquireCall, trusted time.Time) (any, error) {
	l, acq := v.locks, v.call
	ctx := acq.ctx
	if !acq.until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, latest(acq.until, ask.start.Add(grace)))
		defer cancel()
	}
	ask.call.Replicated = ask.anyFresh()
	return l.server.Run(ctx, trusted, l.closing, ask.call, &ask.attempt)
}

// unanswered deals with an attempt whose outcome is uncertain. Who stands in the queue asks again, for a
// while: the next answer tells what the lost one would have, and a late copy of this one meets a
// tombstone. Else the attempt is cancelled.
func (v *visit) unanswered(ask *acquireCall, err error) (pause time.Duration, _ error) {
	l, acq, p := v.locks, v.call, v.part
	refused := redis.Error(nil)
	over := l.check(acq)
	if v.queued() && !errors.As(err, &refused) && !errors.Is(err, ErrNotReplicated) && over == nil && !acq.waitIsOver(time.Now()) {
		if v.silentSince.IsZero() {
			v.silentSince = time.Now()
		}
		if time.Since(v.silentSince) < outage {
			v.cancelAttempt(ask)
			return pollInterval / 4, nil
		}
	}
	v.queues(ask.attempt.Sent() || v.queued())
	l.cancel(acq, []*part{p}, ask)
	if ask.one[0].fresh {
		v.doubtful = false // that is settled
	}
	return 0, failed("acquire", p.lock.name, errors.Join(err, over)) // the context, or Close, may be why
}

// cancelAttempt has a tombstone written for an attempt, which changes nothing else. Of a re-entry it is told what is left.
func (v *visit) cancelAttempt(ask *acquireCall) {
	if v.part.reentry != nil {
		v.locks.cancel(v.call, []*part{v.part}, ask)
		return
	}
	v.doubtful = true
	life := 2 * v.call.leaseOr(v.locks.lease)
	v.locks.cleaner.add(&settlement{
		locks: []*lock{v.part.lock}, rows: []row{{queue: scripts.QueueStay}},
		tombstone: ask.attempt.Number, tombstoneFor: life, until: time.Now().Add(life),
	})
}

// applyAnswer puts an answer into the registry.
func (v *visit) applyAnswer(ask *acquireCall, heard scripts.Acquired, trusted time.Time) (pause time.Duration, err error) {
	l, p := v.locks, v.part
	resent := ask.attempt.Resent()
	if heard.Code == scripts.Taken {
		token, err := scripts.ReadToken(heard.Tokens[0])
		if err != nil {
			l.cancel(v.call, []*part{p}, ask)
			return 0, failed("acquire", p.lock.name, err)
		}
		term := v.call.leaseOr(l.lease)
		ls := &lease{id: ask.one[0].id, first: token, duration: term, longest: term}
		if resent && ask.one[0].fresh { // a late copy of a re-entry finds nothing to re-enter
			ls.resent = ask.attempt.Number
		}
		v.admit(ls, trusted)
		return 0, nil
	}
	bid := p.reentry
	if resent {
		v.cancelAttempt(ask) // a copy may still take what was busy
	}
	switch {
	case heard.Code == scripts.Busy:
		v.queues(true)
		if heard.Busy >= pollInterval {
			return lookInterval, nil
		}
		return heard.Busy, nil
	case heard.Code == scripts.Gone && bid != nil:
		l.denied(bid.grant, ask.one[0].token)
		return -1, nil
	case heard.Code == scripts.Cancelled && bid != nil:
		return -1, nil // a later word about the grant came first
	case heard.Code == scripts.Upgrade:
		return 0, ErrUpgrade
	default:
		return 0, failed("acquire", p.lock.name, errors.New("the attempt was cancelled"))
	}
}

// admit puts a lock into the registry that the server has granted. Others of the same owner who wait for
// either side need not wait any more.
func (v *visit) admit(ls *lease, trusted time.Time) {
	l := v.locks
	l.mu.Lock()
	if v.ticket != nil {
		v.ticket.queued = false // the script took us out
	}
	if ls.id == v.id {
		v.doubtful = false // what was in doubt is the grant
	}
	v.part.spared = v.sparedLocked()
	over := l.admitLocked(v.call, v.part, ls, trusted)
	l.tickets.wakeOwnerLocked(v.call.owner)
	l.mu.Unlock()
	l.lose(over)
}

// sparedLocked returns whose end does not end the hold: a reader goes on when its owner's writer is unlocked, of whose
// context its own may be made.
func (v *visit) sparedLocked() func(*Hold) bool {
	l, f := v.locks, v.fifo
	if f.side != scripts.Read || l.grantOfLocked(f.otherKey, v.call.owner) == nil {
		return nil
	}
	return func(h *Hold) bool { return h.has(l, f.otherKey) }
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
	l.tickets.dropLocked(t)
	l.mu.Unlock()
	if !t.queued && !v.doubtful {
		return
	}
	now := time.Now()
	s := &settlement{locks: []*lock{v.part.lock}, rows: []row{{queue: t.number}}, until: now.Add(cancelPatience)}
	if v.doubtful {
		s.rows[0].id, s.attempt, s.until = v.id, l.attempt(), now.Add(2*v.call.leaseOr(l.lease)+cancelPatience)
	}
	l.cleaner.briefly(s)
}
