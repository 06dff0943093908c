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
	batchParts = 4                // one write takes one part in this many of a long queue
	maxHops    = 4                // segments tried before a merge
	workerIdle = time.Second      // without a request for this long a worker ends
	shortIdle  = workerIdle / 10  // and for this long it gives its stack back
	writeLimit = 10 * time.Second // for work that no caller waits for
)

// worker sells one SKU in batches. One goroutine owns it. A batch goes through these steps:
//
//	refuse  answer the requests that need no stock: replays, not allowed by the terms, sold out
//	choose  find the segments that can fill something
//	lock    take the lock of one of them, if that saves waiting and succeeds in time
//	write   fill the requests that fit into it
//	merge   fill the others from all segments together
type worker struct {
	service *Service
	seller  *seller
	sku     string
	queue   *queue
	lock    segmentLock // of the segment where it sells, or sold last

	lockRule lockRule  // whether it takes that lock
	ready    time.Time // when the batch at hand was ready for its lock

	notified   int64        // so many of the seller's notifications are applied
	terms      *stock.Terms // on which the SKU is sold; nil before the first read
	termsFresh bool         // they were read for the batch at hand
	layout     int64        // of levels
	levels     []int64      // units of each segment, as last read or written; nil: read them
	soldOut    time.Time    // when all segments were last seen empty; the zero time: never
	until      time.Time    // when the next reservation expires, which ends soldOut; the zero time: none
	expiries   int          // how often the batch at hand has waited for expired reservations
	skipped    bool         // the last write found the row of its segment held by somebody else
	retries    int          // how many of the next batches are expected to have known orders
	unknownSKU bool         // the SKU does not exist: end as soon as the queue is empty
}

// batchSize is how many orders one write takes. A worker that falls behind takes more: more turns at the queue's mutex, among
// all the callers that push, cost more than a larger write.
func batchSize(waiting int) int { return max(batchLimit, waiting/batchParts) }

// onNotification forgets what changes of stock outside this worker have made wrong.
func (w *worker) onNotification() {
	if n := w.seller.notifications.Load(); n != w.notified {
		w.notified, w.levels, w.soldOut = n, nil, time.Time{}
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

// choose returns the segments that can fill the first request, as far as is known: only the locked one if it can, otherwise
// all that can, shuffled.
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

// shuffle spreads workers and processes over segments. The segment of the last write comes first, unless somebody else had its row
// then. While orders queue, the locks spread the processes.
func (w *worker) shuffle(segments []int) []int {
	rand.Shuffle(len(segments), func(i, j int) { segments[i], segments[j] = segments[j], segments[i] })
	if at := slices.Index(segments, w.lock.segment); at >= 0 && !w.skipped {
		segments[0], segments[at] = segments[at], segments[0]
	}
	return segments
}
