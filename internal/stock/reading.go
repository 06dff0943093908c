package stock

import (
	"context"
	"time"
)

const (
	mostReads = 8                // of callers at once; a store has more connections, and the others are for what writes
	readFor   = 15 * time.Second // at most, where a caller's context has no end
)

// reading waits until a caller may read, and returns the context to do it in: it keeps the caller's deadline, but does not end
// when the caller leaves. A statement that is cancelled costs its connection, and whoever hangs up again and again would
// have all of them made anew.
func (s *Service) reading(ctx context.Context) (read context.Context, done func(), err error) {
	select {
	case s.reads <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, unavailable(context.Cause(ctx), "wait to read")
	}
	deadline := time.Now().Add(readFor)
	if of, ok := ctx.Deadline(); ok {
		deadline = of
	}
	read, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	return read, func() {
		cancel()
		<-s.reads
	}, nil
}
