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

// A settlement tells the server how often holders have some locks of one place and kind.
type settlement struct {
	locks        []*lock
	rows         []row    // for each lock
	attempt      *attempt // nil where no count is settled
	tombstone    int64    // the attempt to cancel
	tombstoneFor time.Duration

	until time.Time     // the janitor repeats it until then; zero: it tries once
	tried func()        // the janitor calls it after its first try
	done  chan struct{} // the janitor closes it after its first try

	firstLock [1]*lock // where the slices begin
	firstRow  [1]row
}

type row struct {
	id      any // of the holder, a string
	count   int
	longest time.Duration
	place   string
}

// unlock is release for a caller that Close does not know of yet.
func (l *Locks) unlock(ctx context.Context, holds []*Hold) error {
	if err := l.enter(); err != nil {
		for _, h := range l.unlockOnce(holds) {
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
	if holds = l.unlockOnce(holds); len(holds) == 0 {
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
			return failed("release", holds[0].lock.name, errors.Join(ErrNoAnswer, err))
		}
		defer t.end()
	}

	if len(holds) == 1 {
		if done, err := l.pass(ctx, until, holds[0]); done {
			return err
		}
	}
	s, ends, lost := l.settle(tenants, holds)
	defer l.endTenures(s.locks, ends)
	errand := s.locks[0].kind.settling(s)
	errand.eval = (*Locks).evalPatiently
	answer, err := l.trip(ctx, until, nil, errand, s.attempt)
	var results []int64
	if err == nil {
		results, err = integers(answer, len(s.locks))
	}
	if err != nil {
		l.janitor.add(s)
		return failed("release", holds[0].lock.name, err)
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

// endTenures lets those in line try for the locks that have been given back.
func (l *Locks) endTenures(locks []*lock, ends []*tenure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, t := range ends {
		if t != nil {
			l.endTenure(locks[i], t)
		}
	}
}

// unlockOnce returns those of the holds that nobody has begun to unlock before.
func (l *Locks) unlockOnce(holds []*Hold) []*Hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(holds) == 1 && !holds[0].unlocked { // as it is nearly always
		holds[0].unlocked = true
		return holds
	}
	var mine []*Hold
	for _, h := range holds {
		if !h.unlocked {
			h.unlocked = true
			mine = append(mine, h)
		}
	}
	return mine
}

// tenantsOf returns the tenants of holds, each once, in the order of locks: so two who need several turns
// do not wait for each other.
func (l *Locks) tenantsOf(holds []*Hold) []*tenant {
	var tenants []*tenant
	for _, h := range holds {
		same := func(t *tenant) bool { return t.lock.state == h.lock.state }
		if !slices.ContainsFunc(tenants, same) {
			tenants = append(tenants, l.tenant(h.lock, h.who))
		}
	}
	slices.SortFunc(tenants, func(a, b *tenant) int { return strings.Compare(a.lock.state, b.lock.state) })
	return tenants
}

// settle takes holds out of the books and returns what the server must be told, the tenures that end with
// that, and whether a hold was lost already. A lost hold is told as well: the server may keep its lock a
// little longer than we trust it. The caller has the turn of every tenant.
func (l *Locks) settle(tenants []*tenant, holds []*Hold) (s *settlement, ends []*tenure, lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	ids := make([]any, len(tenants))
	ends = make([]*tenure, len(tenants))
	var ghosts []int64
	var lease time.Duration
	for _, h := range holds {
		if !h.lost {
			l.observer.Released(h.lock.kind.name(), now.Sub(h.since))
		}
		lost = lost || h.lost
		lease = max(lease, h.lease)
		t := h.grant.tenure
		if t.ghost != 0 && !slices.Contains(ghosts, t.ghost) {
			ghosts = append(ghosts, t.ghost)
		}
		l.drop(h)
		i := slices.IndexFunc(tenants, func(t *tenant) bool { return t.lock.state == h.lock.state })
		ids[i] = t.id
		if len(h.grant.holds) == 0 {
			ends[i] = t
		}
	}
	s = &settlement{attempt: l.attempt(), until: now.Add(lease)}
	s.locks, s.rows = s.firstLock[:0], s.firstRow[:0]
	for i, t := range tenants {
		s.locks = append(s.locks, t.lock)
		s.rows = append(s.rows, row{id: ids[i], count: t.liveAs(ids[i]), longest: t.longest(), place: placeStay})
	}
	l.bury(s, ghosts, 2*lease)
	return s, ends, lost
}

// bury has tombstones written for attempts that took what is being released, where the client has sent
// them more than once: a copy could arrive later than the release. The first comes with the release.
// Without a copy no tombstone is written, for it would cost every release a key.
func (l *Locks) bury(s *settlement, ghosts []int64, life time.Duration) {
	for _, ghost := range ghosts {
		if ghost == 0 {
			continue
		}
		if s.tombstone == 0 {
			s.tombstone, s.tombstoneFor = ghost, life
			continue
		}
		l.janitor.add(&settlement{
			locks: s.locks[:1], rows: []row{{place: placeStay}},
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
		if h.lock.state == t.lock.state && !time.Now().Before(h.deadline) {
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
