package locking

import (
	"context"
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
	for _, b := range l.books {
		for t := range b.tenants.all() {
			if t.grant != nil && slices.ContainsFunc(t.grant.holds, (*Hold).wantsRenewal) {
				due = append(due, t.grant)
			}
		}
	}
	return due
}

// wantsRenewal tells whether the watchdog renews a hold. l.mu is held.
func (h *Hold) wantsRenewal() bool { return !h.fixed && !h.outlived }

// renew puts off the expiry of grants by the watchdog's lease, and tells whether the server answered for
// all of them.
func (l *Locks) renew(due []*grant, bound time.Duration) bool {
	var failed atomic.Bool
	together(byNode(l, due, func(g *grant) string { return g.lock.state }), func(due []*grant) {
		for chunk := range slices.Chunk(due, batch) {
			if !l.renewSome(chunk, l.lease, bound, (*Hold).wantsRenewal) {
				failed.Store(true) // the server is in trouble: do not spend a time-out on each chunk
				return
			}
		}
	})
	return !failed.Load()
}

// renewSome renews grants in one trip, for the holds that want it.
func (l *Locks) renewSome(grants []*grant, lease, bound time.Duration, wants func(*Hold) bool) bool {
	errands := make([]errand, len(grants))
	asked := make([]tenure, len(grants))
	l.mu.Lock()
	for i, g := range grants {
		errands[i], asked[i] = g.lock.kind.renewal(g, lease), *g.tenure
	}
	l.mu.Unlock()
	start := time.Now()
	answers := l.pipeline(start.Add(bound), errands)
	whole := true
	for i, answer := range answers {
		held, err := answer.Int64()
		switch {
		case err != nil:
			whole = false
		case held == 0 && l.renamed(grants[i], &asked[i]):
			whole = false
		case held == 0:
			l.loseGrant(grants[i])
		default:
			l.renewed(grants[i], start.Add(trust(lease)), wants)
		}
	}
	l.observer.Renewed(len(grants), time.Since(start), whole)
	return whole
}

// renamed tells whether the server may have come to know a grant by another id or token since it was asked
// about it: then its answer means nothing. While the owner talks, we cannot know.
func (l *Locks) renamed(g *grant, asked *tenure) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.books[g.lock.state]; b != nil {
		if t := b.tenants.of(g.who); t != nil && len(t.turn) > 0 {
			return true
		}
	}
	return g.tenure.id != asked.id || g.tenure.token != asked.token
}

// renewed puts off the deadlines of the holds of a grant.
func (l *Locks) renewed(g *grant, deadline time.Time, wants func(*Hold) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range g.holds {
		if wants(h) {
			h.extend(deadline)
			h.outlived = h.ctx.Err() != nil
		}
	}
}

// pipeline runs many errands, in one bounded trip for each node. Every answer has its own error.
func (l *Locks) pipeline(until time.Time, errands []errand) []*redis.Cmd {
	answers := make([]*redis.Cmd, len(errands))
	all := make([]int, len(errands))
	for i := range errands {
		all[i] = i
	}
	together(byNode(l, all, func(i int) string { return errands[i].call[firstKey].(string) }), func(some []int) {
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
