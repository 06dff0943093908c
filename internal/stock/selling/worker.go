package selling

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"inventory/internal/stock"
)

// The bounds of a worker.
const (
	batchParts = 4                // one write takes one part in this many of a long queue
	maxHops    = 4                // segments tried before a merge
	idleFor    = time.Second      // without a request for this long a worker is forgotten
	writeLimit = 10 * time.Second // for work that no caller waits for
)

// worker sells one SKU in this process, in batches. A batch goes through these steps:
//
//	refuse  answer the requests that need no stock: replays, not allowed by the terms, sold out
//	choose  find the segments that can fill something
//	lock    take the lock of one of them, if that saves waiting and succeeds in time
//	write   fill the requests that fit into it
//	merge   fill the others from all segments together
//
// Settle requests have a queue that is served apart: see settling.go.
type worker struct {
	service       *Service
	sku           string
	queue         *queue
	settling      *queue       // of settle requests
	notifications atomic.Int64 // counts notifications of stock from elsewhere: what it knows of the segments may be too little
	serving
}

// serving is what belongs to the goroutine that serves the queue of a worker, or, once a batch is in a shared write, to the writer.
// While nobody serves the queue, it belongs to nobody.
type serving struct {
	lock     segmentLock  // the segment where it sells, or sold last, and its lock
	lockRule lockRule     // says whether it takes that lock
	notified int64        // how many notifications it has applied
	terms    *stock.Terms // the SKU is sold on these; nil: it is not known
	ready    time.Time    // when the batch at hand was ready for its lock
	layout   int64        // the levels belong to this layout
	levels   []int64      // units of each segment, as last read or written; nil: read them
	soldOut  time.Time    // when all segments were last seen empty; the zero time: never
	until    time.Time    // when the next reservation expires, which ends soldOut; the zero time: none
	expiries int          // how often the batch at hand has waited for expired reservations
	skipped  bool         // the last write found the row of its segment held by somebody else
	held     heldRows     // segments that are tried last
	shared   []*request   // these are in a shared write
}

func (s *Service) newWorker(sku string) *worker {
	w := &worker{service: s, sku: sku, queue: newQueue(), settling: newQueue(), serving: serving{
		lock: segmentLock{service: s, sku: sku, segment: noSegment}, lockRule: lockRule{always: s.lockAlways}, held: make(heldRows),
	}}
	w.queue.oneEach.Store(true) // until it is known whether there is a buyer limit
	if view, is := s.viewed.view(sku); is {
		w.know(view)
	}
	return w
}

// know begins to sell by a view of the SKU.
func (w *worker) know(view stock.View) {
	w.terms, w.layout, w.levels = &view.Terms, view.Layout, view.Segments
	w.queue.oneEach.Store(view.Terms.PerBuyerLimit > 0)
}

// remember keeps what an idle worker knows, for the next one. The caller holds the mutex of the registry, so nobody begins to serve it.
func (w *worker) remember() {
	if w.terms != nil && w.levels != nil && w.notified == w.notifications.Load() {
		w.service.viewed.note(w.sku, stock.View{Terms: *w.terms, Layout: w.layout, Segments: w.levels}, w.ready, false)
	}
}

// idle reports whether nobody has served its queues for a time.
func (w *worker) idle(d time.Duration) bool { return w.queue.idle(d) && w.settling.idle(d) }

// step has the next batch written. A small one, whose orders need nothing but to be written, waits for a write that batches of
// different SKUs share. No goroutine waits with it: the writer takes its orders, answers them, and makes the next step. So an order
// wakes nobody but its own caller. Everything else needs a goroutine.
func (w *worker) step() {
	if !w.joins() {
		go w.run(nil)
	}
}

// joins lets the next batch wait for a shared write, if it may be written so and another write is in progress.
func (w *worker) joins() bool { return w.shares() && w.service.sharer.Share(w.sku, w) }

// shares reports whether the next batch may be written as it comes.
func (w *worker) shares() bool {
	w.onNotification()
	return w.service.sharer != nil && w.terms != nil && w.levels != nil && w.lock.hold == nil && !w.lockRule.locks() &&
		w.queue.length() <= stock.LargestShared && !w.isSoldOut()
}

// Begin implements [stock.SharedBatch].
func (w *worker) Begin() (batch stock.Batch, there bool) {
	if !w.shares() {
		go w.run(nil)
		return stock.Batch{}, false
	}
	requests := w.queue.pop(min(stock.LargestShared, w.service.mostOrders))
	segment, fits := w.segmentForAll(requests)
	if !fits {
		go w.run(requests)
		return stock.Batch{}, false
	}
	if w.shared = stillWaiting(requests); len(w.shared) == 0 {
		if !w.leave() {
			go w.run(nil)
		}
		return stock.Batch{}, false
	}
	w.ready = time.Now()
	for _, r := range w.shared {
		w.service.observe(Activity{Kind: Queued, Took: w.ready.Sub(r.queued)})
	}
	w.lock.doWithout(segment)
	return w.batch(w.shared), true
}

// segmentForAll returns a segment that can fill all requests, as far as is known. It reports false if there is none, or if one of the
// requests needs more than to be written.
func (w *worker) segmentForAll(requests []*request) (segment int, fits bool) {
	units := int64(0)
	for _, r := range requests {
		if r.order.Own || w.byTerms(r) != nil {
			return 0, false
		}
		units += r.order.Quantity
	}
	if found := w.shuffle(w.held.last(w.segmentsWith(units))); len(found) > 0 {
		return found[0], true
	}
	return 0, false
}

// Written implements [stock.SharedBatch].
func (w *worker) Written(result stock.BatchResult, decided bool, err error) {
	requests := w.shared
	w.shared = nil
	switch {
	case err != nil:
		w.service.noteGuard(w.sku, err)
		w.levels = nil
		refuseAll(requests, stock.Unavailable(err, "sell"))
	case !decided:
		w.skipped = result.Skipped
		go w.run(requests)
		return
	default:
		if again := w.wrote(w.service.base, requests, w.ready, result, false); len(again) > 0 {
			go w.run(again)
			return
		}
	}
	if !w.leave() {
		w.step()
	}
}

// run serves a batch that has left the queue, and then the queue, until the next batch joins a shared write, or nothing waits or, under
// a lock, nothing has come for lockLinger.
func (w *worker) run(first []*request) {
	for w.serve(first); ; {
		switch {
		case w.queue.length() > 0:
			runtime.Gosched() // callers that are ready to push do so first: a larger batch costs each order less
			if w.joins() {
				return
			}
			w.serve(w.queue.pop(min(batchSize(w.queue.length()), w.service.mostOrders)))
			w.lock.offer()
		case w.lock.hold != nil && w.linger():
		default:
			if w.lock.release(); w.leave() {
				return
			}
		}
	}
}

// linger waits for the next request while the worker holds its lock, and reports whether one has come.
func (w *worker) linger() bool {
	select {
	case <-w.queue.arrived:
		return true
	case <-time.After(lockLinger):
	case <-w.service.background.Done():
	}
	return false
}

// leave ends the service of the queue, unless something waits.
func (w *worker) leave() bool {
	left := w.queue.leave()
	if left {
		w.service.workers.running.Done()
	}
	return left
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
		w.service.observe(Activity{Kind: Queued, Took: now.Sub(r.queued)})
	}
	w.onNotification()
	var err error
	if w.terms == nil {
		err = w.refresh(ctx)
	}
	if err == nil {
		batch, err = w.refuse(ctx, batch)
	}
	if err == nil {
		batch, err = w.sell(ctx, batch)
	}
	refuseAll(batch, err)
}

// sell repeats three steps: choose a segment, lock it, write. It merges what no single segment can fill. It returns the
// requests that got no answer, and the error that they share.
func (w *worker) sell(ctx context.Context, pending []*request) ([]*request, error) {
	lockBy := time.Now().Add(lockWait)
	refreshed := false // for this batch
	w.expiries = 0
	for hop, layouts := 0, 0; len(pending) > 0; hop++ {
		var err error
		if segments := w.choose(pending); len(segments) > 0 && hop < maxHops {
			w.ready = time.Now()
			if w.lockRule.locks() {
				w.lock.acquire(segments, lockBy)
			} else {
				w.lock.doWithout(segments[0])
			}
			pending, err = w.deduct(ctx, pending)
		} else if !refreshed || w.levels == nil {
			refreshed = true
			pending, err = w.refreshFor(ctx, pending)
			hop = -1 // the new levels may show segments that are worth a try
		} else {
			pending, err = w.merge(ctx, pending, hop)
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

// refreshFor reads the SKU again in the middle of a batch. If its terms have changed, it answers the requests that the new ones
// do not allow. It returns the other requests.
func (w *worker) refreshFor(ctx context.Context, pending []*request) ([]*request, error) {
	before := *w.terms
	if err := w.refresh(ctx); err != nil || *w.terms == before {
		return pending, err
	}
	return w.refuseByTerms(ctx, pending)
}

// batchSize is how many orders one write takes. A worker that falls behind takes more: more turns at the queue's mutex, among
// all the callers that push, cost more than a larger write.
func batchSize(waiting int) int { return max(batchLimit, waiting/batchParts) }

// onNotification forgets what changes of stock outside this worker have made wrong.
func (w *worker) onNotification() {
	if n := w.notifications.Load(); n != w.notified {
		w.notified, w.levels, w.soldOut = n, nil, time.Time{}
	}
}

// refresh reads the terms of the SKU and what each segment holds.
func (w *worker) refresh(ctx context.Context) error {
	began := time.Now()
	view, err := w.service.view(ctx, w.sku)
	if err != nil {
		return err
	}
	w.service.viewed.note(w.sku, view, began, true)
	w.know(view)
	return nil
}

// choose returns the segments that can fill the first request, as far as is known: only the locked one if it can, otherwise
// all that can, shuffled.
func (w *worker) choose(pending []*request) []int {
	found := w.held.last(w.segmentsWith(pending[0].order.Quantity))
	if w.lock.held() && slices.Contains(found, w.lock.segment) {
		return []int{w.lock.segment}
	}
	return w.shuffle(found)
}

// unfillable returns how many requests come before the first one that some segment can fill, as far as is known.
func (w *worker) unfillable(pending []*request) int {
	most := slices.Max(w.levels)
	if i := slices.IndexFunc(pending, func(r *request) bool { return r.order.Quantity <= most }); i >= 0 {
		return i
	}
	return len(pending)
}

// segmentsWith returns the segments that hold at least so many units, as far as is known.
func (w *worker) segmentsWith(units int64) (found []int) {
	for segment, level := range w.levels {
		if level >= units {
			found = append(found, segment)
		}
	}
	return found
}

// shuffle spreads workers and processes over segments. The segment of the last write comes first, unless somebody else had its row
// then. While orders queue, the locks spread the processes.
func (w *worker) shuffle(segments []int) []int {
	rand.Shuffle(len(segments), func(i, j int) { segments[i], segments[j] = segments[j], segments[i] })
	if at := slices.Index(segments, w.lock.segment); at >= 0 && !w.skipped {
		segments[0], segments[at] = segments[at], segments[0]
	}
	return segments
}
