package locking

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"inventory/internal/locking/internal/cleaner"
	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

// Lock implements Locker.
func (a *lock) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	h, err := a.acquire(ctx, false, opts)
	if err != nil {
		return nil, err
	}
	return &h.Hold, nil
}

// TryLock implements Locker. It neither waits nor queues. A free lock that is reserved for a waiter is busy.
func (a *lock) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	h, err := a.acquire(ctx, true, opts)
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
	only := &target{lock: a, times: 1}
	if err := acq.take([]*target{only}); err != nil {
		return nil, err
	}
	return only.holds[0], nil
}

// An acquisition is one Lock or TryLock: of a single lock, or of a MultiLock with all its parts.
type acquisition struct {
	ctx       context.Context // carries the owner
	owner     *owner
	try       bool
	start     time.Time
	lease     time.Duration // of the holds
	fixed     bool          // nothing renews them
	keptAlive bool          // except a MultiLock that has not taken all its parts yet
	until     time.Time     // when the wait runs out; zero for never

	silent time.Time // when the server stopped answering; zero if it answers

	ordered         bool      // never wait backwards
	firstBegan      time.Time // when the lease of the first lock that was taken began
	lastBegan       time.Time // and that of the last one
	waitedForOthers bool      // another owner was in the way

	mu    sync.Mutex // the fixed leases of a MultiLock are renewed by another goroutine
	taken []*Hold    // what the call has; only its own goroutine adds to it
}

// took notes a hold that the call has got.
func (acq *acquisition) took(h *Hold) {
	acq.mu.Lock()
	acq.taken = append(acq.taken, h)
	acq.mu.Unlock()
}

// A LockOption configures one Lock.
type LockOption func(*acquisition) error

func newAcquisition(ctx context.Context, try bool, opts []LockOption) (*acquisition, error) {
	acq := &acquisition{try: try, start: time.Now()}
	for _, opt := range opts {
		if err := opt(acq); err != nil {
			return nil, err
		}
	}
	acq.ctx, acq.owner = withOwner(ctx)
	return acq, nil
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

// noteStart notes when the leases began of what is taken next: when its round trip did.
func (acq *acquisition) noteStart(start time.Time) {
	if len(acq.taken) == 0 {
		acq.firstBegan = start
	}
	acq.lastBegan = start
}

func (acq *acquisition) leaseOr(watchdog time.Duration) time.Duration {
	if acq.fixed {
		return acq.lease
	}
	return watchdog
}

// A target is one lock that a call takes, as often as it was named.
type target struct {
	lock    *lock
	times   int
	reentry *reentry  // of the grant that the owner already has, while the server is asked; nil if it has none
	waiter  *waiter   // in the line of this process; nil if the owner already holds the lock
	nextAsk time.Time // when to ask the server although this process holds the lock
	holds   []*singleHold

	outlives func(*Hold) bool // reports holds whose end does not end these, though their contexts are made from those

	// What the last script call said of it.
	id    string // of the holder
	token int64  // of the grant that is re-entered, 0 for any
	fresh bool   // not a re-entry
}

// An asker knows how one kind of lock is asked for, and how its callers wait in line.
type asker interface {
	// next returns what the caller may do next about the first missing lock.
	next(missing []*target) (action, error)

	// ask returns the question to the server about missing locks; end must be called after it.
	ask(missing []*target) *question
	end(q *question)

	// granted notes a lock that the server has granted.
	granted(p *target, ls *lease, trusted time.Time)

	// stopped notes that the server did not grant the n-th lock of a question, nor those after it. If that lock is
	// busy, it returns when to ask again at the latest.
	stopped(q *question, n int, answer scripts.Acquired) time.Duration

	// unanswered gives up after a question whose outcome is uncertain.
	unanswered(q *question)

	// cancelCopies makes sure that no late copy of a question takes its n-th lock or those after it. The caller may ask again.
	cancelCopies(q *question, n int)

	// leave takes the caller out of all lines. What it was handed meanwhile becomes a hold.
	leave()
}

// An action is what a caller may do next about a lock.
type action int

const (
	actionWait   action = iota // it waits in line for another owner
	actionFollow               // it waits in line, but for the server's answer to its own owner or to one that has gone
	actionAsk                  // it is at the head, or its owner holds the lock already
	actionRetry                // something has changed: look once more
)

// A question is one attempt to get locks of one slot by one script.
type question struct {
	attempt scripts.Attempt
	start   time.Time
	call    scripts.Call
	run     []*target
	again   bool // nothing is known of the outcome, and the caller asks again
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
	if err == nil && endOf(acq.ctx) != nil { // granted too late: the caller has gone, so do not admit it
		err = ended(acq.ctx, nil)
	}
	a.leave()
	if missing := unheld(run); err == nil || len(missing) > 0 {
		l.reportGrants(acq, run[:len(run)-len(missing)])
	} // a grant that came too late is a failure and nothing else
	if err != nil {
		var taken []*singleHold
		for _, p := range run {
			taken = append(taken, p.holds...)
		}
		l.giveUp(taken)
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
		case actionAsk:
			if pause, refusal, err = l.askOnce(acq, a, run, waiting != nil); err != nil {
				return err
			}
			if run = unheld(run); len(run) == 0 || pause < 0 {
				continue
			}
		case actionFollow: // nobody is in the way
			if err := l.await(acq, run[0], 0, waiting); err != nil {
				return err
			}
			continue
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
		if next == actionAsk && l.subscribe(acq) {
			continue
		}
		if err := l.await(acq, run[0], pause, waiting); err != nil {
			return err
		}
	}
	return nil
}

// unheld returns the targets that are not held yet.
func unheld(run []*target) []*target {
	for len(run) > 0 && len(run[0].holds) > 0 {
		run = run[1:]
	}
	return run
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
	acq.noteStart(q.start)
	answer, trusted, err := l.send(acq, q)
	if pause = l.passes(acq, err, waits); pause > 0 {
		if q.attempt.Resent() || !server.IsAnswer(err) {
			a.cancelCopies(q, 0) // a copy may still arrive
		}
		q.again = true
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
// for who waits at all. Only who has been told that the lock is busy goes on after other refusals, and for a while after
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
	ctx := acq.ctx
	if !acq.until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, q.start.Add(max(acq.until.Sub(q.start), policy.Grace)))
		defer cancel()
	}
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

// replicated returns from how many granted locks on replicas must confirm the grant: from the first that they do not know on.
// To a caller that does not wait, a grant of some is no use.
func (acq *acquisition) replicated(run []*target) int {
	switch fresh := slices.IndexFunc(run, func(p *target) bool { return p.fresh }); {
	case fresh >= 0 && acq.try:
		return len(run)
	default:
		return fresh + 1
	}
}

// applyAnswer notes what the server has granted, and decides what to do about the rest.
func (l *Locks) applyAnswer(acq *acquisition, a asker, q *question, answer scripts.Acquired, trusted time.Time) (pause time.Duration, err error) {
	leases, err := q.leases(answer, acq.leaseOr(l.lease))
	if err != nil {
		l.cancel(acq, q, 0)
		return 0, failed("acquire", q.run[0].lock.name, err)
	}
	for i, ls := range leases {
		a.granted(q.run[i], ls, trusted)
	}
	if answer.Code == scripts.Taken {
		return -1, nil // what is left was not asked for
	}
	n := len(leases)
	p := q.run[n]
	re := p.reentry
	if q.attempt.Resent() || answer.Code == scripts.Cancelled && re == nil {
		a.cancelCopies(q, n) // a copy may still take what was busy
	}
	pause = a.stopped(q, n, answer)
	switch {
	case answer.Code == scripts.Busy, answer.Code == scripts.Entered:
		return pause, nil
	case answer.Code == scripts.Gone && re != nil:
		l.denied(re.grant, p.token)
		return -1, nil
	case answer.Code == scripts.Cancelled && re != nil:
		return -1, nil // a later script call about the grant was answered first
	case answer.Code == scripts.Upgrade:
		return 0, ErrUpgrade
	default:
		return 0, failed("acquire", p.lock.name, errors.New("the attempt was cancelled"))
	}
}

// leases reads the leases that have been granted.
func (q *question) leases(answer scripts.Acquired, term time.Duration) (leases []*lease, err error) {
	for i, text := range answer.Tokens {
		token, spare, err := scripts.ReadTokens(text)
		if err != nil {
			return nil, err
		}
		ls := &lease{
			id: q.run[i].id, first: token, duration: term, longest: term,
			next: token + 1, last: token + spare, begun: q.start, turnBegun: q.start,
		}
		if q.attempt.Resent() && q.run[i].fresh { // a late copy of a re-entry finds nothing to re-enter
			ls.resent = q.attempt.Number
		}
		leases = append(leases, ls)
	}
	return leases, nil
}

// cancel makes sure that an attempt whose outcome is uncertain does not leave its n-th lock or a later one taken, whether it
// has arrived or will arrive. New grants are given back. For re-entered ones the server gets the count that is left. A late
// copy of the attempt meets a tombstone.
func (l *Locks) cancel(acq *acquisition, q *question, n int) {
	if n == len(q.run) || q.attempt.GiveUp() {
		return // it never went out
	}
	lease := acq.leaseOr(l.lease)
	s := &releaseCall{
		tombstone:    q.attempt.Number,
		tombstoneFor: 2 * lease,
		Task:         cleaner.Task{Until: time.Now().Add(2*lease + policy.Cancel)},
	}
	l.mu.Lock()
	s.attempt = l.attempt()
	for _, p := range q.run[n:] {
		left := releaseRow{lock: p.lock, id: p.id}
		if g := p.endReentryLocked(); g != nil {
			left = g.rowLocked()
		}
		s.rows = append(s.rows, left)
	}
	l.mu.Unlock()
	s.Tried = func() { l.closeGrants(s) }
	l.releaseBriefly(s)
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

// reenterLocked lets an acquisition re-enter its owner's grant, if the grant has a hold. A grant that only has re-entries
// under way may still end without a hold.
func (l *Locks) reenterLocked(acq *acquisition, p *target) bool {
	g := l.grantOfLocked(p.lock.stateKey, acq.owner)
	if g == nil || len(g.holds) == 0 {
		return false
	}
	p.reentry = &reentry{grant: g, times: p.times, lease: acq.leaseOr(l.lease)}
	g.reentries = append(g.reentries, p.reentry)
	g.lease.longest = max(g.lease.longest, p.reentry.lease)
	return true
}

// endReentryLocked ends the re-entry of a target, if it has one, and returns its grant.
func (p *target) endReentryLocked() *grant {
	r := p.reentry
	if r == nil {
		return nil
	}
	p.reentry = nil
	r.grant.reentries = slices.DeleteFunc(r.grant.reentries, func(other *reentry) bool { return other == r })
	return r.grant
}

// withdrawLocked ends a re-entry that has failed. If the server may count it, the server gets the new count.
func (l *Locks) withdrawLocked(p *target) {
	g := p.endReentryLocked()
	if g == nil || g.gone {
		return
	}
	if g.countLocked() == g.sent {
		l.closeGrantLocked(g)
		return
	}
	s := &releaseCall{
		attempt: l.attempt(), rows: []releaseRow{g.rowLocked()}, Task: cleaner.Task{Until: time.Now().Add(g.lease.longest)},
	}
	s.Tried = func() { l.closeGrants(s) }
	l.releaseLater(s)
}

// admitLocked makes as many holds as the target wants: of the grant that it re-enters, or of a new one. If it makes a new one,
// an older grant of the owner is gone. It returns the holds that the caller must lose after it has unlocked l.mu.
func (l *Locks) admitLocked(acq *acquisition, p *target, ls *lease, trusted time.Time) (over []*singleHold) {
	g := p.endReentryLocked()
	if g == nil {
		g = &grant{lock: p.lock, owner: acq.owner, token: ls.first, lease: ls, sent: p.times}
		if old := l.addGrantLocked(g); old != nil {
			over = slices.Clone(old.holds)
		}
	}
	g.token = max(g.token, ls.first)
	l.holdAllLocked(acq, p, g, trusted)
	if g.gone { // the server has lost it since
		return append(over, p.holds...)
	}
	return over
}

// holdAllLocked makes the holds, and notes them in the registry.
func (l *Locks) holdAllLocked(acq *acquisition, p *target, g *grant, trusted time.Time) {
	g.decideLocked()
	for range p.times {
		h := newHold(acq, p, g, trusted)
		l.deadlines.add(h)
		if !acq.ordered { // a MultiLock hastens by itself: there may be one connection for both
			l.hurryLocked(h)
		}
		g.holds, p.holds = append(g.holds, h), append(p.holds, h)
		acq.took(&h.Hold)
		acq.owner.addHold(p.lock.position())
	}
}

func newHold(acq *acquisition, p *target, g *grant, deadline time.Time) *singleHold {
	h := &singleHold{
		Hold:      Hold{base: acq.ctx},
		locks:     p.lock.locks,
		grant:     g,
		lease:     acq.leaseOr(p.lock.locks.lease),
		fixed:     acq.fixed,
		keptAlive: acq.keptAlive,
		deadline:  deadline,
		since:     time.Now(),
	}
	h.held = h
	h.countsLocked(deadline)
	if p.outlives != nil {
		h.ctx, h.cancel = outlive(h.base, p.outlives)
	} else {
		h.ctx, h.cancel = context.WithCancelCause(h.base)
	}
	return h
}
