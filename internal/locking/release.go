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

// Unlock gives the hold back. It works also when ctx has ended, and takes 3 s at most, whatever other goroutines of the
// owner do. ErrLost means that the hold was no longer ours. If that is known already, Unlock does not wait for the server,
// which is told in the background. ErrNoAnswer, or any other error, means that the release is not confirmed: it is repeated
// in the background while the lock can exist, and nothing renews the lock any more. A second Unlock does nothing and returns
// nil.
func (h *Hold) Unlock(ctx context.Context) error {
	return h.unlock(ctx, h.locks == nil && h.isLost()) // a single lock looks by itself
}

// unlock is Unlock, perhaps of a part of a whole that is lost.
func (h *Hold) unlock(ctx context.Context, lost bool) error {
	switch {
	case h.red != nil:
		return h.red.unlock(ctx, lost)
	case h.locks == nil:
		h.endWhole()
		return unlockAll(ctx, h.leaves, lost)
	}
	return h.locks.unlock(ctx, []*Hold{h}, lost)
}

// isLost reports whether a hold that has not been unlocked is no longer ours, as far as this process knows. Of a MultiLock one
// part is enough.
func (h *Hold) isLost() bool {
	switch {
	case h.red != nil:
		return h.red.isLost()
	case h.locks == nil:
		return slices.ContainsFunc(h.leaves, (*Hold).isLost)
	}
	h.locks.mu.Lock()
	defer h.locks.mu.Unlock()
	return !h.unlocked && (h.lost || h.isOverLocked(time.Now()))
}

// isOverLocked reports whether the time of a hold is over, also if nobody has noticed that yet.
func (h *Hold) isOverLocked(now time.Time) bool { return !now.Before(h.deadline) }

// unlock is release for a caller that Close does not wait for yet.
func (l *Locks) unlock(ctx context.Context, holds []*Hold, lost bool) error {
	if err := l.enter(); err != nil {
		holds, gone := l.unlockOnce(holds)
		if len(holds) == 0 {
			return nil
		}
		s := l.settle(holds) // the server is not told: the locks expire
		l.reportEnds(holds, time.Now(), nil)
		l.closeGrants(s)
		if lost || gone {
			err = errors.Join(ErrLost, err)
		}
		return err
	}
	defer l.calls.Done()
	return l.release(ctx, holds, lost)
}

// release gives back holds of one owner in one bucket, in one round trip. Holds that have been unlocked before are
// passed over. It returns ErrLost if one was no longer ours, or if they are parts of a whole that is lost. If that is known,
// it does not wait for the server.
func (l *Locks) release(ctx context.Context, holds []*Hold, lost bool) error {
	holds, gone := l.unlockOnce(holds)
	switch {
	case len(holds) == 0:
		return nil
	case lost || gone:
		l.abandon(holds)
		return ErrLost
	}
	start := time.Now()
	ctx, until := context.WithoutCancel(ctx), start.Add(policy.Release)
	if len(holds) == 1 {
		if done, err := l.handOff(ctx, until, holds[0]); done {
			return err
		}
	}
	s := l.settle(holds)
	defer l.closeGrants(s)
	results, err := l.deliver(ctx, until, s)
	if err != nil {
		l.reportEnds(holds, start, nil)
		return failed("release", holds[0].lock.name, err)
	}
	var refused []*grant
	for i, result := range results {
		if result == scripts.ReleasedNotOurs && l.refused(s, i, holds) {
			refused = append(refused, s.rows[i].grant)
		}
	}
	l.reportEnds(holds, start, refused)
	if len(refused) > 0 {
		return ErrLost
	}
	return nil
}

// fewReleases is up to how many releases under way have a round trip each. Beyond that the cleaner sends many in one:
// thousands would wait for a connection longer than a release may take.
const fewReleases = 128

// deliver sends a release to the server, and returns the answer for each lock. What fails is repeated.
func (l *Locks) deliver(ctx context.Context, until time.Time, s *settlement) ([]int64, error) {
	defer l.releases.Add(-1)
	if l.releases.Add(1) > fewReleases {
		return l.deliverWithOthers(until, s)
	}
	call := s.Call()
	call.Patient = true
	answer, err := l.server.Run(ctx, until, nil, call, s.attempt)
	if err == nil {
		var results []int64
		if results, err = scripts.ReadIntegers(answer, len(s.rows)); err == nil {
			return results, nil
		}
	}
	l.settleLater(s)
	return nil, err
}

// deliverWithOthers lets the cleaner deliver a release.
func (l *Locks) deliverWithOthers(until time.Time, s *settlement) ([]int64, error) {
	alarm := time.NewTimer(time.Until(until))
	defer alarm.Stop()
	home := make(chan *redis.Cmd, 1)
	s.Answer = home
	l.settleLater(s)
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

// giveUp is release without waiting for the server's answer.
func (l *Locks) giveUp(holds []*Hold) {
	if holds, _ = l.unlockOnce(holds); len(holds) > 0 {
		l.abandon(holds)
	}
}

// abandon lets the cleaner tell the server that these holds are over, and waits a moment for that.
func (l *Locks) abandon(holds []*Hold) {
	s := l.settle(holds)
	l.reportEnds(holds, time.Now(), nil)
	s.Tried = func() { l.closeGrants(s) }
	l.settleBriefly(s)
}

// closeGrants ends the grants whose last release the server has got, and lets the waiters in line try for the locks.
func (l *Locks) closeGrants(s *settlement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range s.rows {
		if r.grant == nil {
			continue
		}
		if r.count == 0 {
			r.grant.closing--
		}
		l.closeGrantLocked(r.grant)
	}
}

// unlockOnce returns the holds that no other call has begun to unlock, and whether one of them is lost. It ends their contexts:
// work under them must not go on while the release is on its way.
func (l *Locks) unlockOnce(holds []*Hold) (mine []*Hold, lost bool) {
	l.mu.Lock()
	mine = holds
	if slices.ContainsFunc(holds, func(h *Hold) bool { return h.unlocked }) { // seldom true
		mine = slices.DeleteFunc(slices.Clone(holds), func(h *Hold) bool { return h.unlocked })
	}
	var over []*Hold
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

// settle takes holds out of the registry. It returns what the server must be told. It is told of a lost hold as well: it may
// keep the lock a little longer than we trust it.
func (l *Locks) settle(holds []*Hold) *settlement {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	s := &settlement{attempt: l.attempt()}
	for _, h := range holds {
		l.dropLocked(h)
		if !slices.ContainsFunc(s.rows, func(r row) bool { return r.grant == h.grant }) {
			s.rows = append(s.rows, row{grant: h.grant})
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
	s.Until = now.Add(life)
	l.addTombstones(s, resent, 2*life)
	return s
}

// refused is called when the server answers that it does not have a grant. It reports whether that is a loss. If the client
// has sent the release more than once, the first copy may have done it. If another hold of the grant was the last, its
// release may have come first. Then this process's own clock decides whether the lock was still ours.
func (l *Locks) refused(s *settlement, i int, holds []*Hold) bool {
	g := s.rows[i].grant
	l.mu.Lock()
	ended := s.attempt.Resent() || s.rows[i].count > 0 && (g.told == 0 || g.handedOff)
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

// endWhole ends the contexts of a MultiLock and of those among its parts, or that of a RedLock.
func (h *Hold) endWhole() {
	for _, stop := range h.stops {
		stop()
	}
	if h.cancel != nil {
		h.end(context.Canceled)
	}
	for _, part := range h.parts {
		if part.leaves != nil {
			part.endWhole()
		}
	}
}

// unlockAll gives holds back, all at once; those that share a bucket in one round trip. They may be parts of a whole that is
// lost.
func unlockAll(ctx context.Context, holds []*Hold, lost bool) error {
	return sharing(holds, func(group []*Hold) error {
		if l := group[0].locks; l != nil {
			return l.unlock(ctx, group, lost)
		}
		return group[0].unlock(ctx, lost)
	})
}

// giveUpAll is unlockAll for an acquisition that has failed and has no time to wait. What fails is repeated.
func giveUpAll(ctx context.Context, holds []*Hold) {
	_ = sharing(holds, func(group []*Hold) error {
		l := group[0].locks
		if l == nil || l.enter() != nil {
			return unlockAll(ctx, group, false)
		}
		defer l.calls.Done()
		l.giveUp(group)
		return nil
	})
}

// sharing splits holds into groups of which each can be released in one round trip, and releases all groups at once.
func sharing(holds []*Hold, release func(group []*Hold) error) error {
	var groups [][]*Hold
	for len(holds) > 0 {
		n := 1
		for n < len(holds) && holds[0].locks != nil && holds[0].shares(holds[n]) {
			n++
		}
		groups, holds = append(groups, holds[:n]), holds[n:]
	}
	if len(groups) == 1 {
		return release(groups[0]) // in this goroutine: the stack of a new one would have to grow first
	}
	errs := make([]error, len(groups))
	var all sync.WaitGroup
	for i, group := range groups {
		all.Go(func() { errs[i] = release(group) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// shares reports whether two holds can be released in one round trip.
func (h *Hold) shares(other *Hold) bool {
	return other.locks == h.locks && h.lock.kind == other.lock.kind && h.lock.bucket == other.lock.bucket && h.owner == other.owner
}
