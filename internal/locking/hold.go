package locking

import (
	"context"
	"time"
)

// A Hold is one successful Lock. It is safe for concurrent use. The holds of a reentrant lock are independent: each is
// unlocked by itself and has its own deadline.
type Hold struct {
	base   context.Context // of the call; ctx is made from it
	ctx    context.Context
	cancel context.CancelCauseFunc
	owner  *owner

	// Of a single lock.
	locks    *Locks
	lock     *lock
	grant    *grant
	since    time.Time
	lease    time.Duration
	fixed    bool
	deadline time.Time // until when the hold can be relied on; under Locks.mu
	rank     int       // in Locks.deadlines
	kept     bool      // a MultiLock takes other parts: its fixed lease may begin anew until then; under Locks.mu
	outlived bool      // renewed once more after its context had ended; under Locks.mu
	lost     bool      // under Locks.mu
	unlocked bool      // Unlock has been called; under Locks.mu

	// Of a MultiLock or a RedLock.
	parts []*Hold
	whole *whole   // of a MultiLock
	red   *redHold // of a RedLock
}

// newHoldLocked notes a hold in the registry.
func (l *Locks) newHoldLocked(acq *acquisition, p *part, g *grant, deadline time.Time) *Hold {
	h := &Hold{
		owner:    acq.owner,
		locks:    l,
		lock:     p.lock,
		grant:    g,
		lease:    acq.leaseOr(l.lease),
		fixed:    acq.fixed,
		kept:     acq.kept,
		deadline: deadline,
		since:    time.Now(),
		base:     acq.ctx,
	}
	if p.spared != nil {
		h.ctx, h.cancel = outlive(h.base, p.spared)
	} else {
		h.ctx, h.cancel = context.WithCancelCause(h.base)
	}
	l.addDeadlineLocked(h)
	if g.holds == nil {
		g.holds = g.firstHold[:0]
	}
	g.holds = append(g.holds, h)
	acq.owner.addHold(p.lock.order)
	l.observer.Acquired(p.lock.kind.name(), h.since.Sub(acq.start), acq.waitedForOthers)
	return h
}

// extendLocked puts the deadline off.
func (h *Hold) extendLocked(deadline time.Time) {
	if deadline.After(h.deadline) {
		h.deadline = deadline
		h.locks.moveDeadlineLocked(h)
	}
}

// Context returns the context of the work under the lock. It carries the owner, so that Lock under it
// re-enters. It ends with the context that Lock got, with Unlock, and when the lock is lost; then context.Cause is
// ErrLost.
func (h *Hold) Context() context.Context {
	if h.ctx == nil {
		return context.Background() // a hold that nobody granted
	}
	return h.ctx
}

// Token returns the fencing token. It grows every time the lock goes from free to held, and is the same on re-entry. A
// guard that refuses lower ones is safe from a holder that does not know that it is late. A MultiLock's hold has none
// and returns 0; its Parts have one each.
func (h *Hold) Token() int64 {
	if h.red != nil {
		return h.red.token()
	}
	if h.grant == nil {
		return 0
	}
	h.locks.mu.Lock()
	defer h.locks.mu.Unlock()
	return h.grant.token
}

// Remaining is for how much longer the hold can be relied on if nothing renews it: 0 when it has ended. That
// of a MultiLock is its shortest part's; that of a RedLock ends when fewer than a quorum of its parts live.
func (h *Hold) Remaining() time.Duration {
	if h.red != nil {
		return h.red.remaining()
	}
	if h.whole != nil {
		least := maxLease
		for _, part := range h.parts {
			least = min(least, part.Remaining())
		}
		return least
	}
	if h.locks == nil {
		return 0
	}
	h.locks.mu.Lock()
	defer h.locks.mu.Unlock()
	if h.lost || h.unlocked {
		return 0
	}
	return max(0, time.Until(h.deadline))
}

// Count is how many holds the owner has of this lock now; of a MultiLock, of the part that it has least of.
func (h *Hold) Count() int {
	if h.red != nil {
		return h.red.count()
	}
	if h.whole != nil {
		least := h.parts[0].Count()
		for _, part := range h.parts[1:] {
			least = min(least, part.Count())
		}
		return least
	}
	if h.locks == nil {
		return 0
	}
	h.locks.mu.Lock()
	defer h.locks.mu.Unlock()
	return len(h.grant.holds)
}

// Owner returns the owner: the process, a colon, and the owner's own id. The server's state of the lock adds another
// colon and the number of the grant. That of a MultiLock or a RedLock is its first part's.
func (h *Hold) Owner() string {
	switch {
	case h.lock != nil:
		return h.locks.process + ":" + h.owner.id
	case len(h.parts) > 0:
		return h.parts[0].Owner()
	default:
		return ""
	}
}

// Parts returns the holds of a MultiLock, or those that a RedLock has got on its nodes, in the order of the
// arguments; nil for a Mutex. They are unlocked with the whole.
func (h *Hold) Parts() []*Hold { return h.parts }

// Unlock gives the hold back. It works also when ctx has ended, and takes 3 s at most, whatever other goroutines of the
// owner do. ErrLost says that the hold was no longer ours. ErrNoAnswer, or any other error, says that the release is
// not confirmed: it is repeated in the background for as long as the lock can exist, and nothing renews the lock any
// more. A second Unlock does nothing and returns nil.
func (h *Hold) Unlock(ctx context.Context) error {
	switch {
	case h.red != nil:
		return h.red.unlock(ctx)
	case h.whole != nil:
		return h.whole.unlock(ctx)
	}
	if h.locks == nil {
		return nil
	}
	return h.locks.unlock(ctx, []*Hold{h})
}

// abandon ends a hold that can no longer be released: it expires.
func (l *Locks) abandon(h *Hold) {
	h.end(context.Canceled)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !h.lost {
		l.observer.Released(h.lock.kind.name(), time.Since(h.since))
	}
	l.dropLocked(h)
	l.closeGrantLocked(h.grant)
}
