package locking

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

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
		next := policy.AfterRenewal(l.lease, l.renew(l.due(), period))
		timer.Reset(max(next-time.Since(start), time.Millisecond))
	}
}

// isLateLocked reports whether a hold that the watchdog renews has less left than the next turn needs.
func (h *Hold) isLateLocked() bool {
	return h.wantsRenewalLocked() && time.Until(h.deadline) < h.lease-policy.AfterRenewal(h.lease, true)
}

// hurryLocked lets the watchdog renew at once what has begun late: the answer took long.
func (l *Locks) hurryLocked(h *Hold) {
	if h.isLateLocked() {
		select {
		case l.hurry <- struct{}{}:
		default: // it is about to
		}
	}
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

// renew extends grants by the watchdog's lease, and reports whether the server answered for all of them.
func (l *Locks) renew(due []*grant, bound time.Duration) bool {
	return l.renewFor(context.Background(), due, l.lease, bound, (*Hold).wantsRenewalLocked)
}

// renewFor is renew with any lease. A round trip takes no longer than ctx and bound.
func (l *Locks) renewFor(ctx context.Context, grants []*grant, lease, bound time.Duration, wants func(*Hold) bool) bool {
	var failed atomic.Bool
	server.EachBatch(l.server, grants, func(g *grant) string { return g.lock.stateKey }, func(batch []*grant) bool {
		start := time.Now()
		calls, tokens := l.renewals(batch, lease)
		answers, answered := l.server.RunAll(ctx, start.Add(bound), calls)
		whole := true
		for i, answer := range answers {
			said, err := answer.Int64()
			switch {
			case err != nil || said == scripts.RenewalOutdated: // a later script call about the grant came first
				whole = false
			case said == scripts.RenewalGone:
				whole = l.denied(batch[i], tokens[i]) && whole
			default:
				l.renewed(batch[i], start.Add(trust(lease)), wants)
			}
		}
		l.observer.Renewed(len(batch), time.Since(start), whole)
		if !whole {
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
func (l *Locks) renewed(g *grant, deadline time.Time, wants func(*Hold) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range g.holds {
		if wants(h) {
			if deadline.After(h.deadline) {
				l.deadlines.move(h, deadline)
				h.countsLocked(deadline)
			}
			h.outlived = h.ctx.Err() != nil
		}
	}
}
