package locking

import (
	"context"
	"time"
)

// An acquisition is one Lock or TryLock: of a single lock, or of a MultiLock with all its parts. One goroutine uses it.
type acquisition struct {
	ctx   context.Context // carries the owner
	owner *owner
	try   bool
	start time.Time
	lease time.Duration // of the holds
	fixed bool          // nothing renews them
	kept  bool          // but a MultiLock that has not taken all its parts yet
	until time.Time     // when the wait runs out; zero for never

	ordered         bool // never wait backwards
	taken           []*Hold
	renewedAt       time.Time // the earliest at which a lease of taken began
	lastBegan       time.Time // when the lease of the last one began
	renewalTried    time.Time // when the last try to begin all of them anew was made
	waitedForOthers bool      // somebody else was in the way
}

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

// within bounds a pause by what is left of the wait.
func (acq *acquisition) within(pause time.Duration) time.Duration {
	if acq.until.IsZero() {
		return pause
	}
	return max(0, min(pause, time.Until(acq.until)))
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
	lock     *lock
	times    int
	lease    time.Duration
	reenters *grant    // the grant that the owner already has, while the server is asked; nil if it has none
	waiter   *waiter   // in the line of this process; nil if the owner already holds the lock
	nextAsk  time.Time // when to ask the server although this process holds the lock
	holds    []*Hold

	spared func(*Hold) bool // holds whose end does not end these, though their contexts are made from those

	firstWaiter waiter // what waiter points at
}

func (acq *acquisition) leaseOr(watchdog time.Duration) time.Duration {
	if acq.fixed {
		return acq.lease
	}
	return watchdog
}
