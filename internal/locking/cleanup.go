package locking

import (
	"context"
	"slices"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

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

// releaseLater hands a call to the cleaner. When it has been tried, its grants are closed, and then the channel.
func (l *Locks) releaseLater(s *releaseCall) <-chan struct{} {
	done := make(chan struct{})
	s.done = done
	l.cleaning.Lock()
	l.cleanups = append(l.cleanups, s)
	l.cleaning.Unlock()
	signal(l.unclean)
	return done
}

// releaseBriefly is releaseLater, and then waits a moment for the first try.
func (l *Locks) releaseBriefly(s *releaseCall) {
	select {
	case <-l.releaseLater(s):
	case <-time.After(policy.Cleanup):
	}
}

// addTombstones has tombstones written for attempts that took what is being released, if the client has sent them more than
// once: a copy could arrive after the release. The first tombstone goes with the release. Without copies there is none: it
// would cost every release a key.
func (l *Locks) addTombstones(s *releaseCall, resent []int64, life time.Duration) {
	for _, number := range resent {
		if number == 0 {
			continue
		}
		if s.tombstone == 0 {
			s.tombstone, s.tombstoneFor = number, life
			continue
		}
		l.writeTombstone(s.rows[0].lock, number, life)
	}
}

// writeTombstone has a tombstone written for an attempt, and nothing else changed.
func (l *Locks) writeTombstone(a *lock, attempt int64, life time.Duration) {
	l.releaseLater(&releaseCall{rows: []releaseRow{{lock: a}}, tombstone: attempt, tombstoneFor: life, until: time.Now().Add(life)})
}

// closeGrants ends the grants whose last release the server has got, and lets the waiters in line try for the locks. To do so again
// changes nothing; only the cleaner does it for one that leaves a line, and once.
func (l *Locks) closeGrants(s *releaseCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.leaver != nil {
		l.removeLocked(s.rows[0].lock.stateKey, s.leaver)
	}
	for _, r := range s.rows {
		if r.grant == nil {
			continue
		}
		r.grant.closing = false
		l.closeGrantLocked(r.grant)
	}
}

// clean is the cleaner: it makes the calls in the background until stop, and then once more. Many go in one round trip, so that a
// server that comes back does not get them all at once.
func (l *Locks) clean() {
	pause, bound := policy.Reconnect, policy.CleanerAnswer
	l.repeat(rest, l.unclean, func() (next time.Duration) {
		start := time.Now()
		if !l.sweep(bound) {
			pause, bound = policy.Reconnect, policy.CleanerAnswer
			return rest
		}
		next = time.Since(start) + pause
		pause, bound = min(2*pause, policy.LastReconnect), min(2*bound, policy.LastCleanerAnswer)
		return next
	})
	l.sweep(policy.CleanerAnswer)
}

// sweep tries all calls, and reports whether some must be repeated. A call that was skipped because its node is silent counts
// as tried.
func (l *Locks) sweep(bound time.Duration) (left bool) {
	l.cleaning.Lock()
	work := l.cleanups
	l.cleanups = nil
	l.cleaning.Unlock()
	server.EachBatch(l.server, work, (*releaseCall).key, func(some []*releaseCall) bool { return l.cleanSome(some, bound) })
	work = slices.DeleteFunc(work, func(s *releaseCall) bool { return s.finished })
	for _, s := range work {
		l.wasTried(s)
	}
	l.cleaning.Lock()
	l.cleanups = append(work, l.cleanups...)
	l.cleaning.Unlock()
	return len(work) > 0
}

// cleanSome tries some calls in one round trip, and reports whether the server has answered.
func (l *Locks) cleanSome(work []*releaseCall, bound time.Duration) (answered bool) {
	calls := make([]scripts.Call, len(work))
	for i, s := range work {
		calls[i] = s.call()
	}
	answers, answered := l.server.RunAll(context.Background(), time.Now().Add(bound), calls)
	now := time.Now()
	for i, s := range work {
		l.wasTried(s)
		s.finished = answers[i].Err() == nil || !now.Before(s.until)
	}
	return answered
}

// wasTried tells those who wait for the first try of a call.
func (l *Locks) wasTried(s *releaseCall) {
	if s.done != nil {
		l.closeGrants(s)
		close(s.done)
		s.done = nil
	}
}
