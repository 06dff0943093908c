package selling

import (
	"context"

	"inventory/internal/stock"
)

// mostReads is how many callers read at once. A store has more connections: the others are for what writes.
const mostReads = 8

// reading waits until a caller may read.
func (s *Service) reading(ctx context.Context) (done func(), err error) {
	select {
	case s.reads <- struct{}{}: // without a look at the caller, who may have left: the read finds out
		return func() { <-s.reads }, nil
	default:
	}
	select {
	case s.reads <- struct{}{}:
		return func() { <-s.reads }, nil
	case <-ctx.Done():
		return nil, stock.Unavailable(context.Cause(ctx), "wait to read")
	}
}
