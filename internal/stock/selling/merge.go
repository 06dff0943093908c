package selling

import (
	"context"
	"errors"
	"slices"
	"time"

	"inventory/internal/locking"
	"inventory/internal/stock"
)

// merge answers the requests that no single segment can fill, from all segments together. It keeps the worker's lock and
// takes those of the other segments with stock as a MultiLock. Then the store locks the rows of all segments, ascending. So
// its refusals are final, whether or not the locks came in time.
func (w *worker) merge(ctx context.Context, pending []*request) ([]*request, error) {
	return isolate(pending, func(requests []*request) ([]*request, error) { return w.writeMerge(ctx, requests) })
}

// mergeFirst merges the requests that come before the first one that a segment can fill, and returns the others. After many
// hops it merges all.
func (w *worker) mergeFirst(ctx context.Context, pending []*request, hop int) ([]*request, error) {
	n := len(pending)
	if hop < maxHops {
		n = w.unfillable(pending)
	}
	left, err := w.merge(ctx, pending[:n:n])
	return slices.Concat(left, pending[n:]), err
}

func (w *worker) writeMerge(ctx context.Context, pending []*request) ([]*request, error) {
	start := time.Now()
	holds, locked, unlock := w.lockSegments(ctx)
	defer unlock()
	if pending = stillWaiting(pending); len(pending) == 0 {
		return nil, nil
	}
	merge := stock.Merge{
		SKU: w.sku, Layout: w.layout, Limit: w.terms.PerBuyerLimit, SaleWindow: w.terms.SaleWindow(),
		Deadline: firstDeadline(pending), At: w.service.at(), Orders: orders(pending),
	}
	var result stock.MergeResult
	err := w.writeFenced(ctx, holds, func(fences map[int]stock.Fence) (err error) {
		merge.Fences = fences
		result, err = w.service.store.Merge(ctx, merge)
		return err
	})
	if errors.Is(err, stock.ErrLate) {
		return pending, nil
	}
	if err != nil {
		w.service.noteGuard(w.sku, err)
		w.levels = nil
		return pending, err
	}
	w.service.observer.MergeWritten(len(pending), result.Merged, time.Since(start), locked && merge.Fences != nil)
	w.service.noteExpired(w.sku, result.Expired)
	w.noteSold(stock.EventMerge, result.At, result.Outcomes)
	w.levels = result.Segments
	if stock.Sum(w.levels) == 0 {
		w.soldOut, w.until = start, result.NextExpiry // the rows were read later; the earlier instant is the safe one
		w.service.cacheSoldOut(w.sku)
		w.service.events.Publish(stock.Event{Kind: stock.EventSoldOut, SKU: w.sku, At: result.At})
	}
	return w.answer(ctx, pending, result.Outcomes, start, result.At, result.Stale, true), nil
}

// lockSegments takes the locks of the segments that hold something, and returns a hold for each. If it does not get all of
// them, it returns the worker's own hold alone, if there is one.
func (w *worker) lockSegments(ctx context.Context) (holds map[int]*locking.Hold, locked bool, unlock func()) {
	holds = map[int]*locking.Hold{w.lock.segment: w.lock.hold}
	if w.lock.hold != nil {
		ctx = w.lock.hold.Context() // of the owner of the worker's own segment: that part is a re-entry
	}
	segments := w.stocked()
	hold := w.service.lockParts(ctx, stock.Column(segments, func(segment int) part { return part{w.sku, segment} }))
	if hold == nil {
		return holds, false, func() {}
	}
	for i, part := range hold.Parts() {
		holds[segments[i]] = part
	}
	return holds, true, func() { w.service.giveBack(hold) }
}

// stocked returns the segments that hold something, and always the worker's own, ascending.
func (w *worker) stocked() []int {
	var found []int
	for i, level := range w.levels {
		if level > 0 || (i == w.lock.segment && w.lock.hold != nil) {
			found = append(found, i)
		}
	}
	return found
}
