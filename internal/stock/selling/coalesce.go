package selling

import (
	"runtime"
	"time"
)

// The bounds of coalescing.
const (
	coalesceFrom   = 8  // orders of the batch before: fewer callers are not worth waiting for
	mostYields     = 4  // of the processor, before one batch; each lets about 60 goroutines run
	coalescePays   = 3  // orders must come this many times faster than during the last write to be worth the wait
	coalesceCosts  = 16 // a yield that takes more than one part in this many of the last batch's time must pay
	coalescePauses = 32 // batches without a yield, after one that cost time and did not pay
)

// coalescer lets callers that were just answered order again before the next batch is taken. They are runnable now. A worker
// that continues at once takes only the half that queued during its write, every time, and so writes twice as many batches
// as it needs. Where callers have other work between two orders, as over HTTP, a yield does not pay and it does not wait.
type coalescer struct {
	orders int           // of the last batch; 0: no caller to wait for
	took   time.Duration // from taking that batch to answering it
	pause  int           // batches until the next try
}

// wrote notes the last batch.
func (c *coalescer) wrote(orders int, took time.Duration) {
	if orders > 0 {
		c.orders, c.took = orders, took
	}
}

// wait waits for more orders if that is worth it.
func (c *coalescer) wait(queue *queue) {
	if c.pause > 0 {
		c.pause--
		return
	}
	orders := c.orders
	c.orders = 0
	if orders < coalesceFrom {
		return
	}
	for yield := range mostYields {
		waited := queue.length()
		if waited >= batchLimit {
			return
		}
		start := time.Now()
		runtime.Gosched()
		spent := time.Since(start)
		if came := queue.length() - waited; pays(came, spent, orders, c.took) {
			continue
		}
		if yield == 0 && spent > c.took/coalesceCosts {
			c.pause = coalescePauses
		}
		return
	}
}

// pays reports whether orders came in fast enough to wait for more.
func pays(came int, spent time.Duration, orders int, took time.Duration) bool {
	return int64(came)*int64(took) >= coalescePays*int64(orders)*int64(spent)
}
