package selling

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"inventory/internal/stock"
)

// The bounds of a worker.
const (
	batchLimit = 256                    // orders of one write; more, where more than batchParts times as many wait
	batchParts = 4                      // of a long queue, which one write takes one of
	maxHops    = 4                      // segments tried before a merge
	maxLayouts = 8                      // resegments that may come between, before a batch is given up
	workerIdle = time.Second            // a worker without work for this long ends
	writeLimit = 10 * time.Second       // for what nobody waits for
	soldOutFor = time.Second            // for this long a refusal may rest on one read of the rows
	lockWait   = 100 * time.Millisecond // for the locks of a batch, and again for those of a merge, before it goes on under the guard
	lockTurn   = 25 * time.Millisecond  // a busy worker offers its lock to other processes this often
	lockLinger = 2 * time.Millisecond   // an idle worker gives its lock back after this
)

// worker sells one SKU in batches. One goroutine owns it. A batch goes through these steps:
//
//	refuse  answer what needs no stock: replays, what the terms do not allow, what is sold out
//	choose  find the segments that can fill something
//	lock    take the lock of one of them, if it can be had in time
//	write   fill what fits into it
//	merge   fill what no single segment can fill, from all of them
type worker struct {
	service   *Service
	seller    *seller
	sku       string
	queue     *queue
	lock      segmentLock // of the segment where it sells, or sold last
	coalescer coalescer

	notified   int64        // notifications of the seller that are applied
	terms      *stock.Terms // on which the SKU is sold; nil before the first read
	layout     int64        // that levels belong to
	levels     []int64      // per segment what it last held as far as is known; nil: read them
	soldOut    time.Time    // when zero was confirmed over all segments; the zero time: not
	until      time.Time    // when that ends by itself, because a reservation expires; the zero time: not
	expiries   int          // of reservations, that the batch at hand has waited for
	retries    int          // so many batches from now on may have known orders
	unknownSKU bool         // the SKU does not exist: end as soon as the queue is empty
}

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
		err := w.learnTerms()
		batch := w.queue.pop(1, min(batchSize(w.queue.length()), w.service.mostOrders))
		if err != nil {
			refuseAll(batch, err)
			continue
		}
		start := time.Now()
		w.serve(batch)
		w.coalescer.wrote(len(batch), time.Since(start))
		w.lock.offer()
	}
}

// batchSize is how many orders one write takes. A worker that falls behind takes more: getting a turn between those who
// push, again and again, costs more than a larger write.
func batchSize(waiting int) int { return max(batchLimit, waiting/batchParts) }

// idle waits for a request. It gives the lock back soon, and reports true when the worker has ended.
func (w *worker) idle() (ended bool) {
	if w.lock.hold != nil && w.service.waitFor(lockLinger, w.queue.arrived) {
		return false
	}
	w.lock.release()
	if !w.unknownSKU && w.service.waitFor(workerIdle, w.queue.arrived) {
		return false
	}
	return w.service.retireSeller(w.seller)
}

// learnTerms reads the SKU once, before the first batch: the queue has to know whether buyers are counted.
func (w *worker) learnTerms() error {
	if w.terms != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.service.base, w.service.answerWithin)
	defer cancel()
	return w.read(ctx)
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
	w.onNotification()
	rest, err := w.refuse(ctx, batch)
	if err == nil {
		rest, err = w.sell(ctx, rest)
	}
	refuseAll(rest, err)
}

// onNotification forgets what stock from elsewhere has made wrong.
func (w *worker) onNotification() {
	if n := w.seller.notifications.Load(); n != w.notified {
		w.notified, w.levels, w.soldOut = n, nil, time.Time{}
	}
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
			w.lock.acquire(segments, lockBy)
			pending, err = w.deduct(ctx, pending)
		} else if !isRead || w.levels == nil {
			isRead = true
			err = w.read(ctx)
			hop = -1 // the levels may show segments worth another try
		} else {
			pending, err = w.merge(ctx, pending)
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

// read reads the terms of the SKU and what each segment holds.
func (w *worker) read(ctx context.Context) error {
	views, err := w.service.store.Views(ctx, w.sku)
	if err != nil {
		return stock.Unavailable(err, "read the segments")
	}
	view, ok := views[w.sku]
	if w.unknownSKU = !ok; w.unknownSKU {
		return stock.UnknownSKU(w.sku)
	}
	w.terms, w.layout, w.levels = &view.Terms, view.Layout, view.Segments
	w.seller.learn(view)
	return nil
}

// choose returns the segments that can fill at least one request, as far as is known. That is the locked one alone if it
// can, else all that can, shuffled.
func (w *worker) choose(pending []*request) []int {
	smallest := int64(stock.MaxQuantity)
	for _, r := range pending {
		smallest = min(smallest, r.order.Quantity)
	}
	found := w.segmentsWith(smallest)
	if w.lock.held() && slices.Contains(found, w.lock.segment) {
		return []int{w.lock.segment}
	}
	return w.shuffle(found)
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

// shuffle spreads workers and processes over segments. The one where we sold last comes first.
func (w *worker) shuffle(segments []int) []int {
	rand.Shuffle(len(segments), func(i, j int) { segments[i], segments[j] = segments[j], segments[i] })
	if at := slices.Index(segments, w.lock.segment); at >= 0 {
		segments[0], segments[at] = segments[at], segments[0]
	}
	return segments
}
