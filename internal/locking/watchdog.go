package locking

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// watch renews what this process holds, every third of the lease, until stop. After a failure it tries
// again much sooner, so that a short trouble costs no lock; each hold ends itself when its own deadline
// comes.
func (l *Locks) watch() {
	period := l.lease / 3
	timer := time.NewTimer(period)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-l.stop:
			return
		}
		start := time.Now()
		next := period
		if !l.renew(l.due(), period) {
			next = min(period/10, time.Second)
		}
		timer.Reset(max(next-time.Since(start), time.Millisecond))
	}
}

// due returns the grants that must be renewed: those with a hold whose lease is not fixed and whose
// context lives. After the context has ended a hold is renewed once more, for its owner may be on the
// way to Unlock, and then no longer.
func (l *Locks) due() []*grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	var due []*grant
	for _, st := range l.states {
		for g := range st.grants.all() {
			if slices.ContainsFunc(g.holds, (*Hold).wantsRenewalLocked) {
				due = append(due, g)
			}
		}
	}
	return due
}

// wantsRenewalLocked tells whether the watchdog renews a hold.
func (h *Hold) wantsRenewalLocked() bool { return !h.fixed && !h.outlived }

// renew puts off the expiry of grants by the watchdog's lease, and tells whether the server answered for
// all of them.
func (l *Locks) renew(due []*grant, bound time.Duration) bool {
	var failed atomic.Bool
	together(byNode(l, due, func(g *grant) string { return g.lock.stateKey }), func(due []*grant) {
		for chunk := range slices.Chunk(due, batch) {
			heard, whole := l.renewSome(chunk, l.lease, bound, (*Hold).wantsRenewalLocked)
			if !whole {
				failed.Store(true)
			}
			if !heard {
				return // the server is in trouble: do not spend a time-out on each chunk
			}
		}
	})
	return !failed.Load()
}

// What a renewal answers.
const (
	renewalGone     = 0
	renewalDone     = 1
	renewalOutdated = 2
)

// renewSome renews grants in one round trip, for the holds that want it. It tells whether the server answered at all, and
// whether it did for all of them.
func (l *Locks) renewSome(grants []*grant, lease, bound time.Duration, wants func(*Hold) bool) (heard, whole bool) {
	start := time.Now()
	errands, tokens := l.renewals(grants, lease)
	answers := l.pipeline(start.Add(bound), errands)
	whole = true
	for i, answer := range answers {
		said, err := answer.Int64()
		heard = heard || isAnswer(err)
		switch {
		case err != nil || said == renewalOutdated: // a later word about the grant came first
			whole = false
		case said == renewalGone:
			whole = l.denied(grants[i], tokens[i]) && whole
		default:
			l.renewed(grants[i], start.Add(trust(lease)), wants)
		}
	}
	l.observer.Renewed(len(grants), time.Since(start), whole)
	return heard, whole
}

// isAnswer tells whether the server has answered, if only to refuse.
func isAnswer(err error) bool {
	refused := redis.Error(nil)
	return err == nil || errors.As(err, &refused)
}

// renewals returns what the server is asked, and by which tokens. Of a grant that has ended meanwhile it is asked too: that changes nothing,
// for no other has had its name.
func (l *Locks) renewals(grants []*grant, lease time.Duration) (errands []errand, tokens []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	errands, tokens = make([]errand, len(grants)), make([]int64, len(grants))
	for i, g := range grants {
		errands[i], tokens[i] = g.lock.kind.renewal(g, lease), g.lease.first
	}
	return errands, tokens
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

// pipeline runs many script calls, in one bounded round trip for each node. Every answer has its own error.
func (l *Locks) pipeline(until time.Time, errands []errand) []*redis.Cmd {
	answers := make([]*redis.Cmd, len(errands))
	all := make([]int, len(errands))
	for i := range errands {
		all[i] = i
	}
	together(byNode(l, all, func(i int) string { return errands[i].key() }), func(some []int) {
		mine := make([]errand, len(some))
		for i, which := range some {
			mine[i] = errands[which]
		}
		came, err := bounded(l, context.Background(), until, nil, func(ctx context.Context) ([]*redis.Cmd, error) {
			return l.evalAll(ctx, mine), nil
		})
		for i, which := range some {
			if err == nil {
				answers[which] = came[i]
			} else {
				answers[which] = &redis.Cmd{}
				answers[which].SetErr(err)
			}
		}
	})
	return answers
}
