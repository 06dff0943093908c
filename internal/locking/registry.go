package locking

import (
	"slices"
	"time"

	"inventory/internal/locking/internal/cleaner"
)

// A registry is what this process knows of its locks: what it holds, and who waits for what. Guarded by Locks.mu.
type registry struct {
	states    map[string]*lockState // of mutexes, by state key
	grants    map[share]*grant
	asking    map[share]siblings // callers that are asking the server for a first-come lock
	tickets   tickets
	deadlines deadlines
}

// A share is what one owner has to do with one lock.
type share struct {
	state string
	owner *owner
}

// siblings are callers of one owner that ask for the same lock.
type siblings struct {
	count int
	over  chan struct{} // closed when the next of them no longer asks; nil if nobody waits for that
}

// A lockState is what this process knows of one mutex, while it holds it or waits for it.
type lockState struct {
	lease       *lease    // this process holds the lock; it may pass between owners
	handingOff  bool      // the holder is handing it off by a round trip
	wakePending bool      // a wake-up came while that went on
	waiters     []*waiter // first come, first served
	queued      bool      // the process may be in the server's queue, or may have its reservation
	placed      bool      // the server has said that it is in the queue
	called      bool      // a wake-up has come since
}

// stateOfLocked returns the lock state of a lock.
func (l *Locks) stateOfLocked(a *lock) *lockState {
	st := l.states[a.stateKey]
	if st == nil {
		st = &lockState{}
		l.states[a.stateKey] = st
	}
	return st
}

// tidyLocked forgets a lock state with nothing in it.
func (l *Locks) tidyLocked(a *lock) {
	if st := l.states[a.stateKey]; st != nil && len(st.waiters) == 0 && st.lease == nil {
		delete(l.states, a.stateKey)
	}
}

// grantOfLocked returns what an owner has of the lock with a state key, or nil.
func (l *Locks) grantOfLocked(state string, who *owner) *grant {
	if g := l.grants[share{state, who}]; g != nil && g.countLocked() > 0 {
		return g
	}
	return nil
}

// addGrantLocked notes a grant, and returns the one that its owner had until now, if that is not over. It is gone then.
func (l *Locks) addGrantLocked(g *grant) (old *grant) {
	at := share{g.lock.stateKey, g.owner}
	if old = l.grants[at]; old != nil {
		old.gone = true
		old.decideLocked()
	}
	l.grants[at] = g
	return old
}

// undecidedLocked returns what to wait for while an owner has a grant without a hold: the release is under way, or a
// re-entry. The server answers busy then, although no other owner is in the way.
func (l *Locks) undecidedLocked(state string, who *owner) <-chan struct{} {
	g := l.grants[share{state, who}]
	if g == nil || len(g.holds) > 0 {
		return nil
	}
	if g.decided == nil {
		g.decided = make(chan struct{})
	}
	return g.decided
}

// decideLocked wakes the callers that wait for the outcome of a grant.
func (g *grant) decideLocked() {
	if g.decided != nil {
		close(g.decided)
		g.decided = nil
	}
}

// closeGrantLocked ends a grant of which nothing is left, and with it the lease.
func (l *Locks) closeGrantLocked(g *grant) {
	if l.forgetLocked(g) && !g.handedOff {
		l.endLeaseLocked(g.lock, g.lease)
	}
}

// forgetLocked removes a grant from the registry if nothing is left of it, and reports whether it did.
func (l *Locks) forgetLocked(g *grant) bool {
	if !g.gone && g.countLocked()+g.closing > 0 {
		return false
	}
	g.decideLocked()
	if at := (share{g.lock.stateKey, g.owner}); l.grants[at] == g {
		delete(l.grants, at)
	}
	return true
}

// dropLocked removes a hold from the registry, and leaves the grant there. It reports whether the hold was there.
func (l *Locks) dropLocked(h *singleHold) bool {
	g := h.grant
	i := slices.Index(g.holds, h)
	if i < 0 {
		return false
	}
	g.holds = slices.Delete(g.holds, i, i+1)
	l.deadlines.remove(h)
	h.owner.removeHold(h.lock.position())
	return true
}

// lose ends holds that are no longer ours, with ErrLost as the cause of their contexts.
func (l *Locks) lose(holds []*singleHold) {
	l.mu.Lock()
	var lost []*singleHold
	var reds []*redHold
	for _, h := range slices.Clone(holds) { // dropLocked shortens the slice of a grant
		if l.dropLocked(h) {
			h.lost = true
			lost = append(lost, h)
			if h.red != nil {
				reds = append(reds, h.red)
			}
			if h.reported {
				l.observer.Lost(h.lock.kind.is(), time.Since(h.since))
			}
			l.closeGrantLocked(h.grant)
		}
	}
	l.mu.Unlock()
	for _, h := range lost {
		h.end(ErrLost)
	}
	for _, r := range reds {
		r.owner.tidy()
	}
}

// reportGrants reports new holds to the observer. One that has been lost already is reported as that too.
func (l *Locks) reportGrants(acq *acquisition, run []*part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range run {
		for _, h := range p.holds {
			h.reported = true
			l.observer.Acquired(p.lock.kind.is(), h.since.Sub(acq.start), acq.waitedForOthers)
			if h.lost {
				l.observer.Lost(p.lock.kind.is(), time.Since(h.since))
			}
		}
	}
}

// reportEnds reports unlocked holds to the observer: as lost if the server no longer had their grant, otherwise as released.
// Holds that were lost before have been reported already.
func (l *Locks) reportEnds(holds []*singleHold, unlocked time.Time, gone []*grant) {
	for _, h := range holds {
		switch held := unlocked.Sub(h.since); {
		case h.lost || !h.reported:
		case slices.Contains(gone, h.grant):
			l.observer.Lost(h.lock.kind.is(), held)
		default:
			l.observer.Released(h.lock.kind.is(), held)
		}
	}
}

// denied is called when the server answers that it has no grant with this token, or with any if that is 0. It reports whether
// the grant is lost: it is not if the token has risen since, or is rising.
func (l *Locks) denied(g *grant, token int64) bool {
	l.mu.Lock()
	outrun := token != 0 && token != g.lease.first
	l.mu.Unlock()
	if !outrun {
		l.loseGrant(g)
	}
	return !outrun
}

// loseGrant loses all holds of a grant that the server no longer has.
func (l *Locks) loseGrant(g *grant) {
	l.mu.Lock()
	g.gone = true
	holds := slices.Clone(g.holds)
	l.closeGrantLocked(g)
	l.mu.Unlock()
	l.lose(holds)
}

// endLeaseLocked notes that this process no longer has a lock, and lets the first in line try.
func (l *Locks) endLeaseLocked(a *lock, ls *lease) {
	st := l.states[a.stateKey]
	if st == nil || st.lease != ls {
		return
	}
	st.lease, st.handingOff = nil, false
	st.wakeHeadLocked()
	l.tidyLocked(a)
}

// meetDeadlines loses the holds whose time is over.
func (l *Locks) meetDeadlines() {
	l.mu.Lock()
	over := l.deadlines.take(time.Now())
	l.mu.Unlock()
	l.lose(over)
}

// wakeHeadLocked lets the first in line look again. While the lock is handed off, that one must not ask: it is woken
// once more afterwards.
func (st *lockState) wakeHeadLocked() {
	st.wakePending = st.handingOff
	if len(st.waiters) > 0 {
		st.waiters[0].wakeLocked()
	}
}

// disownLocked releases these holder ids at the server in the background, and ends the lease.
func (l *Locks) disownLocked(a *lock, ls *lease, ids ...string) {
	s := &settlement{attempt: l.attempt(), Task: cleaner.Task{Until: time.Now().Add(ls.longest)}}
	for _, id := range ids {
		s.rows = append(s.rows, row{lock: a, id: id})
	}
	l.addTombstones(s, []int64{ls.resent}, 2*ls.duration)
	l.settleLater(s)
	l.endLeaseLocked(a, ls)
}
