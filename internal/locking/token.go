package locking

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// maxToken bounds what a token is raised to: scripts count in doubles, which are exact up to here. Tokens that are minted
// above it grow by two.
const maxToken = 1<<53 - 1

// TokenAbove returns a token of this hold that is greater than n: the one that it has, or a new one. It heals a guard
// that has seen a token from a time when the server's clock ran ahead, or before a failover. Such a guard would refuse
// every holder until the clock has caught up. Only an owner that still holds the lock gets one; any other gets ErrLost.
// The hold's Token and those of its owner's other holds of the lock change with it. n may be up to 2^53 - 2.
func (h *Hold) TokenAbove(ctx context.Context, n int64) (int64, error) {
	if h.locks == nil && h.red == nil || n < 0 || n >= maxToken {
		return 0, fmt.Errorf("%w: no token above %d for this hold", ErrInvalid, n)
	}
	if h.red != nil {
		return h.red.tokenAbove(ctx, n)
	}
	return h.raise(ctx, func() scripts.Call { return h.lock.kind.raising(h.grant, n) })
}

// raise has the server give the hold another token, by a script call that is prepared under Locks.mu.
func (h *Hold) raise(ctx context.Context, prepare func() scripts.Call) (int64, error) {
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
	if f, ok := h.lock.kind.(*fifo); ok && f.side == scripts.Write {
		if reader := l.grantOfLocked(f.otherKey, h.owner); reader != nil { // it must not stay below
			raised = append(raised, reader)
		}
	}
	for _, g := range raised {
		g.lease.raiseBeginsLocked()
	}
	call := prepare()
	l.mu.Unlock()
	answer, err := l.server.Run(ctx, time.Now().Add(policy.Release), l.closing, call, &scripts.Attempt{})
	tokens, err := raisedTokens(answer, err)
	l.mu.Lock()
	for i, g := range raised {
		token := int64(0)
		if i < len(tokens) {
			token = tokens[i]
		}
		g.token = max(g.token, token)
		if !g.handedOff { // otherwise the lease is another owner's
			g.lease.raiseEndsLocked(token)
		}
	}
	token := h.grant.token
	l.mu.Unlock()
	if errors.Is(err, ErrLost) {
		l.loseGrant(h.grant)
		return 0, err
	}
	if err != nil {
		return 0, failed("raise the token of", h.lock.name, err)
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
