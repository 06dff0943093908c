package stock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/locking"
)

// merge answers the requests that no single segment can fill, from all segments together. It keeps the lane's
// own lock and takes those of the other segments with stock as a MultiLock; the store then locks the rows of all
// segments, ascending. So what it refuses is refused truly, whether or not the locks came in time.
func (l *lane) merge(ctx context.Context, pending []*request) ([]*request, error) {
	return apart(pending, func(requests []*request) ([]*request, error) { return l.mergeTogether(ctx, requests) })
}

func (l *lane) mergeTogether(ctx context.Context, pending []*request) ([]*request, error) {
	start := time.Now()
	holds, locked, unlock := l.lockSegments(ctx, l.stocked())
	defer unlock()
	if pending = present(pending); len(pending) == 0 {
		return nil, nil
	}
	merge := Merge{
		SKU: l.sku, Layout: l.layout, Limit: l.terms.PerBuyerLimit, SaleWindow: l.terms.SaleWindow(),
		Deadline: earliest(pending), At: l.service.at(), Orders: orders(pending),
	}
	var result MergeResult
	err := l.writeFenced(ctx, holds, func(fences map[int]Fence) (err error) {
		merge.Fences = fences
		result, err = l.service.store.Merge(ctx, merge)
		return err
	})
	if errors.Is(err, ErrLate) {
		return pending, nil
	}
	if err != nil {
		l.noteGuard(err)
		l.levels = nil
		return pending, err
	}
	l.service.observer.MergeWritten(len(pending), result.Merged, time.Since(start), locked && merge.Fences != nil)
	l.service.noteExpired(l.sku, result.Expired)
	l.noteSold(EventMerge, result.At, result.Outcomes)
	l.levels = result.Segments
	if sumOf(l.levels) == 0 {
		l.soldOut, l.until = start, result.NextExpiry // the rows were read later; the earlier instant is the safe one
		l.service.remember(l.sku)
		l.service.events.Publish(Event{Kind: EventSoldOut, SKU: l.sku, At: result.At})
	}
	return l.answerMerge(ctx, pending, result), nil
}

// answerMerge answers the requests of a merge, and returns those that may be tried again.
func (l *lane) answerMerge(ctx context.Context, requests []*request, result MergeResult) (again []*request) {
	stale := result.Stale && l.sweeps < maxSweeps
	var waiting, limited []*request
	for i, r := range requests {
		switch o := result.Outcomes[i]; {
		case stale && (o.Kind == Short || o.Kind == Limited):
			waiting = append(waiting, r)
		case o.Kind == Short:
			r.refuse(Shortage(l.sku, o.Available))
		case o.Kind == Limited:
			limited = append(limited, r)
		case o.Kind == Closed:
			r.refuse(l.terms.SaleWindow().Refusal(l.sku, result.At))
		default:
			r.settle(o)
		}
	}
	if len(waiting) > 0 {
		return l.sweep(ctx, waiting)
	}
	return l.refuseLimited(ctx, limited, false)
}

// lockSegments takes the locks of the segments, within lockWait in all, and returns a hold for each. If they are not
// all to be had, the lane's own hold, where it has one, is all there is.
func (l *lane) lockSegments(ctx context.Context, segments []int) (holds map[int]*locking.Hold, locked bool, unlock func()) {
	holds = map[int]*locking.Hold{l.segment: l.hold}
	if len(segments) == 0 {
		return holds, false, func() {}
	}
	tell, ok := l.service.mayLock(l.sku)
	if !ok {
		return holds, false, func() {}
	}
	parts := make([]locking.Locker, len(segments))
	for i, segment := range segments {
		parts[i] = l.service.lock(l.sku, segment)
	}
	holder := ctx
	if l.hold != nil {
		holder = l.hold.Context() // the owner of our own segment: its part is a re-entry
	}
	start := time.Now()
	hold, err := locking.MultiLock(parts...).Lock(holder, locking.Wait(lockWait))
	l.service.observer.LockWaited(time.Since(start), err == nil)
	tell(err)
	if err != nil {
		return holds, false, func() {}
	}
	for i, part := range hold.Parts() {
		holds[segments[i]] = part
	}
	return holds, true, func() { l.service.giveBack(hold) }
}

// Shortage is the error of asking a SKU for more than it has available.
func Shortage(sku string, available int64) *Error {
	if available == 0 {
		return soldOutError(sku)
	}
	return &Error{
		Code:      CodeInsufficientStock,
		SKU:       sku,
		Message:   fmt.Sprintf("SKU %q has %d left, fewer than asked for", sku, available),
		Available: available,
	}
}

func soldOutError(sku string) *Error {
	return &Error{Code: CodeSoldOut, SKU: sku, Message: fmt.Sprintf("SKU %q is sold out", sku)}
}
