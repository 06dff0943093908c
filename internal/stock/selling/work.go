package selling

import (
	"context"
	"errors"
	"time"

	"inventory/internal/stock"
)

// run serves batches until the worker has been idle for a while or the service stops. It is the seller's first worker, and
// ends with it.
func (w *worker) run() {
	for {
		w.coalescer.wait(w.queue)
		if w.queue.length() == 0 {
			if w.idle() {
				return
			}
			continue
		}
		if !w.learnTerms() {
			continue
		}
		batch := w.queue.pop(1, min(batchSize(w.queue.length()), w.service.mostOrders))
		start := time.Now()
		w.serve(batch)
		w.coalescer.wrote(len(batch), time.Since(start))
		w.lock.offer()
	}
}

// idle waits for a request. It gives the lock back soon. It reports true when this goroutine is to end: the worker has
// ended, or rests in another one.
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

// rest waits on, in a goroutine whose stack is small. Writing has made that of the other one several times as large as all
// else that a worker holds, and most of the workers of many SKUs rest.
func (w *worker) rest() {
	if w.service.waitFor(workerIdle-shortIdle, w.queue.arrived) || !retire(w.service, w.service.workers.sellers, w.sku, w.queue) {
		w.run()
	}
}

// learnTerms reads the SKU once, before the first batch: the queue has to know whether buyers are counted. If it fails, it refuses
// those who came before it began to read. The SKU may have been created since.
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
			r.end(answer{err: err}, false) // whoever has joined it may have come later
		}
	}
	return err == nil
}

// serve answers every request of a batch.
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

// sell chooses a segment, locks it and writes, again and again, and merges what no single segment can fill. It returns the
// requests that got no answer, and the error they all share.
func (w *worker) sell(ctx context.Context, pending []*request) ([]*request, error) {
	lockBy := time.Now().Add(lockWait)
	isRead := false // whether levels were read for this batch
	w.expiries = 0
	for hop, layouts := 0, 0; len(pending) > 0; hop++ {
		var err error
		if segments := w.choose(pending); len(segments) > 0 && hop < maxHops {
			locks := w.contention.locks()
			w.seller.locking.Store(locks)
			if locks {
				w.lock.acquire(segments, lockBy)
			} else {
				w.lock.doWithout(segments[0])
			}
			pending, err = w.deduct(ctx, pending)
		} else if !isRead || w.levels == nil {
			isRead = true
			pending, err = w.readAnew(ctx, pending)
			hop = -1 // the levels may show segments worth another try
		} else {
			pending, err = w.mergeFirst(ctx, pending, hop)
		}
		if errors.Is(err, stock.ErrLayout) && layouts < maxLayouts {
			layouts++
			w.levels = nil
			continue
		}
		if err == nil && len(pending) > 0 {
			err = context.Cause(ctx)
		}
		if err != nil {
			return pending, stock.Unavailable(err, "sell")
		}
	}
	return nil, nil
}

// readAnew reads the SKU amid a batch. Where its terms are others than those that the batch was held to, it answers the
// requests that they do not allow, and returns the others.
func (w *worker) readAnew(ctx context.Context, pending []*request) ([]*request, error) {
	before := *w.terms
	if err := w.read(ctx); err != nil || *w.terms == before {
		return pending, err
	}
	return w.refuseByTerms(ctx, pending)
}
