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

// raise has the server give the hold another token, by an errand that is made when it is the owner's turn.
func (h *Hold) raise(ctx context.Context, prepare func() errand) (int64, error) {
	l := h.locks
	if err := l.enter(); err != nil {
		return 0, err
	}
	defer l.calls.Done()
	t := l.tenant(h.lock, h.who)
	defer l.retire(t)
	if err := t.begin(ctx, l.closing); err != nil {
		return 0, err
	}
	defer t.end()
	return l.raise(ctx, h, prepare)
}

// raise is Hold.raise for who has the tenant's turn.
func (l *Locks) raise(ctx context.Context, h *Hold, prepare func() errand) (int64, error) {
	l.mu.Lock()
	if h.lost || h.unlocked {
		l.mu.Unlock()
		return 0, ErrLost
	}
	errand := prepare()
	l.mu.Unlock()
	answer, err := l.trip(ctx, time.Now().Add(releaseBound), l.closing, errand, &attempt{})
	if err != nil {
		return 0, failed("raise the token of", h.lock.name, err)
	}
	text, ok := answer.(string)
	if !ok {
		l.loseGrant(h.grant)
		return 0, ErrLost
	}
	token, err := tokenOf(text)
	if err != nil {
		return 0, failed("raise the token of", h.lock.name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h.grant.token = max(h.grant.token, token)
	h.grant.tenure.token = text
	h.grant.tenure.spend()
	return h.grant.token, nil
}

// spend throws the tokens in reserve away: they are no longer the highest.
func (t *tenure) spend() { t.next, t.last = 0, -1 }
