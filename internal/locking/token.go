package locking

import (
	"context"
	"fmt"
	"time"
)

// maxToken bounds tokens: scripts count in doubles, which are exact up to here.
const maxToken = 1<<53 - 1

// TokenAbove returns a token of this hold that is greater than n, and so greater than the one it had, if n is
// not less. It heals a guard that has seen a token from a time when the server's clock ran ahead, or before a
// failover: such a guard refuses everybody until the clock has caught up. Only who still holds the lock gets
// one; for anybody else it is ErrLost. The hold's Token and those of its owner's other holds change with it.
// n may be up to 2^53 - 2.
func (h *Hold) TokenAbove(ctx context.Context, n int64) (int64, error) {
	if h.locks == nil && h.red == nil || n < 0 || n >= maxToken {
		return 0, fmt.Errorf("%w: no token above %d for this hold", ErrInvalid, n)
	}
	if h.red != nil {
		return h.red.tokenAbove(ctx, n)
	}
	return h.raise(ctx, func() errand { return h.lock.kind.raising(h.grant, n) })
}

// raise has the server give the hold another token, by an errand that is made under Locks.mu.
func (h *Hold) raise(ctx context.Context, prepare func() errand) (int64, error) {
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
	g := h.grant
	g.tenure.spend()
	errand := prepare()
	l.mu.Unlock()
	answer, err := l.trip(ctx, time.Now().Add(releaseBound), l.closing, errand, &attempt{})
	if err != nil {
		return 0, failed("raise the token of", h.lock.name, err)
	}
	text, ok := answer.(string)
	if !ok {
		l.loseGrant(g)
		return 0, ErrLost
	}
	token, err := tokenOf(text)
	if err != nil {
		return 0, failed("raise the token of", h.lock.name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	g.token = max(g.token, token)
	if len(g.holds) > 0 { // else the tenure may be another's
		g.tenure.first = max(g.tenure.first, token)
	}
	return g.token, nil
}

// spend throws the tokens in reserve away: from now on they may be below one that the server has given.
func (t *tenure) spend() { t.next, t.last = 0, -1 }
