package selling

import (
	"runtime"
	"time"
)

// The bounds of gathering.
const (
	coalesceFrom   = 8  // orders of the batch before: fewer callers have little to gather
	mostYields   = 4  // of the processor, before one batch; each lets some 60 goroutines run
	coalescePays   = 3  // times as fast as orders came while the batch before was written, or it is not worth the database's time
	coalesceCosts  = 16 // of the time that batch took, what a yield may take at most one part of without paying
	coalescePauses = 32 // batches that follow one another at once, after a yield that cost and did not pay
)

// gathering is what a lane knows of the batch that it wrote last.
type coalescer struct {
	orders int           // of it; 0: there is nobody to wait for
	took   time.Duration // from taking it to answering it
	pause  int           // batches until it is tried again
}

// gather lets callers who have just been answered come back before the next batch is taken. They are runnable now, and a
// lane that goes on at once takes the half of them that waited meanwhile, again and again: twice as many batches as it
// takes. Where callers do more between two orders than order, as over HTTP, the lane does not wait for them.
func (w *worker) coalesce() {
	last := &w.coalescing
	if last.pause > 0 {
		last.pause--
		return
	}
	orders := last.orders
	last.orders = 0
	if orders < coalesceFrom {
		return
	}
	for yield := range mostYields {
		waited := w.queue.length()
		if waited >= batchLimit {
			return
		}
		start := time.Now()
		runtime.Gosched()
		spent := time.Since(start)
		if came := w.queue.length() - waited; pays(came, spent, orders, last.took) {
			continue
		}
		if yield == 0 && spent > last.took/coalesceCosts {
			last.pause = coalescePauses
		}
		return
	}
}

// pays tells whether orders came in fast enough for a lane to wait for more.
func pays(came int, spent time.Duration, orders int, took time.Duration) bool {
	return int64(came)*int64(took) >= coalescePays*int64(orders)*int64(spent)
}
