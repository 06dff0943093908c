package locking

import (
	"context"
	"errors"
	"slices"
	"time"

	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

const (
	// grace is what a round trip gets at least, also when the wait runs out before: an acquisition that is cut
	// off has to be cancelled, which costs more than to hear its answer.
	grace = 50 * time.Millisecond

	// cancelPatience is how long an uncertain attempt is cancelled again and again, beyond the two leases in
	// which it can do any harm: a server that stands still may take it up only when it goes on.
	cancelPatience = time.Minute

	// cleanupBound is how long a caller who gives up waits for its traces to be gone from the server.
	cleanupBound = 25 * time.Millisecond
)

// A call is one Lock or TryLock: of a Mutex, or of a MultiLock with all its parts. It is used by one goroutine.
type acquisition struct {
	ctx   context.Context // carries who
	owner *owner
	try   bool
	start time.Time
	lease time.Duration // of the holds
	fixed bool          // nothing renews them
	until time.Time     // when the wait runs out; zero for never

	ordered         bool // never wait backwards
	taken           []*Hold
	renewedAt       time.Time // when the leases of taken began, at the earliest
	lastBegan       time.Time // when that of the last one did
	renewalTried    time.Time // when it was last tried to begin all of them anew
	waitedForOthers bool      // it has waited
}

func newAcquisition(ctx context.Context, try bool, opts []LockOption) (*acquisition, error) {
	o, err := collect(opts)
	if err != nil {
		return nil, err
	}
	acq := &acquisition{try: try, lease: o.lease, fixed: o.lease > 0, start: time.Now()}
	acq.ctx, acq.owner = withOwner(ctx)
	if o.waitBound {
		acq.until = acq.start.Add(o.wait)
	}
	return acq, nil
}

// waitIsOver tells whether the wait has run out.
func (acq *acquisition) waitIsOver(now time.Time) bool {
	return !acq.until.IsZero() && !now.Before(acq.until)
}

// noteStart notes that a round trip begins, and with it the leases of what it takes.
func (acq *acquisition) noteStart(start time.Time) {
	if len(acq.taken) == 0 {
		acq.renewedAt = start
	}
	acq.lastBegan = start
}

// A part is one lock that a call takes, as often as it was named.
type part struct {
	lock    *lock
	times   int
	reentry *reentry  // to the grant that the owner has already; nil where it has none
	waiter  *waiter   // in the local line; nil where the owner holds the lock already
	nextAsk time.Time // when to look at the server although this process holds the lock
	holds   []*Hold

	spared func(*Hold) bool // whose end does not end its holds, though their contexts come from that

	firstWaiter waiter // what waiter points at
}

// take takes the locks of a run, which are in order, of one place and each named once. It waits for one
// after the other, and takes in one round trip as many as it can have. If it cannot have them all, it gives
// back what it took.
func (l *Locks) take(acq *acquisition, run []*part) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.calls.Done()
	err := l.takeAll(acq, run)
	if err == nil && acq.ctx.Err() != nil { // granted too late: who has gone is not admitted
		err = ended(acq.ctx, nil)
	}
	l.leaveAll(acq, run)
	if err != nil {
		var taken []*Hold
		for _, p := range run {
			taken = append(taken, p.holds...)
		}
		l.giveUp(taken)
		l.observer.Failed(run[0].lock.kind.name(), time.Since(acq.start), acq.reasonOf(err))
	}
	return err
}

// takeAll is take without cleaning up.
func (l *Locks) takeAll(acq *acquisition, run []*part) error {
	for len(run) > 0 {
		if err := l.check(acq); err != nil {
			return err
		}
		pause := time.Duration(0)
		may := l.takeTurn(acq, run[0])
		switch may {
		case turnToHold:
			run = run[1:]
			continue
		case turnToAsk:
			n, busy, err := l.reach(acq, run)
			if err != nil {
				return err
			}
			run = run[n:]
			if len(run) == 0 || busy < 0 {
				continue
			}
			pause = busy
		case turnToWait:
		}
		if acq.try || acq.waitIsOver(time.Now()) || acq.ordered && acq.owner.holdsAfter(run[0].lock.order) {
			return ErrBusy
		}
		if may == turnToAsk && l.subscribe(acq) {
			continue
		}
		if err := l.await(acq, run[0], pause); err != nil {
			return err
		}
	}
	return nil
}

// check tells why a call may not go on.
func (l *Locks) check(acq *acquisition) error {
	if acq.ctx.Err() != nil {
		return ended(acq.ctx, nil)
	}
	select {
	case <-l.closing:
		return ErrClosed
	default:
		return nil
	}
}

// leaveAll takes the caller out of all lines, and waits a moment for its traces to be gone. What it was
// handed meanwhile becomes a hold.
func (l *Locks) leaveAll(acq *acquisition, run []*part) {
	if !slices.ContainsFunc(run, func(p *part) bool { return p.waiter != nil }) {
		return
	}
	patience, cancel := context.WithTimeout(context.Background(), cleanupBound)
	defer cancel()
	for _, p := range run {
		if p.waiter == nil {
			continue
		}
		l.mu.Lock()
		left := l.leaveLineLocked(p)
		if p.waiter != nil {
			l.acceptLocked(acq, p)
		}
		l.mu.Unlock()
		if left == nil {
			continue
		}
		select {
		case <-left:
		case <-patience.Done():
		}
	}
}

// gather returns the parts of a run that can be asked for in one round trip: the first, and those after it for
// which nobody of this process waits, and which none of its owners has. Who waits is not overtaken. The
// caller stands in the lines of all of them meanwhile, so that a wake-up for the one that turns out busy
// finds it there.
func (l *Locks) gather(acq *acquisition, run []*part) []*part {
	for i, p := range run[1:] {
		if !l.joinHead(acq, p) {
			l.leave(p)
			return run[:1+i]
		}
	}
	return run
}

// reach asks the server for the locks of a run in one round trip. It returns how many it got, and how long the
// next one will be busy at most; negative to try again at once.
func (l *Locks) reach(acq *acquisition, run []*part) (n int, busy time.Duration, err error) {
	run = l.gather(acq, run)
	defer l.endTrip(run)

	ask := l.newAcquireLocked(acq, run)
	acq.noteStart(ask.start)
	trusted := ask.start.Add(trust(acq.leaseOr(l.lease)))
	ctx := acq.ctx
	if !acq.until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, latest(acq.until, ask.start.Add(grace)))
		defer cancel()
	}
	ask.call.Replicated = ask.anyFresh()
	answer, err := l.server.Run(ctx, trusted, l.closing, ask.call, &ask.attempt)
	if server.IsMoving(err) && !acq.try { // it may work in a moment
		if ask.attempt.Resent() {
			l.cancel(acq, run, ask) // who knows what became of the first copy
		}
		return 0, server.MigrationPause, nil
	}
	var heard scripts.Acquired
	if err == nil {
		heard, err = scripts.ReadAcquire(answer, len(run), pollInterval)
	}
	if err == nil && !time.Now().Before(trusted) {
		err = ErrNoAnswer // its lease may have run out on the way
	}
	if err != nil {
		l.cancel(acq, run, ask)
		err = errors.Join(err, l.check(acq)) // the context, or Close, may be why
		return 0, 0, failed("acquire", run[0].lock.name, err)
	}
	return l.applyAnswer(acq, run, ask, heard, trusted)
}

// endTrip lets the parts be handed the locks that they wait for, and ends the re-entries that have come to nothing.
func (l *Locks) endTrip(run []*part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range run {
		if p.waiter != nil {
			p.waiter.asking = false
		}
		l.withdrawLocked(p)
	}
}

// cancel makes sure that an attempt whose outcome is uncertain leaves nothing, whether it has arrived or
// will arrive: what it would have taken anew is nobody's, of what it re-entries the server is told what is left, and a
// late copy meets a tombstone.
func (l *Locks) cancel(acq *acquisition, run []*part, ask *acquireCall) {
	if len(run) == 0 || ask.attempt.GiveUp() {
		return // it never went out
	}
	lease := acq.leaseOr(l.lease)
	now := time.Now()
	s := &settlement{
		tombstone:    ask.attempt.Number,
		tombstoneFor: 2 * lease,
		until:        now.Add(2*lease + cancelPatience),
	}
	l.mu.Lock()
	s.attempt = l.attempt()
	for i, p := range run {
		s.locks = append(s.locks, p.lock)
		left := row{id: ask.parts[len(ask.parts)-len(run)+i].id, queue: scripts.QueueStay}
		if g := p.endReentryLocked(); g != nil {
			left = g.rowLocked()
			l.closeGrantLocked(g)
		}
		s.rows = append(s.rows, left)
	}
	l.mu.Unlock()
	l.cleaner.briefly(s)
}

func (acq *acquisition) leaseOr(watchdog time.Duration) time.Duration {
	if acq.fixed {
		return acq.lease
	}
	return watchdog
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
