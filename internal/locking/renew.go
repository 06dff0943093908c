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
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

// Leases are renewed in one way, by renew. The watchdog does it for all holds without a fixed lease, every third of that
// lease. A MultiLock does it at the same pace for the fixed leases of its first parts while it takes the others, and once
// more at the end, because the lease of all counts from the last part.

// watch renews what this process holds, every third of the lease, until stop. After a failure it tries again much
// sooner, so that a short outage costs no lock. Each hold ends when its own deadline comes.
func (l *Locks) watch() {
	period := policy.AfterRenewal(l.lease, true)
	timer := time.NewTimer(period)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-l.hurry:
		case <-l.stop:
			return
		}
		start := time.Now()
		next := policy.AfterRenewal(l.lease, l.renewDue(period))
		timer.Reset(max(next-time.Since(start), time.Millisecond))
	}
}

// renewDue renews all holds that the watchdog renews, and reports whether the server answered for all of them.
func (l *Locks) renewDue(bound time.Duration) bool {
	return l.renew(context.Background(), l.due(), l.lease, bound, (*singleHold).wantsRenewalLocked)
}

// due returns the grants that must be renewed: those with a hold whose lease is not fixed and whose context lives.
// After its context has ended, a hold is renewed once more, because its owner may be about to call Unlock, and then no
// longer. The oldest comes first.
func (l *Locks) due() []*grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	var due []*grant
	seen := make(map[*grant]bool)
	for _, h := range l.deadlines.holds {
		if h.wantsRenewalLocked() && !seen[h.grant] {
			seen[h.grant] = true
			due = append(due, h.grant)
		}
	}
	slices.SortStableFunc(due, func(a, b *grant) int { return cmp.Compare(a.token, b.token) })
	return due
}

// wantsRenewalLocked tells whether the watchdog renews a hold.
func (h *singleHold) wantsRenewalLocked() bool { return !h.fixed && !h.leftToExpire }

// isLateLocked reports whether a hold that the watchdog renews has less left than the next turn needs.
func (h *singleHold) isLateLocked() bool {
	return h.wantsRenewalLocked() && time.Until(h.deadline) < h.lease-policy.AfterRenewal(h.lease, true)
}

// hurryLocked lets the watchdog renew at once what has begun late: the answer took long.
func (l *Locks) hurryLocked(h *singleHold) {
	if h.isLateLocked() {
		select {
		case l.hurry <- struct{}{}:
		default: // it is about to
		}
	}
}

// renew extends grants by a lease, in one round trip for each batch, and with them those of their holds that want it. A round
// trip takes no longer than ctx and bound. It reports whether the server answered for all grants.
func (l *Locks) renew(ctx context.Context, grants []*grant, lease, bound time.Duration, wants func(*singleHold) bool) bool {
	var failed atomic.Bool
	server.EachBatch(l.server, grants, func(g *grant) string { return g.lock.stateKey }, func(batch []*grant) bool {
		start := time.Now()
		calls, tokens := l.renewals(batch, lease)
		answers, answered := l.server.RunAll(ctx, start.Add(bound), calls)
		all := true
		for i, answer := range answers {
			said, err := answer.Int64()
			switch {
			case err != nil || said == scripts.RenewalOutdated: // a later script call about the grant came first
				all = false
			case said == scripts.RenewalGone:
				all = l.denied(batch[i], tokens[i]) && all
			default:
				l.renewed(batch[i], start.Add(trust(lease)), wants)
			}
		}
		l.observer.Renewed(len(batch), time.Since(start), all)
		if !all {
			failed.Store(true)
		}
		return answered
	})
	return !failed.Load()
}

// renewals returns the script calls and the tokens that they name. A grant may have ended meanwhile: its call changes
// nothing, because no other grant has its id.
func (l *Locks) renewals(grants []*grant, lease time.Duration) (calls []scripts.Call, tokens []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls, tokens = make([]scripts.Call, len(grants)), make([]int64, len(grants))
	for i, g := range grants {
		calls[i], tokens[i] = g.lock.kind.renewal(g, lease), g.lease.first
	}
	return calls, tokens
}

// renewed extends the deadlines of a grant's holds. It never shortens one.
func (l *Locks) renewed(g *grant, deadline time.Time, wants func(*singleHold) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range g.holds {
		if wants(h) {
			if deadline.After(h.deadline) {
				l.deadlines.move(h, deadline)
				h.countsLocked(deadline)
			}
			h.leftToExpire = h.ctx.Err() != nil
		}
	}
}

// renewHolds renews holds of single locks that have one lease, whatever their servers: all at once, so that several servers
// that stand still cost no more time than one. It reports whether all servers have answered, and returns ErrClosed if
// the Locks of one are closed, which leaves its holds to expire.
func renewHolds(ctx context.Context, holds []*singleHold, bound time.Duration) (answered bool, err error) {
	grants := make(map[*Locks][]*grant)
	for _, h := range holds {
		if !slices.Contains(grants[h.locks], h.grant) {
			grants[h.locks] = append(grants[h.locks], h.grant)
		}
	}
	var failed atomic.Bool
	var all sync.WaitGroup
	for l, mine := range grants {
		if closed := l.enter(); closed != nil {
			err = closed
			continue
		}
		all.Go(func() {
			defer l.calls.Done()
			if !l.renew(ctx, mine, holds[0].lease, bound, func(h *singleHold) bool { return slices.Contains(holds, h) }) {
				failed.Store(true)
			}
		})
	}
	all.Wait()
	return !failed.Load(), err
}

// keepAlive renews the fixed leases of what the call has taken, until stop is called. If one is lost all the same, complete
// notices.
func (acq *acquisition) keepAlive() (stop func()) {
	if !acq.fixed {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		alarm := time.NewTimer(policy.AfterRenewal(acq.lease, true))
		defer alarm.Stop()
		for {
			select {
			case <-alarm.C:
			case <-quit:
				return
			}
			start := time.Now()
			answered, _ := renewHolds(acq.ctx, acq.takenSingles(), acq.renewalBound()) // what is closed, nothing can renew
			alarm.Reset(max(policy.AfterRenewal(acq.lease, answered)-time.Since(start), time.Millisecond))
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// takenSingles returns the holds of single locks that the call has taken so far.
func (acq *acquisition) takenSingles() []*singleHold {
	acq.mu.Lock()
	defer acq.mu.Unlock()
	return singlesOf(acq.taken)
}

// renewalBound is how long a round trip may take that renews a fixed lease. The caller may give up meanwhile.
func (acq *acquisition) renewalBound() time.Duration {
	return min(policy.AfterRenewal(acq.lease, true), policy.CleanerAnswer().First, max(acq.within(acq.lease), policy.Grace))
}

// complete makes sure, after the last part was taken, that the first ones are still held. If a fixed lease may have begun
// before that, it restarts all of them.
func (acq *acquisition) complete() error {
	if acq.fixed && acq.lastBegan.After(acq.firstBegan) {
		if err := acq.restartLeases(); err != nil {
			return err
		}
	}
	if endOf(acq.ctx) != nil {
		return ended(acq.ctx, nil)
	}
	return acq.intact()
}

// restartTries is how often a MultiLock restarts the leases of all parts before it gives up.
const restartTries = 3

// restartLeases begins the fixed leases of all parts anew, of a RedLock those of a quorum.
func (acq *acquisition) restartLeases() error {
	for tries := 1; ; tries++ {
		trusted := time.Now().Add(trust(acq.lease) - time.Millisecond)
		if _, err := renewHolds(acq.ctx, acq.takenSingles(), acq.renewalBound()); err != nil {
			return err
		}
		if err := acq.intact(); err != nil {
			return err
		}
		short := func(h *Hold) bool {
			_, several := h.held.(*multiHold) // of another Locker, whose lease is its own
			return !several && h.Remaining() < time.Until(trusted)
		}
		if !slices.ContainsFunc(acq.taken, short) {
			return nil
		}
		if tries == restartTries || endOf(acq.ctx) != nil || acq.waitIsOver(time.Now()) {
			return ended(acq.ctx, failed("renew the parts of", "a MultiLock", ErrNoAnswer))
		}
	}
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

// endRenewal notes that nothing restarts the fixed leases of these holds any more.
func endRenewal(holds []*Hold) {
	for _, h := range singlesOf(holds) {
		h.locks.mu.Lock()
		h.keptAlive = false
		h.locks.mu.Unlock()
	}
}

// hasten renews, before the call takes other parts, what the watchdog may renew too late: an answer that took long has left
// little of its lease. Meanwhile the call needs no connection. That may be the only one.
func (acq *acquisition) hasten() {
	late := make(map[time.Duration][]*singleHold) // by lease
	left := time.Duration(math.MaxInt64)
	for _, h := range singlesOf(acq.taken) {
		h.locks.mu.Lock()
		if h.isLateLocked() {
			late[h.lease], left = append(late[h.lease], h), min(left, time.Until(h.deadline))
		}
		h.locks.mu.Unlock()
	}
	for _, holds := range late {
		_, _ = renewHolds(acq.ctx, holds, min(left, max(acq.within(left), policy.Grace))) // Close ends what is closed
	}
}

// singlesOf returns the holds of single locks that these holds consist of.
func singlesOf(holds []*Hold) []*singleHold {
	var singles []*singleHold
	for _, h := range holds {
		if s, ok := h.held.(*singleHold); ok {
			singles = append(singles, s)
		}
		singles = append(singles, singlesOf(h.parts)...)
	}
	return singles
}
