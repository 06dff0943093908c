package selling

import (
	"context"
	"errors"
	"time"

	"inventory/internal/stock"
	"inventory/internal/turns"
)

// Orders of several SKUs share a few places. Callers take turns by the lines that they order: each line costs the same time, and
// an order locks the rows of all its lines until its end. So a caller with large orders slows down itself.
const (
	defaultPlacing = 4               // places, if the configuration does not say
	turnWait       = 4 * time.Second // for a place
)

func newPlacing(places int) *turns.Turns {
	return turns.New(turns.Config{Places: places, Waiting: queueLimit, Patience: turnWait})
}

// enterPlacing waits for the turn of an order of several SKUs.
func (s *Service) enterPlacing(ctx context.Context, order stock.MultiOrder) (leave func(), err error) {
	leave, err = s.placing.Enter(ctx, order.Caller, len(order.Lines))
	switch {
	case errors.Is(err, turns.ErrFull), errors.Is(err, turns.ErrLate), errors.Is(err, context.DeadlineExceeded):
		return nil, s.overloaded
	case err != nil:
		return nil, stock.Unavailable(stock.Unwritten(err), "wait to place the order")
	default:
		return leave, nil
	}
}
