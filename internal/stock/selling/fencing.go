package selling

import (
	"context"
	"errors"

	"inventory/internal/locking"
	"inventory/internal/stock"
)

// fenceOf returns the fence of a hold; the zero Fence for no hold.
func fenceOf(hold *locking.Hold) stock.Fence {
	if hold == nil || hold.Context().Err() != nil { // a lost lock proves nothing
		return stock.Fence{}
	}
	return stock.Fence{Token: hold.Token(), Owner: hold.Owner()}
}

func fencesOf(holds map[int]*locking.Hold) map[int]stock.Fence {
	fences := make(map[int]stock.Fence, len(holds))
	for segment, hold := range holds {
		fences[segment] = fenceOf(hold)
	}
	return fences
}

// writeFenced writes under the fences of the holds, one for each segment that is locked. A row that refuses its fence has
// seen a later holder, or a Redis whose clock was ahead of this one. Then it writes once more with tokens above the rows',
// which Redis gives only to a process that still holds the locks. If Redis refuses, another process has held a lock since:
// it writes without fences, and the guard alone decides.
func (w *worker) writeFenced(ctx context.Context, holds map[int]*locking.Hold, write func(map[int]stock.Fence) error) error {
	err := write(fencesOf(holds))
	var refused *stock.FencedError
	if !errors.As(err, &refused) {
		return err
	}
	w.service.observer.FencedOut()
	if w.raiseTokens(ctx, holds, refused) {
		if err = write(fencesOf(holds)); !errors.Is(err, stock.ErrFenced) {
			return err
		}
	}
	w.lock.release()
	return write(nil)
}

// raiseTokens gets tokens above those of the rows that refused, within lockWait. It reports false if a hold is lost or
// Redis does not answer.
func (w *worker) raiseTokens(ctx context.Context, holds map[int]*locking.Hold, refused *stock.FencedError) bool {
	if !w.service.breaker.closed() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	for segment, token := range refused.Tokens {
		if _, err := holds[segment].TokenAbove(ctx, token); err != nil {
			return false
		}
	}
	return true
}
