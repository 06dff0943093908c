package locking

import (
	"slices"
	"sync"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/server"
)

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
		switch {
		case number == 0:
		case s.tombstone == 0:
			s.tombstone, s.tombstoneFor = number, life
		default:
			l.writeTombstone(s.rows[0].lock, number, life)
		}
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
		if r.grant != nil {
			r.grant.closing = false
			l.closeGrantLocked(r.grant)
		}
	}
}

// closeGrantLocked forgets a grant of which nothing is left. If this process no longer has the lock, the first in line may try.
func (l *Locks) closeGrantLocked(g *grant) {
	if !g.gone && (len(g.holds)+g.joining > 0 || g.closing) {
		return
	}
	if at := (share{g.lock.stateKey, g.owner}); l.grants[at] == g {
		delete(l.grants, at)
	}
	if st := l.states[g.lock.stateKey]; st != nil && st.grant == g {
		st.grant = nil
		st.wakeHeadLocked()
		l.tidyLocked(g.lock.stateKey)
	}
}

// clean is the cleaner: it makes the calls in the background until stop, and then once more. Many go in one round trip, so that a
// server that comes back does not get them all at once.
func (l *Locks) clean() {
	(&server.Chore[*releaseCall]{
		Server: l.server, Stop: l.stop, Period: policy.LastReconnect, Due: l.unfinished, Key: (*releaseCall).key, Round: l.sweep,
	}).Run(l.unclean)
	var last sync.WaitGroup
	for node, work := range server.ByNode(l.server, l.unfinished(), (*releaseCall).key) {
		last.Go(func() {
			line := l.server.Line(node)
			defer line.Close()
			l.sweep(line, work)
		})
	}
	last.Wait()
}

func (l *Locks) unfinished() []*releaseCall {
	l.cleaning.Lock()
	defer l.cleaning.Unlock()
	return slices.Clone(l.cleanups)
}

// sweep tries the calls of a node, and returns when to try those that are left. A call that was skipped because the node is silent
// counts as tried.
func (l *Locks) sweep(line *server.Line, work []*releaseCall) (pause time.Duration) {
	start := time.Now()
	first, others, tries := l.probes(work)
	bound := policy.Doubled(policy.CleanerAnswer, policy.LastCleanerAnswer, tries)
	if l.try(line, first, bound) {
		goesOn := make(map[string]bool)
		l.cleaning.Lock()
		for _, s := range first {
			goesOn[s.key()] = goesOn[s.key()] || s.confirmed
		}
		l.cleaning.Unlock()
		l.try(line, slices.DeleteFunc(others, func(s *releaseCall) bool { return !goesOn[s.key()] }), bound)
	}
	for _, s := range work {
		l.wasTried(s)
	}
	// Close may have cut the try short. The last sweep repeats it: no caller is left who could lose a new place in a queue by that.
	now, stopped := time.Now(), isClosed(l.stop)
	l.cleaning.Lock()
	defer l.cleaning.Unlock()
	l.cleanups = slices.DeleteFunc(l.cleanups, func(s *releaseCall) bool {
		return s.confirmed || s.tries > 0 && !stopped && !now.Before(s.until) // also if it was skipped
	})
	return time.Since(start) + policy.Doubled(policy.Reconnect, policy.LastReconnect, tries)
}

// probes counts a try of calls, and returns how many tries the oldest has had before. It splits them: those that are new, and one about
// each lock, another one each time; and the others, which are tried again only if one of those is done. While a slot is stuck on its way
// they would be refused as well.
func (l *Locks) probes(work []*releaseCall) (first, others []*releaseCall, tries int) {
	l.cleaning.Lock()
	defer l.cleaning.Unlock()
	again := make(map[string][]*releaseCall)
	for _, s := range work {
		tries = max(tries, s.tries)
		if s.tries++; s.tries > 1 {
			again[s.key()] = append(again[s.key()], s)
		}
	}
	for _, s := range work {
		if of := again[s.key()]; s.tries > 1 && s != of[of[0].tries%len(of)] {
			others = append(others, s)
		} else {
			first = append(first, s)
		}
	}
	return first, others, tries
}

// try tries calls, and reports whether the server has answered.
func (l *Locks) try(line *server.Line, work []*releaseCall, bound time.Duration) (answered bool) {
	answered = true
	for trip := range server.Trips(line, work, bound, (*releaseCall).call) {
		for i, s := range trip.Work {
			l.cleaning.Lock()
			s.confirmed = s.confirmed || trip.Answers[i].Err() == nil
			l.cleaning.Unlock()
			l.wasTried(s)
		}
		answered = trip.Answered
	}
	return answered
}

// wasTried tells those who wait for the first try of a call. While its slot moves, two loops may try it.
func (l *Locks) wasTried(s *releaseCall) {
	l.cleaning.Lock()
	done := s.done
	s.done = nil
	l.cleaning.Unlock()
	if done != nil {
		l.closeGrants(s)
		close(done)
	}
}
