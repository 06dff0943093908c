package selling

import (
	"context"
	"errors"
	"time"

	"inventory/internal/locking"
	"inventory/internal/stock"
)

// merge answers the requests that no single segment can fill, from all segments together. It keeps the lane's
// own lock and takes those of the other segments with stock as a MultiLock; the store then locks the rows of all
// segments, ascending. So what it refuses is refused truly, whether or not the locks came in time.
func (w *worker) merge(ctx context.Context, pending []*request) ([]*request, error) {
	return isolate(pending, func(requests []*request) ([]*request, error) { return w.mergeTogether(ctx, requests) })
}

func (w *worker) mergeTogether(ctx context.Context, pending []*request) ([]*request, error) {
	start := time.Now()
	holds, locked, unlock := w.lockSegments(ctx, w.stocked())
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
		w.noteGuard(err)
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
	return w.answerMerge(ctx, pending, result), nil
}

// answerMerge answers the requests of a merge, and returns those that may be tried again.
func (w *worker) answerMerge(ctx context.Context, requests []*request, result stock.MergeResult) (again []*request) {
	stale := result.Stale && w.sweeps < maxSweeps
	var waiting, limited []*request
	for i, r := range requests {
		switch o := result.Outcomes[i]; {
		case stale && (o.Kind == stock.Short || o.Kind == stock.Limited):
			waiting = append(waiting, r)
		case o.Kind == stock.Short:
			r.refuse(stock.Shortage(w.sku, o.Available))
		case o.Kind == stock.Limited:
			limited = append(limited, r)
		case o.Kind == stock.Closed:
			r.refuse(w.terms.SaleWindow().Refusal(w.sku, result.At))
		default:
			r.replyOutcome(o)
		}
	}
	if len(waiting) > 0 {
		return w.expireFor(ctx, waiting)
	}
	return w.refuseLimited(ctx, limited, false)
}

// lockSegments takes the locks of the segments, within lockWait in all, and returns a hold for each. If they are not
// all to be had, the lane's own hold, where it has one, is all there is.
func (w *worker) lockSegments(ctx context.Context, segments []int) (holds map[int]*locking.Hold, locked bool, unlock func()) {
	holds = map[int]*locking.Hold{w.segment: w.hold}
	if len(segments) == 0 {
		return holds, false, func() {}
	}
	tell, ok := w.service.mayLock(w.sku)
	if !ok {
		return holds, false, func() {}
	}
	parts := make([]locking.Locker, len(segments))
	for i, segment := range segments {
		parts[i] = w.service.lock(w.sku, segment)
	}
	holder := ctx
	if w.hold != nil {
		holder = w.hold.Context() // the owner of our own segment: its part is a re-entry
	}
	start := time.Now()
	hold, err := locking.MultiLock(parts...).Lock(holder, locking.Wait(lockWait))
	w.service.observer.LockWaited(time.Since(start), err == nil)
	tell(err)
	if err != nil {
		return holds, false, func() {}
	}
	for i, part := range hold.Parts() {
		holds[segments[i]] = part
	}
	return holds, true, func() { w.service.giveBack(hold) }
}
