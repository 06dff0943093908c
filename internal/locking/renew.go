package locking

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

// Leases are renewed by the watchdog, every third of the lease, for all holds without a fixed lease.

// watch renews what this process holds, every third of the lease, until stop. After a failure it tries again much
// sooner, so that a short outage costs no lock. Each hold ends when its own deadline comes.
func (l *Locks) watch() {
	period := policy.AfterRenewal(l.lease, true)
	(&server.Chore[*grant]{
		Server: l.server, Stop: l.stop, Period: period, Due: l.due, Key: (*grant).key,
		Round: func(line *server.Line, due []*grant) time.Duration {
			return policy.AfterRenewal(l.lease, l.renew(line, due, period))
		},
	}).Run(l.hurry)
}

// due returns the grants that must be renewed, the oldest first: those with a hold whose lease is not fixed and whose context lives.
func (l *Locks) due() []*grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	var due []*grant
	for _, g := range l.grants {
		if slices.ContainsFunc(g.holds, (*singleHold).wantsRenewalLocked) {
			due = append(due, g)
		}
	}
	slices.SortFunc(due, func(a, b *grant) int { // with the mutex: a token may be raised meanwhile
		return cmp.Or(cmp.Compare(a.token, b.token), cmp.Compare(a.lock.stateKey, b.lock.stateKey), cmp.Compare(a.id.(string), b.id.(string)))
	})
	return due
}

// renew renews those holds of a node's grants that want it, in their order, in round trips that take no longer than bound. It reports
// whether the server answered for all grants.
func (l *Locks) renew(line *server.Line, grants []*grant, bound time.Duration) bool {
	all := true
	for trip := range server.Trips(line, grants, bound, l.renewal) {
		good := true
		for i, answer := range trip.Answers {
			said, err := answer.Int64()
			switch {
			case err != nil:
				good = false
			case said == scripts.NotOurs:
				l.loseGrant(trip.Work[i])
			case said == scripts.Begun: // its hold knows until when it lives
			default:
				l.renewed(trip.Work[i], trip.Start)
			}
		}
		l.observer.Renewed(len(trip.Work), time.Since(trip.Start), good)
		all = all && good
	}
	return all
}

// renewAt renews what the node of a grant has, in the caller's time.
func (l *Locks) renewAt(g *grant, bound time.Duration) {
	node := l.server.NodeOf(g.key())
	line := l.server.Line(node).Until(l.closing)
	defer line.Close()
	l.renew(line, server.ByNode(l.server, l.due(), (*grant).key)[node], bound)
}

// renewal returns the script call. A grant may have ended meanwhile: its call changes nothing, because no other grant has its id.
func (l *Locks) renewal(g *grant) scripts.Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	lease, purpose := time.Duration(0), scripts.ForWaiting
	for _, h := range g.holds {
		if !h.wantsRenewalLocked() {
			continue
		}
		lease = max(lease, h.lease)
		if !h.waits || h.late {
			purpose = scripts.ForHold
		}
	}
	return g.renewal(lease, purpose)
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
