package locking

import (
	"cmp"
	"context"
	"errors"
	"strings"
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
	acq, err := newAcquisition(ctx, try, opts)
	if err != nil {
		return nil, err
	}
	if a.name == "" {
		return nil, ErrEmptyName
	}
	only := &target{lock: a}
	if err := acq.take([]*target{only}); err != nil {
		return nil, err
	}
	return only.hold, nil
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
		_ = l.release(acq.ctx, taken, true)
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
			if pause, refusal, err = l.askOnce(acq, a, run, waiting != nil); err != nil {
				return err
			}
			if run = unheld(run); len(run) == 0 || pause < 0 {
				continue
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

// check returns why a caller may not continue, joined with the error of what it was doing.
func (l *Locks) check(acq *acquisition, doing error) error {
	if endOf(acq.ctx) != nil {
		return ended(acq.ctx, doing)
	}
	select {
	case <-l.closing:
		return ErrClosed
	default:
		return nil
	}
}

// askOnce asks the server once. If a lock is still missing, it returns how long to wait at most before the next call;
// negative is no wait. If the server has refused or is silent, and that may pass, it also returns what went wrong.
func (l *Locks) askOnce(acq *acquisition, a asker, missing []*target, waits bool) (pause time.Duration, refusal, err error) {
	q := a.ask(missing)
	defer a.end(q)
	answer, trusted, err := l.send(acq, q)
	if pause = l.passes(acq, err, waits); pause > 0 {
		if q.attempt.Resent() || !server.IsAnswer(err) {
			a.cancelCopies(q, 0) // a copy may still arrive
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

// passes returns when to ask again after an error that may pass, or 0 if it is the end. That a slot moves, everybody waits
// for who waits at all. Only who knows that the lock is busy goes on after other refusals, and for a while after
// silence: to a caller that has just come, an error at once is worth more.
func (l *Locks) passes(acq *acquisition, err error, waits bool) time.Duration {
	if server.IsAnswer(err) {
		acq.silent = time.Time{}
	} else if acq.silent.IsZero() {
		acq.silent = time.Now()
	}
	switch {
	case err == nil || acq.try || errors.Is(err, ErrNotReplicated):
		return 0
	case l.server.IsMoving(err):
		return policy.Migration
	case !waits || l.check(acq, nil) != nil:
		return 0
	case server.IsPassing(err) || !server.IsAnswer(err) && !acq.waitIsOver(time.Now()) && time.Since(acq.silent) < policy.Outage:
		return policy.Silence
	default:
		return 0
	}
}

// send sends a question to the server, within the bounds of the acquisition, and reads the answer. It returns until when what
// was granted is ours.
func (l *Locks) send(acq *acquisition, q *question) (answer scripts.Acquired, trusted time.Time, err error) {
	ctx, cancel := acq.bounded(q.start)
	defer cancel()
	q.call.Replicated = acq.replicated(q.run)
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

// reenter takes a lock once more that the owner of the call holds. It renews the lock for the new hold, and so learns whether the
// lock is still the owner's. If not, the caller has lost what it had, and may ask anew. After what may pass it returns the same as
// askOnce.
func (l *Locks) reenter(acq *acquisition, p *target, waits bool) (pause time.Duration, refusal, err error) {
	g, start, lease := p.reenters, time.Now(), acq.leaseOr(l.lease)
	ctx, cancel := acq.bounded(start)
	defer cancel()
	trusted := start.Add(trust(lease))
	call := p.lock.kind.renewal(g, lease)
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

// applyAnswer notes what the server has granted, and decides what to do about the rest.
func (l *Locks) applyAnswer(acq *acquisition, a asker, q *question, answer scripts.Acquired, trusted time.Time) (pause time.Duration, err error) {
	for i, minted := range answer.Tokens {
		a.granted(q.run[i], q.granted(i, minted, acq.owner, acq.leaseOr(l.lease)), trusted)
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

// pause waits for a signal, at most for limit, and reports whether it came. Its error is joined with doing, if that is not
// nil.
func (l *Locks) pause(acq *acquisition, signal <-chan struct{}, limit time.Duration, doing error) (came bool, err error) {
	alarm := time.NewTimer(limit)
	defer alarm.Stop()
	select {
	case <-signal:
		return true, nil
	case <-alarm.C:
		return false, nil
	case <-acq.ctx.Done():
		return false, ended(acq.ctx, doing)
	case <-l.closing:
		return false, ErrClosed
	}
}

// awaitSibling waits for another acquisition by the same owner, within the bounds of this one.
func (l *Locks) awaitSibling(acq *acquisition, over <-chan struct{}) error {
	came, err := l.pause(acq, over, acq.patience(), nil)
	if !came && err == nil {
		return ErrNoAnswer // the server keeps the sibling waiting
	}
	return err
}

// await waits until it makes sense to look at a lock again: after a wake-up, when it is our turn in the line, or after
// pause, when the lock expires (0: when it is time to poll). Its error is waiting if the wait has run out.
func (l *Locks) await(acq *acquisition, p *target, pause time.Duration, waiting error) error {
	limit := acq.within(cmp.Or(pause, policy.Poll))
	var woken <-chan struct{}
	if p.waiter != nil {
		woken = p.waiter.woken
	}
	if _, err := l.pause(acq, woken, limit, waiting); err != nil {
		return err
	}
	if acq.waitIsOver(time.Now()) {
		return waiting
	}
	return nil
}

// listen starts the subscription for wake-ups with the first wait. Until it works this process polls; then its callers look again.
func (l *Locks) listen() {
	if l.server.CanListen {
		l.subscribed.Do(func() { l.loops.Go(func() { l.subscription.Listen(l.stop) }) })
	}
}

// woken passes a wake-up on: to the ticket that it names before a space and the state key, or to the head of the line
// of a lock. If no caller waits any more, the reservation ends by itself: whoever left the line last has told the server, as a rule.
func (l *Locks) woken(payload string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ticket, key, found := strings.Cut(payload, " ")
	if st := l.states[key]; found && !strings.HasPrefix(payload, keyPrefix) {
		if st != nil { // one that has gone leaves the queue as well, and so wakes the next
			st.wakeLocked(func(w *waiter) bool { return w.ticket == ticket })
		}
		return
	}
	if st := l.states[payload]; st != nil && len(st.waiters) > 0 {
		st.called = true
		st.wakeHeadLocked()
	}
}

// wakeAll makes all who wait look again: wake-ups may have been missed, and processes that did not listen for a moment taken for
// dead.
func (l *Locks) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, st := range l.states {
		st.placed = false
		st.wakeLocked(func(*waiter) bool { return true })
	}
}
