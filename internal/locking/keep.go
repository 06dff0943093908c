package locking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"inventory/internal/locking/internal/policy"
)

// endKeeping notes that nothing restarts the fixed leases of these holds any more.
func endKeeping(holds []*Hold) {
	for _, h := range singlesOf(holds) {
		h.locks.mu.Lock()
		h.kept = false
		h.locks.mu.Unlock()
	}
}

// complete makes sure, after the last part was taken, that the first ones are still held. If a fixed lease may have begun
// long ago, it restarts it.
func (acq *acquisition) complete() error {
	for tries := 1; acq.fixed && acq.lastBegan.After(acq.renewedAt); tries++ {
		if err := acq.keep(); err != nil {
			return err
		}
		if acq.keptAll() {
			break
		}
		if tries == keepTries || endOf(acq.ctx) != nil || acq.waitIsOver(time.Now()) {
			return ended(acq.ctx, failed("renew the parts of", "a MultiLock", ErrNoAnswer))
		}
	}
	if endOf(acq.ctx) != nil {
		return ended(acq.ctx, nil)
	}
	return acq.intact()
}

// keepTries is how often a MultiLock restarts the leases of all parts before it gives up.
const keepTries = 3

// keptAll tells whether all leases began with the last try to keep them, or later; of a RedLock, those of a quorum.
func (acq *acquisition) keptAll() bool {
	least := time.Until(acq.renewalTried.Add(trust(acq.lease)))
	for _, h := range acq.taken {
		if (h.locks != nil || h.red != nil) && h.Remaining() < least-time.Millisecond {
			return false
		}
	}
	return true
}

// intact returns ErrLost if a lock that the call has taken is lost, but not if only the caller has gone.
func (acq *acquisition) intact() error {
	for _, h := range acq.taken {
		if h.Context().Err() != nil && endOf(acq.ctx) == nil {
			return errors.Join(fmt.Errorf("locking: a part of a MultiLock ended before the last was taken: %w", ErrLost),
				context.Cause(h.Context()))
		}
	}
	return nil
}

// keepOn repeats keep until stop is called, while the call waits for another Locker. If a part is lost, complete notices.
func (acq *acquisition) keepOn() (stop func()) {
	if !acq.fixed || len(acq.taken) == 0 {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			alarm := time.NewTimer(time.Until(acq.keepAt()))
			select {
			case <-alarm.C:
				_ = acq.keep()
			case <-quit:
				alarm.Stop()
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// keepAt is when to keep again.
func (acq *acquisition) keepAt() time.Time {
	return acq.renewedAt.Add(policy.AfterKeeping(acq.lease, true))
}

// keep restarts the fixed leases of what the call has taken. A failure is not the end: each hold has its own deadline. But
// what Close has left to expire cannot be kept.
func (acq *acquisition) keep() error {
	start := time.Now()
	acq.renewalTried = start
	// Of a round trip: the caller may give up meanwhile.
	bound := min(policy.AfterKeeping(acq.lease, true), policy.CleanerAnswer().First, max(acq.within(acq.lease), policy.Grace))
	singles := singlesOf(acq.taken)
	var partial atomic.Bool
	var closed error
	var all sync.WaitGroup // at once: several servers that stand still cost no more time than one
	for l, mine := range grantsOf(singles) {
		if closed = l.enter(); closed != nil {
			break
		}
		all.Go(func() {
			defer l.calls.Done()
			if !l.renewFor(acq.ctx, mine, acq.lease, bound, func(h *Hold) bool { return slices.Contains(singles, h) }) {
				partial.Store(true)
			}
		})
	}
	all.Wait()
	acq.renewedAt = start
	if partial.Load() {
		acq.renewedAt = start.Add(policy.AfterKeeping(acq.lease, false) - policy.AfterKeeping(acq.lease, true)) // again that soon
	}
	return cmp.Or(closed, acq.intact())
}

// hasten renews, before the call takes other parts, what the watchdog may renew too late: an answer that took long has left
// little of its lease. Meanwhile the call needs no connection. That may be the only one.
func (acq *acquisition) hasten() {
	var late []*Hold
	left := time.Duration(math.MaxInt64)
	for _, h := range singlesOf(acq.taken) {
		h.locks.mu.Lock()
		if h.isLateLocked() {
			late, left = append(late, h), min(left, time.Until(h.deadline))
		}
		h.locks.mu.Unlock()
	}
	var all sync.WaitGroup
	for l, mine := range grantsOf(late) {
		if l.enter() != nil {
			continue // Close ends the hold
		}
		all.Go(func() {
			defer l.calls.Done()
			l.renewFor(acq.ctx, mine, l.lease, min(left, max(acq.within(left), policy.Grace)), (*Hold).wantsRenewalLocked)
		})
	}
	all.Wait()
}

// grantsOf returns the grants of holds of single locks.
func grantsOf(singles []*Hold) map[*Locks][]*grant {
	grants := make(map[*Locks][]*grant)
	for _, h := range singles {
		if !slices.Contains(grants[h.locks], h.grant) {
			grants[h.locks] = append(grants[h.locks], h.grant)
		}
	}
	return grants
}

// singlesOf returns the holds of single locks that these holds consist of.
func singlesOf(holds []*Hold) []*Hold {
	var singles []*Hold
	for _, h := range holds {
		if h.locks != nil {
			singles = append(singles, h)
		}
		singles = append(singles, singlesOf(h.parts)...)
	}
	return singles
}
