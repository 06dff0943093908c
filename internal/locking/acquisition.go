package locking

import (
	"context"
	"math"
	"sync"
	"time"

	"inventory/internal/locking/internal/policy"
)

// An acquisition is one Lock or TryLock: of a single lock, or of a MultiLock with all its parts.
type acquisition struct {
	ctx   context.Context // carries the owner
	owner *owner
	try   bool
	start time.Time
	lease time.Duration // of the holds
	fixed bool          // nothing renews them
	kept  bool          // except a MultiLock that has not taken all its parts yet
	until time.Time     // when the wait runs out; zero for never

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
