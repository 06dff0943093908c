package locking

import (
	"cmp"
	"context"
	"errors"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

// Lock implements Locker.
func (a *lock) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return holdOf(a.acquire(ctx, false, opts))
}

// TryLock implements Locker. It neither waits nor queues. A free lock that is reserved for a waiter is busy, and so is one that
// another goroutine of the owner is giving back just now.
func (a *lock) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return holdOf(a.acquire(ctx, true, opts))
}

func holdOf(h *singleHold, err error) (*Hold, error) {
	if err != nil {
		return nil, err
	}
	return &h.Hold, nil
}

func (a *lock) acquire(ctx context.Context, try bool, opts []LockOption) (*singleHold, error) {
	c := &struct { // one allocation for all of them
		acq  acquisition
		only target
		run  [1]*target
	}{}
	if err := c.acq.begins(ctx, try, opts); err != nil {
		return nil, err
	}
	if a.name == "" {
		return nil, ErrEmptyName
	}
	c.only.lock, c.run[0] = a, &c.only
	if err := c.acq.take(c.run[:]); err != nil {
		return nil, err
	}
	return c.only.hold, nil
}

func unheld(run []*target) []*target {
	for len(run) > 0 && run[0].hold != nil {
		run = run[1:]
	}
	return run
}

// take waits for locks that one script call can take together. If it cannot get all of them, it gives back what it took.
func (acq *acquisition) take(run []*target) error {
	first := run[0].lock
	l := first.locks
	if err := l.enter(); err != nil {
		return err
	}
	defer l.calls.Done()
	a := first.kind.newAsker(acq, run)
	err := l.seek(acq, a, run)
	a.leave() // may take a round trip, in which the caller may go
	if err == nil && endOf(acq.ctx) != nil {
		err = ended(acq.ctx, nil)
	}
	if err != nil {
		var taken []*singleHold
		for _, p := range run {
			if p.hold != nil {
				taken = append(taken, p.hold)
			}
		}
		_ = l.release(acq.ctx, taken, true, nil)
		l.observer.Failed(first.kind.is(), time.Since(acq.start), acq.reasonOf(err))
	}
	return err
}

// seek asks and waits until it has all locks.
func (l *Locks) seek(acq *acquisition, a asker, run []*target) error {
	waiting := error(nil) // what it waits for: another owner, which is ErrBusy, or else a slot that moves; nil: neither
	for run = unheld(run); len(run) > 0; run = unheld(run) {
		if err := l.check(acq, waiting); err != nil {
			return err
		}
		next, err := a.next(run)
		if err != nil {
			return err
		}
		pause, refusal := time.Duration(0), error(nil)
		switch next {
		case actionRetry:
			continue
		case actionReenter:
			if pause, refusal, err = l.reenter(acq, run[0], waiting != nil); err != nil {
				return err
			}
			if refusal == nil {
				continue
			}
		case actionAsk:
			if waiting != nil && acq.looks != nil {
				acq.looks(acq.woken)
			}
			if pause, refusal, err = l.askOnce(acq, a, run, waiting != nil); err != nil {
				return err
			}
			if run = unheld(run); len(run) == 0 || pause < 0 {
				continue
			}
			if acq.stays != nil {
				acq.stays()
			}
		case actionWait:
		}
		switch {
		case refusal == nil:
			waiting, acq.waitedForOthers = ErrBusy, true
		case !errors.Is(waiting, ErrBusy):
			waiting = refusal
		}
		if acq.try || acq.waitIsOver(time.Now()) || acq.ordered && acq.owner.holdsAfter(run[0].lock.position()) {
			return waiting
		}
		if next == actionAsk {
			l.listen()
		}
		if err := l.await(acq, run[0], pause, waiting); err != nil {
			return err
		}
	}
	return nil
}

// askOnce asks the server once. If a lock is still missing, it returns how long to wait at most before the next call;
// negative is no wait. If the server has refused or is silent, and that may pass, it also returns what went wrong.
func (l *Locks) askOnce(acq *acquisition, a asker, missing []*target, waits bool) (pause time.Duration, refusal, err error) {
	q := a.ask(missing)
	defer a.end(q)
	answer, trusted, err := l.send(acq, q)
	if pause = l.passes(acq, err, waits); pause > 0 {
		if q.attempt.Resent() || !server.IsAnswer(err) || server.IsBroken(err) {
			a.cancelCopies(q, 0) // a copy may still arrive, or has done some of it
		}
		return pause, failed("acquire", missing[0].lock.name, err), nil
	}
	if err != nil {
		err = errors.Join(err, l.check(acq, nil)) // the context, or Close, may be why
		a.unanswered(q)
		return 0, nil, failed("acquire", missing[0].lock.name, err)
	}
	pause, err = l.applyAnswer(acq, a, q, answer, trusted)
	return pause, nil, err
}

// passes returns when to ask again after an error that may pass, or 0 if it is the end. Every caller that waits also waits while a
// slot moves. After other refusals, and for a while after silence, only a caller that knows that the lock is busy goes on: to one that
// has just come, an error at once is worth more.
func (l *Locks) passes(acq *acquisition, err error, waits bool) time.Duration {
	acq.silent, acq.moving = lasting(acq.silent, !server.IsAnswer(err)), lasting(acq.moving, l.server.IsMoving(err))
	switch {
	case err == nil || acq.try || errors.Is(err, ErrNotReplicated):
		return 0
	case !acq.moving.IsZero():
		return policy.WhileMoving(time.Since(acq.moving))
	case !waits || l.check(acq, nil) != nil:
		return 0
	case server.IsPassing(err) || !server.IsAnswer(err) && !acq.waitIsOver(time.Now()) && time.Since(acq.silent) < policy.Outage:
		return policy.Silence
	default:
		return 0
	}
}

// lasting returns since when something is so: from before, or from now on; zero if it is not.
func lasting(before time.Time, is bool) time.Time {
	switch {
	case !is:
		return time.Time{}
	case before.IsZero():
		return time.Now()
	default:
		return before
	}
}

// send sends a question to the server, within the bounds of the acquisition, and reads the answer. It returns until when what
// was granted is ours.
func (l *Locks) send(acq *acquisition, q *question) (answer scripts.Acquired, trusted time.Time, err error) {
	ctx, cancel := acq.bounded(q.start)
	defer cancel()
	if q.call.Replicated = 1; acq.try { // then a grant of some is no use
		q.call.Replicated = len(q.run)
	}
	lease := trust(acq.leaseOr(l.lease))
	said, err := l.server.Run(ctx, q.start.Add(lease), l.closing, q.call, &q.attempt)
	if err != nil {
		return scripts.Acquired{}, time.Time{}, err
	}
	q.start = q.attempt.Began(q.start) // to learn that the script is not known may take long
	trusted = q.start.Add(lease)
	answer, err = scripts.ReadAcquire(said, len(q.run), policy.Poll)
	if err == nil && !time.Now().Before(trusted) {
		err = ErrNoAnswer // its lease may have run out on the way
	}
	return answer, trusted, err
}

// applyAnswer notes what the server has granted, and decides what to do about the rest.
func (l *Locks) applyAnswer(acq *acquisition, a asker, q *question, answer scripts.Acquired, trusted time.Time) (pause time.Duration, err error) {
	for i, minted := range answer.Tokens {
		p, g := q.run[i], q.granted(i, minted, acq.owner, acq.leaseOr(l.lease))
		l.mu.Lock()
		over := l.admitLocked(acq, p, g, trusted)
		a.grantedLocked(p, g)
		l.mu.Unlock()
		l.lose(over)
	}
	if answer.Code == scripts.Taken {
		return -1, nil // what is left was not asked for
	}
	n := len(answer.Tokens)
	if q.attempt.Resent() || answer.Code == scripts.Cancelled {
		a.cancelCopies(q, n) // a copy may still take what was busy
	}
	pause = a.stopped(q, n, answer)
	switch {
	case answer.Code == scripts.Busy, answer.Code == scripts.Entered:
		return pause, nil
	case answer.Code == scripts.Upgrade:
		return 0, ErrUpgrade
	default:
		return 0, failed("acquire", q.run[n].lock.name, errors.New("the attempt was cancelled"))
	}
}

// reenter takes a lock once more that the owner of the call holds. It renews the lock for the new hold, and so learns whether the
// lock is still the owner's. If not, the caller has lost its earlier holds, and may ask anew. After an error that may pass it returns
// the same as askOnce.
func (l *Locks) reenter(acq *acquisition, p *target, waits bool) (pause time.Duration, refusal, err error) {
	g, start, lease := p.reenters, time.Now(), acq.leaseOr(l.lease)
	ctx, cancel := acq.bounded(start)
	defer cancel()
	trusted := start.Add(trust(lease))
	l.mu.Lock()
	purpose := scripts.ForHold
	if g.told { // then it is longer than the fixed lease that may be about to begin
		purpose = scripts.ForJoining
	}
	call := g.renewal(lease, purpose)
	l.mu.Unlock()
	call.Patient = !acq.try
	said, err := l.server.Run(ctx, trusted, l.closing, call, &scripts.Attempt{})
	pause = l.passes(acq, err, waits)
	if err == nil && said == int64(scripts.NotOurs) {
		l.loseGrant(g)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p.reenters = nil
	if err != nil {
		trusted = time.Time{}
	}
	if l.joinLocked(acq, p, g, trusted) || g.gone {
		return 0, nil, nil
	}
	if err = failed("acquire", p.lock.name, cmp.Or(errors.Join(err, l.check(acq, nil)), ErrNoAnswer)); pause > 0 { // or its lease is over
		return pause, err, nil
	}
	return 0, nil, err
}

// await waits until it makes sense to look at a lock again: after a wake-up, when it is our turn in the line, or after
// pause, when the lock expires (0: when it is time to poll). Its error is waiting if the wait has run out.
func (l *Locks) await(acq *acquisition, p *target, pause time.Duration, waiting error) error {
	limit := acq.within(cmp.Or(pause, policy.Poll))
	var woken <-chan struct{}
	if p.waiter != nil {
		woken = p.waiter.woken
	}
	came, err := l.pause(acq, woken, limit, waiting)
	if acq.woken = came; err == nil && acq.waitIsOver(time.Now()) {
		return waiting
	}
	return err
}

// listen starts the subscription for wake-ups with the first wait. Until it works this process polls; then its callers look again.
func (l *Locks) listen() {
	if l.server.CanListen {
		l.subscribed.Do(func() { l.loops.Go(func() { l.subscription.Listen(l.stop) }) })
	}
}
