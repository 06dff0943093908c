package selling

import (
	"context"
	"errors"
	"time"

	"inventory/internal/stock"
)

// run serves batches until the worker has been idle for a while or the service stops. It ends
// with its seller.
func (w *worker) run() {
	for {
		if w.queue.length() == 0 {
			if w.idle() {
				return
			}
			continue
		}
		if !w.learnTerms() {
			continue
		}
		batch := w.queue.pop(min(batchSize(w.queue.length()), w.service.mostOrders))
		w.serve(batch)
		w.lock.offer()
	}
}

// idle waits for a request, and gives the lock back after lockLinger. It reports true when this goroutine must end: the
// worker has ended, or waits in another goroutine.
func (w *worker) idle() (ended bool) {
	if w.lock.hold != nil && w.service.waitFor(lockLinger, w.queue.arrived) {
		return false
	}
	w.lock.release()
	if w.unknownSKU {
		return retire(w.service, w.service.workers.sellers, w.sku, w.queue)
	}
	if w.service.waitFor(shortIdle, w.queue.arrived) {
		return false
	}
	w.service.workers.running.Go(w.rest)
	return true
}

// rest continues the wait in a new goroutine, whose stack is small. Writes have made the old stack several times larger than
// everything else that a worker holds, and with many SKUs most workers are idle.
func (w *worker) rest() {
	if w.service.waitFor(workerIdle-shortIdle, w.queue.arrived) || !retire(w.service, w.service.workers.sellers, w.sku, w.queue) {
		w.run()
	}
}

// learnTerms reads the SKU once, before the first batch: the queue has to know whether there is a buyer limit. If that fails,
// it refuses the requests that came before the read began. Later ones stay: the SKU may have been created since.
func (w *worker) learnTerms() (known bool) {
	if w.terms != nil {
		return true
	}
	ctx, cancel := context.WithTimeout(w.service.base, w.service.answerWithin)
	defer cancel()
	start := time.Now()
	err := w.read(ctx)
	if err != nil {
		for _, r := range w.queue.drain(func(r *request) bool { return !r.queued.After(start) }) {
			r.end(answer{err: err}, false) // joined requests may have come later
		}
	}
	return err == nil
}

// serve answers all requests of a batch.
func (w *worker) serve(batch []*request) {
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithDeadline(w.service.base, lastDeadline(batch))
	defer cancel()
	now := time.Now()
	for _, r := range batch {
		w.service.observer.Queued(now.Sub(r.queued))
	}
	w.termsFresh = false
	w.onNotification()
	rest, err := w.refuse(ctx, batch)
	if err == nil {
		rest, err = w.sell(ctx, rest)
	}
	refuseAll(rest, err)
}

// sell repeats three steps: choose a segment, lock it, write. It merges what no single segment can fill. It returns the
// requests that got no answer, and the error that they share.
func (w *worker) sell(ctx context.Context, pending []*request) ([]*request, error) {
	lockBy := time.Now().Add(lockWait)
	isRead := false // the levels were read for this batch
	w.expiries = 0
	for hop, layouts := 0, 0; len(pending) > 0; hop++ {
		var err error
		if segments := w.choose(pending); len(segments) > 0 && hop < maxHops {
			locks := w.lockRule.locks()
			w.ready = time.Now()
			w.seller.locking.Store(locks)
			if locks {
				w.lock.acquire(segments, lockBy)
			} else {
				w.lock.doWithout(segments[0])
			}
			pending, err = w.deduct(ctx, pending)
		} else if !isRead || w.levels == nil {
			isRead = true
			pending, err = w.reread(ctx, pending)
			hop = -1 // the new levels may show segments that are worth a try
		} else {
			pending, err = w.mergeFirst(ctx, pending, hop)
		}
		if errors.Is(err, stock.ErrLayout) && ctx.Err() == nil {
			layouts++
			w.levels = nil
			overtaken(ctx, layouts)
			continue
		}
		if err == nil && len(pending) > 0 {
			err = stock.Unwritten(context.Cause(ctx))
		}
		if err != nil {
			return pending, stock.Unavailable(err, "sell")
		}
	}
	return nil, nil
}

// reread reads the SKU again in the middle of a batch. If its terms have changed, it answers the requests that the new ones
// do not allow. It returns the other requests.
func (w *worker) reread(ctx context.Context, pending []*request) ([]*request, error) {
	before := *w.terms
	if err := w.read(ctx); err != nil || *w.terms == before {
		return pending, err
	}
	return w.refuseByTerms(ctx, pending)
}
