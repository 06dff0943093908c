package selling

import (
	"runtime"
	"time"
)

// The bounds of coalescing.
const (
	coalesceFrom   = 8  // orders of the batch before: fewer callers are not worth waiting for
	mostYields     = 4  // of the processor, before one batch; each lets some 60 goroutines run
	coalescePays   = 3  // times as fast as orders came while the batch before was written, or it is not worth the database's time
	coalesceCosts  = 16 // of the time that batch took, what a yield may take at most one part of without paying
	coalescePauses = 32 // batches that follow one another at once, after a yield that cost and did not pay
)

// coalescer lets callers who have just been answered come back before the next batch is taken. They are runnable now. A
// worker that goes on at once takes the half of them that waited meanwhile, again and again: twice as many batches as it
// takes. Where callers do more between two orders than order, as over HTTP, it does not wait.
type coalescer struct {
	orders int           // of the last batch; 0: there is nobody to wait for
	took   time.Duration // from taking it to answering it
	pause  int           // batches until it is tried again
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

// pays tells whether orders came in fast enough to wait for more.
func pays(came int, spent time.Duration, orders int, took time.Duration) bool {
	return int64(came)*int64(took) >= coalescePays*int64(orders)*int64(spent)
}
