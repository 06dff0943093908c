package locking

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// How a release stands to the queue, as release.lua knows it.
const (
	placeStay  = "n" // leave it alone
	placePass  = "c" // give up what was promised to us
	placeLeave = "l" // the same, and leave the queue
)

// A settlement tells the server how often an owner holds some locks of one place: what release.lua does.
type settlement struct {
	mutexes      []*Mutex
	rows         []row // for each mutex
	who          string
	attempt      *attempt // nil where no count is settled
	tombstone    int64    // the attempt to cancel
	tombstoneFor time.Duration

	until time.Time     // the janitor repeats it until then; zero: it tries once
	tried func()        // the janitor calls it after its first try
	done  chan struct{} // the janitor closes it after its first try
}

type row struct {
	count     int
	remaining time.Duration
	place     string
}

// call is the settlement for the script.
func (s *settlement) call(l *Locks) scriptCall {
	number := any(0)
	if s.attempt != nil {
		number = s.attempt
	}
	call := releaseScript.newCall(1+3*len(s.mutexes), 5+3*len(s.mutexes))
	call = append(call, s.mutexes[0].tombstone(s.tombstone))
	for _, m := range s.mutexes {
		call = append(call, m.keys...)
	}
	call = append(call, l.boxed, s.who, number, s.tombstoneFor.Milliseconds(), claimLife.Milliseconds())
	for _, r := range s.rows {
		call = append(call, r.count, r.remaining.Milliseconds(), r.place)
	}
	return call
}

// unlock is release for a caller that Close does not know of yet.
func (l *Locks) unlock(ctx context.Context, holds []*Hold) error {
	if err := l.enter(); err != nil {
		for _, h := range holds {
			l.abandon(h)
		}
		return err
	}
	defer l.calls.Done()
	return l.release(ctx, holds)
}

// release gives holds of one owner and one place back, in one trip. Holds that have been unlocked before
// are passed over. It returns ErrLost where one was no longer ours.
func (l *Locks) release(ctx context.Context, holds []*Hold) error {
	if len(holds) == 0 {
		return nil
	}
	for _, h := range holds {
		h.cancel(context.Canceled) // work under them must not go on while the release is on its way
	}
	ctx, until := context.WithoutCancel(ctx), time.Now().Add(releaseBound)
	tenants := l.tenantsOf(holds)
	for _, t := range tenants {
		defer l.retire(t)
	}
	for i, t := range tenants {
		if err := t.beginBy(until); err != nil {
			for _, begun := range tenants[:i] {
				begun.end()
			}
			// Somebody of the same owner is stuck. To speak without the turn could take its hold away.
			for _, h := range holds {
				l.abandon(h)
			}
			return failed("release", holds[0].mutex.name, errors.Join(ErrNoAnswer, err))
		}
		defer t.end()
	}

	s, lost := l.settle(tenants, holds)
	if s == nil {
		return nil // all unlocked before
	}
	call := s.call(l)
	answer, err := l.trip(ctx, until, nil, func(ctx context.Context) (any, error) {
		return l.eval(ctx, releaseScript, s.attempt, call)
	})
	var results []int64
	if err == nil {
		results, err = integers(answer, len(s.mutexes))
	}
	if err != nil {
		l.janitor.add(s)
		return failed("release", holds[0].mutex.name, err)
	}
	for i, result := range results {
		if result == releasedNotOurs && l.refused(s, tenants[i], holds) {
			lost = true
		}
	}
	if lost {
		return ErrLost
	}
	return nil
}

// tenantsOf returns the tenants of holds, each once, in the order of locks: so two who need several turns
// do not wait for each other.
func (l *Locks) tenantsOf(holds []*Hold) []*tenant {
	var tenants []*tenant
	for _, h := range holds {
		same := func(t *tenant) bool { return t.key.state == h.mutex.state }
		if !slices.ContainsFunc(tenants, same) {
			tenants = append(tenants, l.tenant(h.mutex, h.who))
		}
	}
	slices.SortFunc(tenants, func(a, b *tenant) int { return strings.Compare(a.key.state, b.key.state) })
	return tenants
}

// settle takes holds out of the books and returns what the server must be told, and whether a hold was
// lost already. A lost hold is told as well: the server may keep its lock a little longer than we trust
// it. The caller has the turn of every tenant.
func (l *Locks) settle(tenants []*tenant, holds []*Hold) (s *settlement, lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	var ghosts map[int64]bool
	var lease time.Duration
	news := false
	for _, h := range holds {
		if h.unlocked {
			continue
		}
		h.unlocked, news = true, true
		lost = lost || h.lost
		lease = max(lease, h.lease)
		if ghost := h.grant.ghost; ghost != 0 {
			if ghosts == nil {
				ghosts = make(map[int64]bool)
			}
			ghosts[ghost] = true
		}
		l.drop(h)
	}
	if !news {
		return nil, false
	}
	s = &settlement{who: holds[0].who.id, attempt: l.attempt(), until: now.Add(lease)}
	for _, t := range tenants {
		s.mutexes = append(s.mutexes, t.mutex)
		s.rows = append(s.rows, row{count: t.live(), remaining: t.remaining(now), place: placeStay})
	}
	l.bury(s, ghosts, 2*lease)
	return s, lost
}

// bury has tombstones written for attempts that took what is being released, where the client has sent
// them more than once: a copy could arrive later than the release. The first comes with the release.
// Without a copy no tombstone is written, for it would cost every release a key.
func (l *Locks) bury(s *settlement, ghosts map[int64]bool, life time.Duration) {
	for ghost := range ghosts {
		if s.tombstone == 0 {
			s.tombstone, s.tombstoneFor = ghost, life
			continue
		}
		l.janitor.add(&settlement{
			mutexes: s.mutexes[:1], rows: []row{{place: placeStay}},
			tombstone: ghost, tombstoneFor: life, until: time.Now().Add(life),
		})
	}
}

// refused deals with a lock that the server says is not ours. It tells whether that is a loss. If the
// client has sent the release more than once, the first copy may have done it: then our own clock says
// whether the lock was still ours.
func (l *Locks) refused(s *settlement, t *tenant, holds []*Hold) bool {
	l.mu.Lock()
	g := t.grant
	trusted := true
	for _, h := range holds {
		if h.mutex.state == t.key.state && !time.Now().Before(h.deadline) {
			trusted = false
		}
	}
	l.mu.Unlock()
	if s.attempt.sent.Load() > 1 && trusted {
		return false
	}
	if g != nil {
		l.loseGrant(g)
	}
	return true
}
