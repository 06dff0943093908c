package selling

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"inventory/internal/stock"
)

// The bounds of a worker.
const (
	batchParts = 4                // of a long queue, which one write takes one of
	maxHops    = 4                // segments tried before a merge
	maxLayouts = 8                // resegments that may come between, before a batch is given up
	workerIdle = time.Second      // a worker without work for this long ends
	shortIdle  = workerIdle / 10  // and for this long gives its stack back
	writeLimit = 10 * time.Second // for what nobody waits for
)

// worker sells one SKU in batches. One goroutine owns it. A batch goes through these steps:
//
//	refuse  answer what needs no stock: replays, what the terms do not allow, what is sold out
//	choose  find the segments that can fill something
//	lock    take the lock of one of them if it saves waiting, and can be had in time
//	write   fill what fits into it
//	merge   fill what no single segment can fill, from all of them
type worker struct {
	service   *Service
	seller    *seller
	sku       string
	queue     *queue
	lock      segmentLock // of the segment where it sells, or sold last
	coalescer coalescer

	contention contention // whether it takes that lock

	notified   int64        // notifications of the seller that are applied
	terms      *stock.Terms // on which the SKU is sold; nil before the first read
	termsFresh bool         // they were read for the batch at hand
	layout     int64        // that levels belong to
	levels     []int64      // per segment what it last held as far as is known; nil: read them
	soldOut    time.Time    // when zero was confirmed over all segments; the zero time: not
	until      time.Time    // when that ends by itself, because a reservation expires; the zero time: not
	expiries   int          // of reservations, that the batch at hand has waited for
	retries    int          // so many batches from now on may have known orders
	unknownSKU bool         // the SKU does not exist: end as soon as the queue is empty
}

// batchSize is how many orders one write takes. A worker that falls behind takes more: getting a turn between those who
// push, again and again, costs more than a larger write.
func batchSize(waiting int) int { return max(batchLimit, waiting/batchParts) }

// onNotification forgets what stock from elsewhere has made wrong.
func (w *worker) onNotification() {
	if n := w.seller.notifications.Load(); n != w.notified {
		w.notified, w.levels, w.soldOut = n, nil, time.Time{}
		w.contention.forget()
	}
}

// read reads the terms of the SKU and what each segment holds.
func (w *worker) read(ctx context.Context) error {
	view, err := w.service.view(ctx, w.sku)
	if w.unknownSKU = stock.CodeOf(err) == stock.CodeUnknownSKU; err != nil {
		return err
	}
	w.terms, w.termsFresh, w.layout, w.levels = &view.Terms, true, view.Layout, view.Segments
	w.seller.learn(view)
	return nil
}

// choose returns the segments that can fill the first request, as far as is known. That is the locked one alone if it can,
// else all that can, shuffled.
func (w *worker) choose(pending []*request) []int {
	found := w.segmentsWith(pending[0].order.Quantity)
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

// shuffle spreads workers and processes over segments. The one where we sold last comes first, unless others sell from it too
// and orders do not queue: where they do, locks spread the processes.
func (w *worker) shuffle(segments []int) []int {
	rand.Shuffle(len(segments), func(i, j int) { segments[i], segments[j] = segments[j], segments[i] })
	if at := slices.Index(segments, w.lock.segment); at >= 0 && !w.contention.leaves {
		segments[0], segments[at] = segments[at], segments[0]
	}
	return segments
}
