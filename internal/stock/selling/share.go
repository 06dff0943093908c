package selling

import (
	"time"

	"inventory/internal/stock"
)

// sharedOrders is how many orders of a SKU may wait for its next batch to share a write. Of a larger batch half of what a statement
// costs are its own rows.
const sharedOrders = 16

// step has the next batch written. A small one, whose orders need nothing but to be written, waits for a write that batches of
// different SKUs share. No goroutine waits with it: the writer takes its orders, answers them, and makes the next step. So an order
// wakes nobody but its own caller. Everything else needs a goroutine.
func (w *worker) step() {
	if !w.shares() || !w.service.sharer.Share(w.sku, w.terms.PerBuyerLimit > 0, w) {
		go w.run()
	}
}

// shares reports whether the next batch may be written as it comes.
func (w *worker) shares() bool {
	w.onNotification()
	return w.service.sharer != nil && w.terms != nil && w.levels != nil && w.lock.hold == nil && !w.lockRule.locks() &&
		w.queue.length() <= sharedOrders && !w.isSoldOut()
}

// Take implements [stock.SharedBatch].
func (w *worker) Take(most int) (batch stock.Batch, there bool) {
	if !w.shares() {
		go w.run()
		return stock.Batch{}, false
	}
	requests := w.queue.pop(min(most, sharedOrders, w.service.mostOrders))
	segment, fits := w.segmentForAll(requests)
	if !fits {
		go w.serveFirst(requests)
		return stock.Batch{}, false
	}
	if w.shared = stillWaiting(requests); len(w.shared) == 0 {
		if !w.leave() {
			go w.run()
		}
		return stock.Batch{}, false
	}
	w.ready = time.Now()
	for _, r := range w.shared {
		w.service.observer.Queued(w.ready.Sub(r.queued))
	}
	w.locking.Store(false)
	w.lock.doWithout(segment)
	return w.batch(w.shared), true
}

// segmentForAll returns a segment that can fill all requests, as far as is known. It reports false if there is none, or if one of the
// requests needs more than to be written.
func (w *worker) segmentForAll(requests []*request) (segment int, fits bool) {
	units := int64(0)
	for _, r := range requests {
		if r.order.Own || w.service.refuses(*w.terms, w.sku, r.order) != nil {
			return 0, false
		}
		units += r.order.Quantity
	}
	last := w.lock.segment
	if last >= 0 && last < len(w.levels) && w.levels[last] >= units && !w.skipped {
		return last, true
	}
	if found := w.shuffle(w.segmentsWith(units)); len(found) > 0 {
		return found[0], true
	}
	return 0, false
}

// serveFirst serves a batch that has left the queue, and then the queue.
func (w *worker) serveFirst(requests []*request) {
	w.serve(requests)
	w.run()
}

// Written implements [stock.SharedBatch].
func (w *worker) Written(result stock.BatchResult, settled bool, err error) {
	requests := w.shared
	w.shared = nil
	switch {
	case err != nil:
		w.service.noteGuard(w.sku, err)
		w.levels = nil
		refuseAll(requests, stock.Unavailable(err, "sell"))
	case !settled:
		w.skipped = result.Skipped
		for _, r := range requests {
			r.sent = false // nothing of it was written
		}
		go w.serveFirst(requests)
		return
	default:
		if again := w.wrote(w.service.base, requests, w.ready, result, false); len(again) > 0 {
			go w.serveFirst(again)
			return
		}
	}
	if !w.leave() {
		w.step()
	}
}
