package locking

import (
	"context"
	"errors"
	"strings"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

func (h *singleHold) tokenAbove(ctx context.Context, n int64) (int64, error) {
	return h.raise(ctx, func() scripts.Call { return h.lock.kind.raising(h.grant, n) })
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
