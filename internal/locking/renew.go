package locking

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

// Leases are renewed by the watchdog, every third of the lease, for all holds without a fixed lease.

// rest is a pause without an end.
const rest = time.Duration(math.MaxInt64)

// repeat does something until stop, and anew when a pause is over or hurry says so. The first pause is given. The next ones are
// what it returns, and count from its beginning.
func (l *Locks) repeat(pause time.Duration, hurry <-chan struct{}, do func() (pause time.Duration)) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-hurry:
		case <-l.stop:
			return
		}
		start := time.Now()
		pause = do()
		timer.Reset(max(pause-time.Since(start), time.Millisecond))
	}
}

// watch renews what this process holds, every third of the lease, until stop. After a failure it tries again much
// sooner, so that a short outage costs no lock. Each hold ends when its own deadline comes.
func (l *Locks) watch() {
	period := policy.AfterRenewal(l.lease, true)
	l.repeat(period, l.hurry, func() time.Duration { return policy.AfterRenewal(l.lease, l.renewDue(period)) })
}

// renewDue renews all holds that the watchdog renews, and reports whether the server answered for all of them.
func (l *Locks) renewDue(bound time.Duration) bool {
	return l.renew(l.due(), bound)
}

// due returns the grants that must be renewed: those with a hold whose lease is not fixed and whose context lives. The oldest
// comes first.
func (l *Locks) due() []*grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	var due []*grant
	for _, g := range l.grants {
		if slices.ContainsFunc(g.holds, (*singleHold).wantsRenewalLocked) {
			due = append(due, g)
		}
	}
	slices.SortFunc(due, func(a, b *grant) int {
		return cmp.Or(cmp.Compare(a.token, b.token), cmp.Compare(a.lock.stateKey, b.lock.stateKey), cmp.Compare(a.id, b.id))
	})
	return due
}

// renew renews those holds of grants that want it, in one round trip for each batch, which takes no longer than bound. It
// reports whether the server answered for all grants.
func (l *Locks) renew(grants []*grant, bound time.Duration) bool {
	var failed atomic.Bool
	server.EachBatch(l.server, grants, func(g *grant) string { return g.lock.stateKey }, func(batch []*grant) bool {
		start := time.Now()
		answers, answered := l.server.RunAll(context.Background(), start.Add(bound), l.renewals(batch))
		all := true
		for i, answer := range answers {
			said, err := answer.Int64()
			switch {
			case err != nil:
				all = false
			case said == scripts.NotOurs:
				l.loseGrant(batch[i])
			default:
				l.renewed(batch[i], start)
			}
		}
		l.observer.Renewed(len(batch), time.Since(start), all)
		if !all {
			failed.Store(true)
		}
		return answered
	})
	return !failed.Load()
}

// renewals returns the script calls. A grant may have ended meanwhile: its call changes nothing, because no other grant has
// its id.
func (l *Locks) renewals(grants []*grant) []scripts.Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := make([]scripts.Call, len(grants))
	for i, g := range grants {
		lease := time.Duration(0)
		for _, h := range g.holds {
			if h.wantsRenewalLocked() {
				lease = max(lease, h.lease)
			}
		}
		calls[i] = g.lock.kind.renewal(g, lease)
	}
	return calls
}

// renewed extends the deadlines of a grant's holds, by their leases from the start of the call on. It never shortens one. The call
// knew nothing of a hold that came since, whose lease may be longer.
func (l *Locks) renewed(g *grant, start time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range g.holds {
		if !h.wantsRenewalLocked() || h.since.After(start) {
			continue
		}
		if deadline := start.Add(trust(h.lease)); deadline.After(h.deadline) {
			h.setDeadlineLocked(deadline)
		}
	}
}

func (h *singleHold) tokenAbove(ctx context.Context, n int64) (int64, error) {
	return h.raise(ctx, func() scripts.Call { return h.grant.lock.kind.raising(h.grant, n) })
}

// raise has the server give the hold another token, by a script call that is prepared under Locks.mu.
func (h *singleHold) raise(ctx context.Context, prepare func() scripts.Call) (int64, error) {
	l := h.locks
	if err := l.enter(); err != nil {
		return 0, err
	}
	defer l.calls.Done()
	l.mu.Lock()
	if h.lost || h.unlocked {
		l.mu.Unlock()
		return 0, ErrLost
	}
	raised := []*grant{h.grant}
	if f, ok := h.grant.lock.kind.(*fifo); ok && f.side == scripts.Write {
		if reader := l.grantOfLocked(f.otherKey, h.grant.owner); reader != nil { // it must not stay below
			raised = append(raised, reader)
		}
	}
	for _, g := range raised {
		g.dropReserveLocked() // it may be below the new token
	}
	call := prepare()
	l.mu.Unlock()
	answer, err := l.server.Run(ctx, time.Now().Add(policy.Release), l.closing, call, &scripts.Attempt{})
	tokens, err := raisedTokens(answer, err)
	l.mu.Lock()
	for i, token := range tokens[:min(len(tokens), len(raised))] {
		raised[i].token = max(raised[i].token, token)
	}
	token := h.grant.token
	l.mu.Unlock()
	if errors.Is(err, ErrLost) {
		l.loseGrant(h.grant)
		return 0, err
	}
	if err != nil {
		return 0, failed("raise the token of", h.grant.lock.name, err)
	}
	return token, nil
}

// raisedTokens reads the answer of a script that raises a token: that of the holder, and that of its owner as a reader.
func raisedTokens(answer any, err error) ([]int64, error) {
	if err != nil {
		return nil, err
	}
	text, ok := answer.(string)
	if !ok {
		return nil, ErrLost
	}
	var tokens []int64
	for word := range strings.FieldsSeq(text) {
		token, err := scripts.ReadToken(word)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, token)
	}
	if len(tokens) == 0 {
		return nil, scripts.Strange(answer)
	}
	return tokens, nil
}
