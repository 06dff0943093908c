package sqlite

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// turns lets one transaction write after another, first come, first served. database/sql gives a free connection to
// any caller that waits: with many writers, some waited far longer than the others, up to the end of their request.
type turns struct {
	taken           chan struct{} // holds the turn that is taken; goroutines that wait to send are served in their order
	waits, waitedNs atomic.Int64
}

func newTurns() *turns { return &turns{taken: make(chan struct{}, 1)} }

// take waits for a turn, which the caller has to give back.
func (t *turns) take(ctx context.Context) error {
	_, err := t.takeUnless(ctx, nil)
	return err
}

// takeUnless is take for a caller that another one may serve meanwhile: then there is nothing to give back.
func (t *turns) takeUnless(ctx context.Context, served <-chan struct{}) (taken bool, err error) {
	select {
	case t.taken <- struct{}{}:
		return true, nil
	default:
	}
	start := time.Now()
	defer func() {
		t.waits.Add(1)
		t.waitedNs.Add(int64(time.Since(start)))
	}()
	select {
	case t.taken <- struct{}{}:
		return true, nil
	case <-served:
		return false, nil
	case <-ctx.Done():
		return false, fmt.Errorf("wait to write: %w", ctx.Err())
	}
}

func (t *turns) giveBack() { <-t.taken }
