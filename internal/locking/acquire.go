package locking

import (
	"cmp"
	"context"
	"errors"
	"math"
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

// A LockOption configures one Lock.
type LockOption func(*acquisition) error

// An acquisition is one Lock or TryLock: of a single lock, or of a MultiLock with all its parts.
type acquisition struct {
	ctx   context.Context // carries the owner
	owner *owner
	try   bool
	start time.Time
	lease time.Duration // of each hold, if it is fixed or waits
	fixed bool          // nothing renews the holds
	waits bool          // of a MultiLock: the fixed lease begins when it has its last part; until then the watchdog renews
	until time.Time     // when the wait runs out; zero for never

	silent time.Time // when the server stopped answering; zero if it answers
	moving time.Time // when the server began to refuse because a slot moves; zero if it does not

	follower follower // hears how it waits
	woken    bool     // a wake-up has ended its last pause

	ordered         bool // it is of a MultiLock: never wait backwards
	waitedForOthers bool // another owner was in the way

	mutexAsker mutexAsker // the room of the first one
}

// A follower hears how an acquisition waits: a candidate for a RedLock has one in the line of a node.
type follower interface {
	// looks says that a caller that has waited is about to ask the server, and whether a wake-up has ended its last pause.
	looks(woken bool)

	// stays says that the lock is still busy.
	stays()
}

// noFollower is that of any other acquisition.
type noFollower struct{}

func (noFollower) looks(bool) {}
func (noFollower) stays()     {}

// begins sets what the caller wants, now.
func (acq *acquisition) begins(ctx context.Context, try bool, opts []LockOption) error {
	acq.try, acq.start, acq.follower = try, time.Now(), noFollower{}
	for _, opt := range opts {
		if err := opt(acq); err != nil {
			return err
		}
	}
	acq.ctx, acq.owner = withOwner(ctx)
	return nil
}

// within limits a pause to what is left of the wait.
func (acq *acquisition) within(pause time.Duration) time.Duration {
	if acq.until.IsZero() {
		return pause
	}
	return max(0, min(pause, time.Until(acq.until)))
}

// patience is how long to wait for another call of the same owner.
func (acq *acquisition) patience() time.Duration {
	if acq.until.IsZero() {
		return math.MaxInt64
	}
	return time.Until(acq.until.Add(policy.Grace))
}

// waitIsOver reports whether the wait has run out.
func (acq *acquisition) waitIsOver(now time.Time) bool {
	return !acq.until.IsZero() && !now.Before(acq.until)
}

// leaseOr returns the lease of a hold when it is taken.
func (acq *acquisition) leaseOr(watchdog time.Duration) time.Duration {
	if acq.fixed {
		return acq.lease
	}
	return watchdog
}

// sameLease is the option that gives a part the lease of the whole.
func (acq *acquisition) sameLease(part *acquisition) error {
	part.lease, part.fixed, part.waits = acq.lease, acq.fixed, acq.waits
	return nil
}

// reasonOf returns why a call has failed.
func (acq *acquisition) reasonOf(err error) Reason {
	switch {
	case errors.Is(err, ErrClosed):
		return ReasonClosed
	case endOf(acq.ctx) != nil:
		return ReasonEnded
	case errors.Is(err, ErrBusy):
		return ReasonBusy
	default:
		return ReasonError
	}
}

// A target is one lock that a call takes.
type target struct {
	lock     *lock
	reenters *grant      // what the owner already has, while the server is asked whether it still does; or nil
	waiter   *waiter     // the place in the line of this process; nil if the owner already holds the lock
	nextAsk  time.Time   // when to ask the server although this process holds the lock
	hold     *singleHold // what was taken
	id       any         // as whom the server is to know the holder, by the last script call; a string

	firstWaiter waiter // the room of the first one
}

// unheld returns the targets that are not held yet.
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
			if waiting != nil {
				acq.follower.looks(acq.woken)
			}
			if pause, refusal, err = l.askOnce(acq, a, run, waiting != nil); err != nil {
				return err
			}
			if run = unheld(run); len(run) == 0 || pause < 0 {
				continue
			}
			acq.follower.stays()
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

// An asker knows how one kind of lock is asked for, and how its callers wait in line.
type asker interface {
	// next returns what the caller may do next about the first missing lock.
	next(missing []*target) (action, error)

	// ask returns the question to the server about missing locks; end must be called after it.
	ask(missing []*target) *question
	end(q *question)

	// grantedLocked notes a lock that the server has granted.
	grantedLocked(p *target, g *grant)

	// stopped notes that the server did not grant the n-th lock of a question, nor those after it. If that lock is
	// busy, it returns when to ask again at the latest; negative is at once.
	stopped(q *question, n int, answer scripts.Acquired) time.Duration

	// unanswered gives up after a question whose outcome is uncertain.
	unanswered(q *question)

	// cancelCopies makes sure that no late copy of a question takes its n-th lock or those after it. The caller may ask again.
	cancelCopies(q *question, n int)

	// leave takes the caller out of all lines. A lock that it was handed meanwhile becomes a hold.
	leave()
}

// An action is what a caller may do next about a lock.
type action int

const (
	actionWait    action = iota // it waits in line
	actionAsk                   // it is at the head
	actionReenter               // its owner holds the lock already
	actionRetry                 // something has changed: look once more
)

// A question is one attempt to get locks of one slot by one script.
type question struct {
	attempt scripts.Attempt
	start   time.Time
	call    scripts.Call
	run     []*target
	room    [12]any // of the call's words
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
	acq.silent, acq.moving = since(acq.silent, !server.IsAnswer(err)), since(acq.moving, l.server.IsMoving(err))
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

// since returns since when something is so: from before, or from now on; zero if it is not.
func since(before time.Time, is bool) time.Time {
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

// bounded returns the context of a question that begins now: the wait bounds it, but not too tightly.
func (acq *acquisition) bounded(start time.Time) (context.Context, context.CancelFunc) {
	if acq.until.IsZero() {
		return acq.ctx, func() {}
	}
	return context.WithDeadline(acq.ctx, start.Add(max(acq.until.Sub(start), policy.Grace)))
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

// granted returns the grant of the i-th lock.
func (q *question) granted(i int, minted scripts.Tokens, who *owner, term time.Duration) *grant {
	g := &grant{
		lock: q.run[i].lock, owner: who, token: minted.First, id: q.run[i].id, duration: term, longest: term,
		next: minted.First + 1, last: minted.First + minted.Reserved, begun: q.start, came: time.Now(),
	}
	g.holds = g.room[:0]
	if q.attempt.Resent() {
		g.resent = q.attempt.Number
	}
	return g
}

// cancel makes sure that an attempt whose outcome is uncertain does not leave its n-th lock or a later one taken, whether it
// has arrived or will arrive: what it may have taken is given back, and a late copy meets a tombstone.
func (l *Locks) cancel(acq *acquisition, q *question, n int) {
	if n == len(q.run) || q.attempt.GiveUp() {
		return // it never went out
	}
	lease := acq.leaseOr(l.lease)
	s := &releaseCall{
		tombstone:    q.attempt.Number,
		tombstoneFor: 2 * lease,
		until:        time.Now().Add(2*lease + policy.Cancel),
	}
	for _, p := range q.run[n:] {
		s.rows = append(s.rows, releaseRow{lock: p.lock, id: p.id})
	}
	l.releaseBriefly(s)
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
	call := p.lock.kind.renewal(g, lease, purpose)
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
