package selling

import (
	"time"

	"inventory/internal/stock"
)

// When a worker takes the lock of its segment. A lock costs two round trips to Redis. A collision on a row costs the wait
// for another process's commit.
const (
	queuedBatches = 3             // that had several orders, or left some waiting, with gaps of at most lockLinger
	metWithin     = lockTurn      // a row that changed since a write no older than this was changed by a process that sells now
	metFor        = 10 * lockTurn // how long another process counts as met
)

// contention decides whether a worker takes the lock of its segment, because that saves waiting: while orders queue for the
// SKU, since then the row is written all the time, and while other processes are met on the rows. A SKU that one process
// sells to one buyer at a time needs no lock.
type contention struct {
	always bool
	queued int       // batches in a row for which orders queued
	met    time.Time // when another process was last met; the zero time: never

	asked   time.Time // when locks was last called: the batch at hand is about to wait for a lock, or to be written
	wrote   time.Time // when the last write ended, of this segment
	segment int
	level   int64 // what the segment held then
	known   bool  // this process has not changed the level since
	leaves  bool  // the segment: no orders queue, and another process sells from it too
}

// locks reports whether to take a lock now.
func (c *contention) locks() bool {
	c.asked = time.Now()
	queues := c.queued >= queuedBatches && c.asked.Sub(c.wrote) <= lockLinger
	return c.always || queues || c.asked.Sub(c.met) < metFor
}

// note learns from the write of a batch, which took some units. start is when the batch was ready for its lock: a wait for
// that is no gap between batches. waiting is the number of orders that wait at the write's end, before the first answer.
func (c *contention) note(segment int, start time.Time, result stock.BatchResult, units int64, waiting int) {
	now, gap := time.Now(), start.Sub(c.wrote)
	if gap > lockLinger {
		c.queued = 0
	}
	if waiting > 0 || len(result.Outcomes) > 1 {
		c.queued++
	} else {
		c.queued = 0
	}
	changed := c.known && segment == c.segment && result.Available+units != c.level
	c.leaves = c.queued == 0 && (result.Skipped || changed)
	if result.Skipped || changed && gap < metWithin {
		c.met = now
	}
	c.wrote, c.segment, c.level, c.known = now, segment, result.Available, true
}

// forget is called when this process itself has changed the rows.
func (c *contention) forget() { c.known = false }
