package locking

import (
	"cmp"
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
		case <-l.stop:
			return
		}
		start := time.Now()
		next := policy.AfterRenewal(l.lease, l.renew(l.due(), period))
		timer.Reset(max(next-time.Since(start), time.Millisecond))
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

// renew puts off the expiry of grants by the watchdog's lease, and tells whether the server answered for
// all of them.
func (l *Locks) renew(due []*grant, bound time.Duration) bool {
	var failed atomic.Bool
	server.EachNode(l.server, due, func(g *grant) string { return g.lock.stateKey }, func(due []*grant) {
		for chunk := range slices.Chunk(due, server.Batch) {
			answered, whole := l.renewSome(chunk, l.lease, bound, (*Hold).wantsRenewalLocked)
			if !whole {
				failed.Store(true)
			}
			if !answered {
				return // the node is in trouble: do not spend a time-out on each chunk
			}
		}
	})
	return !failed.Load()
}

// renewSome renews grants in one round trip, for the holds that want it. It tells whether the server answered at all,
// and whether it did for all of them.
func (l *Locks) renewSome(grants []*grant, lease, bound time.Duration, wants func(*Hold) bool) (answered, whole bool) {
	start := time.Now()
	calls, tokens := l.renewals(grants, lease)
	answers := l.server.RunAll(start.Add(bound), calls)
	whole = true
	for i, answer := range answers {
		said, err := answer.Int64()
		answered = answered || server.IsAnswer(err)
		switch {
		case err != nil || said == scripts.RenewalOutdated: // a later script call about the grant came first
			whole = false
		case said == scripts.RenewalGone:
			whole = l.denied(grants[i], tokens[i]) && whole
		default:
			l.renewed(grants[i], start.Add(trust(lease)), wants)
		}
	}
	l.observer.Renewed(len(grants), time.Since(start), whole)
	return answered, whole
}

// renewals returns the script calls and the tokens that they name. They may be about a grant that has ended meanwhile:
// that changes nothing, because no other grant has its id.
func (l *Locks) renewals(grants []*grant, lease time.Duration) (calls []scripts.Call, tokens []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls, tokens = make([]scripts.Call, len(grants)), make([]int64, len(grants))
	for i, g := range grants {
		calls[i], tokens[i] = g.lock.kind.renewal(g, lease), g.lease.first
	}
	return calls, tokens
}

// renewed puts off the deadlines of the holds of a grant.
func (l *Locks) renewed(g *grant, deadline time.Time, wants func(*Hold) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range g.holds {
		if wants(h) {
			h.extendLocked(deadline)
			h.outlived = h.ctx.Err() != nil
		}
	}
}

// extendLocked puts the deadline off.
func (h *Hold) extendLocked(deadline time.Time) {
	if deadline.After(h.deadline) {
		h.deadline = deadline
		h.locks.deadlines.move(h)
	}
}
