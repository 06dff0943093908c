package selling

import (
	"context"
	"errors"
	"slices"
	"time"

	"inventory/internal/locking"
	"inventory/internal/stock"
)

// deduct writes the requests that fit into the segment, in one batch, and returns the others in their order. It ends at the first one
// that the segment, as far as is known, cannot fill, so no order is served before an earlier one. The store decides; this only saves
// writes that would fill a part.
func (w *worker) deduct(ctx context.Context, pending []*request) ([]*request, error) {
	available := w.levels[w.lock.segment]
	short := slices.IndexFunc(pending, func(r *request) bool {
		available -= r.order.Quantity
		return available < 0
	})
	if short < 0 {
		short = len(pending)
	}
	return w.writeFirst(pending, short, func(requests []*request) ([]*request, error) { return w.write(ctx, requests) })
}

// writeFirst has the first n requests written, and returns those that have no answer yet and the others, in their order.
func (w *worker) writeFirst(pending []*request, n int, write func([]*request) ([]*request, error)) ([]*request, error) {
	left, err := w.service.isolate(w.sku, pending[:n:n], write)
	if err != nil {
		w.levels = nil
	}
	return slices.Concat(left, pending[n:]), err
}

// write writes requests to the segment and answers them. It returns those that did not fit.
func (w *worker) write(ctx context.Context, requests []*request) (short []*request, err error) {
	batch, start := w.batch(requests), time.Now()
	if len(w.segmentsWith(requests[0].order.Quantity)) > 1 { // another one can fill it, too
		batch.RowWait = rowWait
	}
	var result stock.BatchResult
	err = w.writeFenced(ctx, w.lock.holds(), func(fences map[int]stock.Fence) (err error) {
		batch.Fence = fences[batch.Segment]
		result, err = stock.WriteBatch(ctx, w.service.store, batch)
		return err
	})
	if errors.Is(err, stock.ErrHeld) {
		w.noteHeld(batch.Segment)
		w.lock.release() // another segment's is needed
		return requests, nil
	}
	if err != nil {
		return nil, err
	}
	return w.wrote(ctx, requests, start, result, batch.Fence.Token != 0), nil
}

// noteHeld notes a segment whose row another transaction holds, and tells it if that was so before.
func (w *worker) noteHeld(segment int) {
	if rest := w.held.note(segment); rest > shortestHeld {
		w.service.log.Warn("another transaction holds the row of a segment; the SKU sells from the others", "sku", w.sku, "segment", segment)
	}
}

// batch returns the batch of some requests for the worker's segment.
func (w *worker) batch(requests []*request) stock.Batch {
	return stock.Batch{
		SKU: w.sku, Layout: w.layout, Segment: w.lock.segment, Limit: w.terms.PerBuyerLimit, LimitGroup: w.terms.LimitGroup, SaleWindow: w.terms.SaleWindow(),
		Deadline: firstDeadline(requests), At: w.service.at(), InTurn: true,
		Orders: stock.Column(requests, func(r *request) stock.Order { return r.order }),
	}
}

// wrote learns from a write that began at an instant, and answers its requests. It returns those that need another write.
func (w *worker) wrote(ctx context.Context, requests []*request, began time.Time, result stock.BatchResult, locked bool) (again []*request) {
	w.noteSold(stock.EventSale, result.At, result.Outcomes, result.Available == 0)
	w.lockRule.note(w.ready, len(requests), w.queue.length())
	w.skipped = result.Skipped
	delete(w.held, w.lock.segment)
	if w.levels != nil {
		w.levels[w.lock.segment] = result.Available
	}
	w.service.observe(Activity{Kind: BatchWritten, Count: len(requests), Took: time.Since(began), Locked: locked})
	return w.answer(ctx, requests, result, false)
}

// answer answers the requests of a write. It returns those that are short, unless the write is final, and those that are tried again
// because expired reservations were given back.
func (w *worker) answer(ctx context.Context, requests []*request, result stock.BatchResult, final bool) (again []*request) {
	inGroup := w.dueInGroup(ctx, requests, result)
	comeBack := (result.Stale || inGroup != nil) && w.expiries < mostExpiries
	var short, waiting []*request // again has both, in their turn
	for i, r := range requests {
		switch o := result.Outcomes[i]; {
		case o.Kind == stock.Short && !final:
			short, again = append(short, r), append(again, r)
		case comeBack && (o.Kind == stock.Short || o.Kind == stock.Limited):
			waiting, again = append(waiting, r), append(again, r)
		case o.Kind == stock.Short:
			r.refuse(stock.Shortage(w.sku, o.Available))
		case o.Kind == stock.Open:
			r.refuse(stock.Unavailable(stock.ErrHeld, "take from all segments"))
		case o.Kind == stock.Limited:
			r.refuse(stock.BuyerLimited(w.sku, w.terms.LimitGroup, r.order.BuyerID, w.terms.PerBuyerLimit))
		case o.Kind == stock.Closed:
			r.refuse(w.terms.SaleWindow().Refusal(w.sku, result.At))
		default:
			r.replyOutcome(o)
		}
	}
	if len(waiting) > 0 && !w.expireFor(ctx, waiting, inGroup...) {
		return short
	}
	return again
}

// noteSold tells what was sold, and whether that has left a segment empty. It invalidates the sold-out entry if something was sold:
// there were units, and an accepted order must not be refused when it is repeated.
func (w *worker) noteSold(kind stock.EventKind, at time.Time, outcomes []stock.Outcome, emptied bool) {
	sold := stock.Event{Kind: kind, SKU: w.sku, At: at}
	for _, o := range outcomes {
		if o.Kind == stock.Accepted {
			sold.Orders++
			sold.Units += o.Deduction.Quantity
		}
	}
	if sold.Orders > 0 {
		w.service.soldOut.invalidate(w.sku)
		w.service.events.Publish(sold)
		if emptied {
			w.service.changed(w.sku, 0)
		}
	}
}

func (s *Service) noteGuard(sku string, err error) {
	if errors.Is(err, stock.ErrGuard) {
		s.observe(Activity{Kind: GuardFired})
		s.log.Error("database guard fired", "sku", sku, "error", err)
	}
}

// isolate calls work, which writes and answers requests, with those whose callers still wait. It returns the requests that have no
// answer: those that work returns; all of them if the write was too late for one; or all with the error that they share. If a
// constraint fires, it halves them again and again until the request that violates it is alone, and refuses that one: one bad order
// must not cost the others their answers.
func (s *Service) isolate(sku string, requests []*request, work func([]*request) ([]*request, error)) (rest []*request, err error) {
	if requests = stillWaiting(requests); len(requests) == 0 {
		return nil, nil
	}
	rest, err = work(requests)
	switch {
	case err == nil:
		return rest, nil
	case errors.Is(err, stock.ErrLate):
		return requests, nil
	case !errors.Is(err, stock.ErrGuard):
		return requests, err
	}
	s.noteGuard(sku, err)
	if len(requests) == 1 {
		requests[0].refuse(stock.Unavailable(err, "write"))
		return nil, nil
	}
	half := len(requests) / 2
	first, err := s.isolate(sku, requests[:half], work)
	if err != nil {
		return slices.Concat(first, requests[half:]), err
	}
	second, err := s.isolate(sku, requests[half:], work)
	return slices.Concat(first, second), err
}

// fencesOf returns the fences of holds, by their segments. A lost lock proves nothing.
func fencesOf(holds map[int]*locking.Hold) map[int]stock.Fence {
	fences := make(map[int]stock.Fence, len(holds))
	for segment, hold := range holds {
		if hold.Context().Err() == nil {
			fences[segment] = stock.Fence{Token: hold.Token(), Owner: hold.Owner()}
		}
	}
	return fences
}

// writeFenced writes under the fences of the holds, one for each segment that is locked. A row that refuses its fence has
// seen a later holder, or a Redis whose clock was ahead of this one. Then it writes once more with tokens above the rows',
// which Redis gives only to a process that still holds the locks. If Redis refuses, another process has held a lock since:
// it writes without fences, and the guard alone decides.
func (w *worker) writeFenced(ctx context.Context, holds map[int]*locking.Hold, write func(map[int]stock.Fence) error) error {
	err := write(fencesOf(holds))
	refused, is := errors.AsType[*stock.FencedError](err)
	if !is {
		return err
	}
	w.service.observe(Activity{Kind: FencedOut})
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

// merge answers requests that no single segment can fill, from all segments together: those that come before the first one that a
// segment can fill, after many hops all of them. It returns the others. It keeps the worker's lock and takes those of the other
// segments with stock as a MultiLock. Then the store locks the rows of all segments, ascending. So its refusals are final, whether
// or not the locks came in time.
func (w *worker) merge(ctx context.Context, pending []*request, hop int) ([]*request, error) {
	n := len(pending)
	if hop < maxHops {
		n = w.unfillable(pending)
	}
	start := time.Now()
	holds, locked, unlock := w.lockSegments(ctx)
	defer unlock()
	return w.writeFirst(pending, n, func(requests []*request) ([]*request, error) {
		return w.writeMerge(ctx, requests, start, holds, locked)
	})
}

func (w *worker) writeMerge(
	ctx context.Context, pending []*request, start time.Time, holds map[int]*locking.Hold, locked bool,
) (again []*request, err error) {
	merge := w.batch(pending)
	merge.InTurn, merge.RowWait = false, longRowWait
	if w.held.any() {
		merge.RowWait = rowWait
	}
	var result stock.BatchResult
	err = w.writeFenced(ctx, holds, func(fences map[int]stock.Fence) (err error) {
		merge.Fences = fences
		result, err = w.service.store.Merge(ctx, merge)
		return err
	})
	if err != nil {
		return nil, err
	}
	w.service.observe(Activity{
		Kind: MergeWritten, Count: len(pending), Merged: result.Merged, Took: time.Since(start), Locked: locked && merge.Fences != nil,
	})
	w.service.noteExpired(w.sku, result.Expired)
	w.noteSold(stock.EventMerge, result.At, result.Outcomes, slices.Contains(result.Segments, 0))
	w.levels = result.Segments
	w.service.viewed.note(w.sku, stock.View{Terms: *w.terms, Layout: w.layout, Segments: w.levels}, start, true)
	for _, segment := range result.Held {
		w.noteHeld(segment)
	}
	if stock.Sum(w.levels) == 0 {
		w.soldOut, w.until = start, result.NextExpiry // the rows were read later; the earlier instant is the safe one
		w.service.cacheSoldOut(w.sku)
	}
	return w.answer(ctx, pending, result, true), nil
}

// lockSegments takes the locks of the segments that hold something, and returns a hold for each. If it does not get all of
// them, it returns the worker's own hold alone, if there is one.
func (w *worker) lockSegments(ctx context.Context) (holds map[int]*locking.Hold, locked bool, unlock func()) {
	if w.lock.hold != nil {
		ctx = w.lock.hold.Context() // of the owner of the worker's own segment: that part is a re-entry
	}
	segments := w.stocked()
	var hold *locking.Hold
	if len(segments) > 0 {
		hold = w.service.lockAll(ctx, w.sku, segments)
	}
	if hold == nil {
		return w.lock.holds(), false, func() {}
	}
	holds = make(map[int]*locking.Hold, len(segments))
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
