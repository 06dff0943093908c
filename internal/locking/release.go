package locking

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

func (h *singleHold) unlock(ctx context.Context, lost bool) error {
	return h.locks.unlock(ctx, []*singleHold{h}, lost)
}

// unlock is release for a caller that Close does not wait for yet.
func (l *Locks) unlock(ctx context.Context, holds []*singleHold, lost bool) error {
	if err := l.enter(); err != nil {
		return l.leaveToExpire(holds, lost, err)
	}
	defer l.calls.Done()
	return l.release(ctx, holds, lost)
}

// leaveToExpire ends holds of Locks that are closed. No call says so to the server.
func (l *Locks) leaveToExpire(holds []*singleHold, lost bool, closed error) error {
	holds, gone := l.unlockOnce(holds)
	if len(holds) == 0 {
		return nil
	}
	s := l.beginRelease(holds)
	l.reportEnds(holds, time.Now(), nil)
	l.closeGrants(s)
	if lost || gone {
		return errors.Join(ErrLost, closed)
	}
	return closed
}

// giveBack is Unlock for a goroutine that Close waits for.
func (h *singleHold) giveBack() error {
	return h.locks.release(context.Background(), []*singleHold{h}, false)
}

// release gives back holds of one owner in one bucket, in one round trip. Holds that have been unlocked before are
// passed over. It returns ErrLost if one was no longer ours. If that is known, or the caller says that the holds are lost, which
// the parts of a lost hold are to it, and what a failed call has taken, the cleaner tells the server that they are over.
func (l *Locks) release(ctx context.Context, holds []*singleHold, lost bool) error {
	holds, gone := l.unlockOnce(holds)
	if len(holds) == 0 {
		return nil
	}
	start := time.Now()
	ctx, until := context.WithoutCancel(ctx), start.Add(policy.Release)
	lost = lost || gone
	if len(holds) == 1 && !lost && l.handOff(holds[0]) {
		return nil
	}
	s := l.beginRelease(holds)
	if lost {
		l.reportEnds(holds, start, nil)
		l.releaseBriefly(s)
		return ErrLost
	}
	results, err := l.deliver(ctx, until, s)
	var refused []*grant
	for i, result := range results {
		if result == scripts.NotOurs && l.refused(s, i, holds) {
			refused = append(refused, s.rows[i].grant)
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

// fewReleases is up to how many releases under way have a round trip each. Beyond that the cleaner sends many in one:
// thousands would wait for a connection longer than a release may take.
const fewReleases = 128

// deliver sends a release to the server, and returns the answer for each lock. What fails is repeated.
func (l *Locks) deliver(ctx context.Context, until time.Time, s *releaseCall) ([]int64, error) {
	defer l.releases.Add(-1)
	if l.releases.Add(1) > fewReleases {
		return l.deliverWithOthers(until, s)
	}
	call := s.call()
	call.Patient = true
	answer, err := l.server.Run(ctx, until, nil, call, s.attempt)
	if err == nil {
		var results []int64
		if results, err = scripts.ReadIntegers(answer, len(s.rows)); err == nil {
			return results, nil
		}
	}
	l.releaseLater(s)
	return nil, err
}

// deliverWithOthers lets the cleaner deliver a release.
func (l *Locks) deliverWithOthers(until time.Time, s *releaseCall) ([]int64, error) {
	alarm := time.NewTimer(time.Until(until))
	defer alarm.Stop()
	home := make(chan *redis.Cmd, 1)
	s.answer = home
	l.releaseLater(s)
	select {
	case came := <-home:
		answer, err := came.Result()
		if err != nil {
			return nil, err
		}
		return scripts.ReadIntegers(answer, len(s.rows))
	case <-alarm.C:
		return nil, ErrNoAnswer
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
	for now, i := time.Now(), 0; i < len(mine); i++ {
		h := mine[i]
		h.unlocked = true
		if h.isOverLocked(now) {
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

// beginRelease takes holds out of the registry. It returns the call that the server needs. A lost hold needs one as well: it may
// keep the lock a little longer than we trust it.
func (l *Locks) beginRelease(holds []*singleHold) *releaseCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	s := &releaseCall{attempt: l.attempt()}
	for _, h := range holds {
		l.dropLocked(h)
		if !slices.ContainsFunc(s.rows, func(r releaseRow) bool { return r.grant == h.grant }) {
			s.rows = append(s.rows, releaseRow{grant: h.grant})
		}
	}
	var resent []int64
	life := time.Duration(0)
	for i := range s.rows {
		g := s.rows[i].grant
		s.rows[i] = g.rowLocked()
		life = max(life, g.lease.longest)
		if number := g.lease.resent; number != 0 && !slices.Contains(resent, number) {
			resent = append(resent, number)
		}
	}
	s.until = now.Add(life)
	l.addTombstones(s, resent, 2*life)
	return s
}

// refused is called when the server answers that it does not have a grant. It reports whether that is a loss. If the client
// has sent the release more than once, the first copy may have done it. If another hold of the grant was the last, its
// release may have come first. Then this process's own clock decides whether the lock was still ours.
func (l *Locks) refused(s *releaseCall, i int, holds []*singleHold) bool {
	g := s.rows[i].grant
	l.mu.Lock()
	ended := s.attempt.Resent() || s.rows[i].count > 0 && (g.sent == 0 || g.handedOff)
	for _, h := range holds {
		if h.grant == g && !time.Now().Before(h.deadline) {
			ended = false
		}
	}
	l.mu.Unlock()
	if !ended {
		l.loseGrant(g)
	}
	return !ended
}

// unlockAll gives holds back, all at once; those of single locks that share a bucket in one round trip. If they are lost, it
// does not wait for the server, as release.
func unlockAll(ctx context.Context, holds []*Hold, lost bool) error {
	var groups []func() error
	for i := 0; i < len(holds); {
		first, ok := holds[i].held.(*singleHold)
		if !ok {
			h := holds[i]
			groups = append(groups, func() error { return h.is().unlock(ctx, lost) })
			i++
			continue
		}
		var group []*singleHold
		for ; i < len(holds); i++ {
			next, ok := holds[i].held.(*singleHold)
			if !ok || !first.shares(next) {
				break
			}
			group = append(group, next)
		}
		groups = append(groups, func() error { return first.locks.unlock(ctx, group, lost) })
	}
	if len(groups) == 1 {
		return groups[0]() // in this goroutine: the stack of a new one would have to grow first
	}
	errs := make([]error, len(groups))
	var all sync.WaitGroup
	for i, group := range groups {
		all.Go(func() { errs[i] = group() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// shares reports whether two holds can be released in one round trip.
func (h *singleHold) shares(other *singleHold) bool {
	a, b := h.grant, other.grant
	return a.lock.locks == b.lock.locks && a.lock.kind == b.lock.kind && a.lock.bucket == b.lock.bucket && a.owner == b.owner
}
