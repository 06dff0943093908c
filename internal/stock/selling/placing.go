package selling

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"inventory/internal/stock"
	"inventory/internal/turns"
)

// Orders of several SKUs have very different sizes. Each line costs the same time, and an order locks the rows of all its
// lines until its end. So each size has its own places, and the larger ones leave time for other orders.
const (
	smallOrder  = 10  // lines; these orders have as many places as the store wants
	mediumOrder = 100 // lines; these have as many places, and use them at most half of the time
	// The others, up to MaxLines, have one place, and use it at most a quarter of the time.
	mediumRest     = 1
	largeRest      = 3
	defaultPlacing = 4               // places, if the configuration does not say
	turnWait       = 4 * time.Second // for a place
)

// placing is where orders of several SKUs wait until they may be placed.
type placing struct {
	service              *Service
	small, medium, large *turns.Turns
	last                 *atomic.Int64 // when the last small order came, in nanoseconds
}

func (s *Service) newPlacing() placing {
	p := placing{service: s, last: new(atomic.Int64)}
	config := turns.Config{Places: s.mostPlacing, Waiting: queueLimit, Patience: turnWait}
	p.small = turns.New(config)
	config.Rest = p.rest(mediumRest)
	p.medium = turns.New(config)
	config.Places, config.Rest = 1, p.rest(largeRest)
	p.large = turns.New(config)
	return p
}

// rest leaves the rows to smaller orders, if there are any, for a multiple of the time that the last order took.
func (p placing) rest(times int) func(int, time.Duration) time.Duration {
	return func(_ int, took time.Duration) time.Duration {
		if !p.others() {
			return 0
		}
		return time.Duration(times) * took
	}
}

// enter waits for the turn of an order.
func (p placing) enter(ctx context.Context, order stock.MultiOrder) (leave func(), err error) {
	lines := len(order.Lines)
	size := p.large
	switch {
	case lines <= smallOrder:
		size = p.small
		p.last.Store(time.Now().UnixNano())
	case lines <= mediumOrder:
		size = p.medium
	}
	leave, err = size.Enter(ctx, order.Caller, lines)
	switch {
	case errors.Is(err, turns.ErrFull), errors.Is(err, turns.ErrLate), errors.Is(err, context.DeadlineExceeded):
		return nil, p.service.overloaded
	case err != nil:
		return nil, stock.Unavailable(stock.Unwritten(err), "wait to place the order")
	default:
		return leave, nil
	}
}

// others reports whether there are smaller orders.
func (p placing) others() bool {
	p.service.workers.RLock()
	defer p.service.workers.RUnlock()
	return len(p.service.workers.sellers) > 0 || time.Since(time.Unix(0, p.last.Load())) < workerIdle
}
