package locking

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

func (h *singleHold) unlock(ctx context.Context, lost bool) error {
	return h.locks.unlock(ctx, h.alone[:], lost)
}

// unlock is release for a caller that Close does not wait for yet.
func (l *Locks) unlock(ctx context.Context, holds []*singleHold, lost bool) error {
	closed := l.enter()
	if closed == nil {
		defer l.calls.Done()
	}
	return l.release(ctx, holds, lost, closed)
}

// giveBack is Unlock for a goroutine that Close waits for.
func (h *singleHold) giveBack() error {
	return h.locks.release(context.Background(), []*singleHold{h}, false, nil)
}

// release gives back holds of one owner in one bucket, in one round trip. Holds that have been unlocked before are
// passed over. It returns ErrLost if one was no longer ours. If that is known, or the caller says that the holds are lost, which
// the parts of a lost hold are to it, and what a failed call has taken, the cleaner tells the server that they are over. If the Locks
// are closed, no call does.
func (l *Locks) release(ctx context.Context, holds []*singleHold, lost bool, closed error) error {
	holds, gone := l.unlockOnce(holds)
	if len(holds) == 0 {
		return nil
	}
	start := time.Now()
	lost = lost || gone
	if len(holds) == 1 && !lost && closed == nil && l.handOff(holds[0]) {
		return nil
	}
	s := l.beginRelease(holds)
	if lost || closed != nil || len(s.rows) == 0 { // without rows the owner has other holds
		l.reportEnds(holds, start, nil)
		if closed != nil {
			l.closeGrants(s)
		} else if len(s.rows) > 0 {
			l.releaseBriefly(s)
		}
		switch {
		case !lost:
			return closed
		case closed == nil:
			return ErrLost
		default:
			return errors.Join(ErrLost, closed)
		}
	}
	results, err := l.deliver(context.WithoutCancel(ctx), start.Add(policy.Release), s)
	var refused []*grant
	for i, result := range results {
		if g := s.rows[i].grant; result == scripts.NotOurs && l.refused(s, g, holds) {
			refused = append(refused, g)
		}
	}
	l.closeGrants(s)
	l.reportEnds(holds, start, refused)
	switch {
	case err != nil:
		return failed("release", holds[0].grant.lock.name, err)
	case len(refused) > 0:
		return ErrLost
	}
	return nil
}

// handoffFor is for how long after the answer that brought it a lease may pass inside the process. Then other processes that wait
// get their turn. No more than a part of the lease may be over, one in handoffShare: it is as good as a new one.
const (
	handoffFor   = time.Millisecond
	handoffShare = 10
)

// handOff unlocks a hold by giving its lock to the next in line, without a round trip: the server knows the process as the
// holder, and has reserved tokens for it. It returns false if that cannot be done.
func (l *Locks) handOff(h *singleHold) bool {
	l.mu.Lock()
	now := time.Now()
	next := l.successorLocked(h, now)
	if next != nil {
		old := h.grant
		l.dropLocked(h)
		g := &grant{
			lock: old.lock, owner: next.owner, token: old.next, joining: 1, id: old.id, duration: old.duration, longest: old.longest,
			resent: old.resent, next: old.next + 1, last: old.last, begun: old.begun, came: old.came,
		}
		st := l.states[g.lock.stateKey]
		st.waiters, st.grant = slices.Delete(st.waiters, 0, 1), g
		delete(l.grants, share{old.lock.stateKey, old.owner})
		l.addGrantLocked(g)
		next.handed = g
		signal(next.woken)
	}
	l.mu.Unlock()
	if next == nil {
		return false
	}
	l.reportEnds([]*singleHold{h}, now, nil)
	return true
}

// successorLocked returns who gets the lock of a hold next: the first in line, if the owner gives up its last hold, a token is in
// reserve, and the lease has hardly begun and is what that caller asked for. One that is asking the server may get the lock there.
func (l *Locks) successorLocked(h *singleHold, now time.Time) *waiter {
	g := h.grant
	if len(g.holds) != 1 || g.joining > 0 || !now.Before(h.deadline) { // a lost hold has left g, or is past its deadline
		return nil
	}
	st := l.states[g.lock.stateKey]
	if st == nil || st.grant != g || len(st.waiters) == 0 || g.next > g.last {
		return nil
	}
	if now.Sub(g.came) >= handoffFor || now.Sub(g.begun) >= g.duration/handoffShare {
		return nil
	}
	if next := st.waiters[0]; !next.asking && next.lease == g.duration {
		return next
	}
	return nil
}

// deliver sends a release to the server, and returns the answer for each lock. A release that fails is repeated.
func (l *Locks) deliver(ctx context.Context, until time.Time, s *releaseCall) (results []int64, err error) {
	answer, err := l.ask(ctx, until, s)
	if err == nil {
		results, err = scripts.ReadIntegers(answer, len(s.rows))
	}
	if err != nil {
		l.releaseLater(s)
	}
	return results, err
}

// ask sends a release over a connection of the client. If that got no answer for a while, the connection may be dead, and the others
// of the client too: the release goes once more, over a new one.
func (l *Locks) ask(ctx context.Context, until time.Time, s *releaseCall) (answer any, err error) {
	call := s.call()
	answer, err = l.server.Run(ctx, time.Now().Add(policy.FirstRelease), nil, call, &s.attempt)
	switch silent := errors.Is(err, ErrNoAnswer); {
	case silent && s.attempt.Sent():
		line := l.server.Line(l.server.NodeOf(s.key()))
		defer line.Close()
		answers, answered := line.RunAll(until, []scripts.Call{call})
		if !answered {
			return nil, ErrNoAnswer
		}
		return answers[0].Result()
	case silent || l.server.IsMoving(err): // no connection was free, or the slot has no node yet
		call.Patient = true
		return l.server.Run(ctx, until, nil, call, &s.attempt)
	default:
		return answer, err
	}
}

// unlockOnce returns the holds that no other call has begun to unlock, and whether one of them is lost. It ends their contexts:
// work under them must not go on while the release is on its way.
func (l *Locks) unlockOnce(holds []*singleHold) (mine []*singleHold, lost bool) {
	l.mu.Lock()
	mine = holds
	if slices.ContainsFunc(holds, func(h *singleHold) bool { return h.unlocked }) { // seldom true
		mine = slices.DeleteFunc(slices.Clone(holds), func(h *singleHold) bool { return h.unlocked })
	}
	var over []*singleHold
	for _, h := range mine {
		h.unlocked = true
		if h.isOverLocked(time.Now()) {
			over = append(over, h)
		}
		lost = lost || h.lost || len(over) > 0
	}
	l.mu.Unlock()
	l.lose(over)
	for _, h := range mine {
		h.end(context.Canceled)
	}
	return mine, lost
}

// beginRelease takes holds out of the registry. It returns the call that gives back the grants of which nothing is left. A lost
// hold has gone from there, and its grant has been given back.
func (l *Locks) beginRelease(holds []*singleHold) *releaseCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &releaseCall{}
	s.rows = s.room[:0]
	var resent []int64
	life := time.Duration(0)
	for _, h := range holds {
		if !l.dropLocked(h) {
			continue
		}
		if row, ok := h.grant.endLocked(); ok {
			g := h.grant
			s.rows = append(s.rows, row)
			life = max(life, g.longest)
			if number := g.resent; number != 0 && !slices.Contains(resent, number) {
				resent = append(resent, number)
			}
		}
	}
	s.until = time.Now().Add(life)
	if len(s.rows) > 0 {
		l.addTombstones(s, resent, 2*life)
	}
	return s
}

// refused is called when the server answers that it does not have a grant. It reports whether that is a loss. If the client
// has sent the release more than once, the first copy may have done it. Then this process's own clock decides whether the lock
// was still ours.
func (l *Locks) refused(s *releaseCall, g *grant, holds []*singleHold) bool {
	lost := func(h *singleHold) bool { return h.grant == g && h.isOverLocked(time.Now()) }
	l.mu.Lock()
	ended := s.attempt.Resent() && !slices.ContainsFunc(holds, lost)
	l.mu.Unlock()
	if !ended {
		l.loseGrant(g)
	}
	return !ended
}

// unlockAll gives holds back, all at once; those of single locks that share a bucket in one round trip. If they are lost, it
// does not wait for the server, as release.
func unlockAll(ctx context.Context, holds []*Hold, lost bool) error {
	var groups [][]*Hold
	for _, h := range holds {
		if last := len(groups) - 1; last >= 0 && groups[last][0].shares(h) {
			groups[last] = append(groups[last], h)
		} else {
			groups = append(groups, []*Hold{h})
		}
	}
	unlock := func(group []*Hold) error {
		if first, ok := group[0].held.(*singleHold); ok {
			return first.locks.unlock(ctx, singlesOf(group), lost)
		}
		return group[0].is().unlock(ctx, lost)
	}
	if len(groups) == 1 {
		return unlock(groups[0]) // in this goroutine: the stack of a new one would have to grow first
	}
	errs := make([]error, len(groups))
	var all sync.WaitGroup
	for i, group := range groups {
		all.Go(func() { errs[i] = unlock(group) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// shares reports whether two holds can be released in one round trip.
func (h *Hold) shares(other *Hold) bool {
	a, one := h.held.(*singleHold)
	b, too := other.held.(*singleHold)
	return one && too && a.locks == b.locks && a.grant.owner == b.grant.owner &&
		a.grant.lock.kind == b.grant.lock.kind && a.grant.lock.bucket == b.grant.lock.bucket
}

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
