package selling

import (
	"time"

	"inventory/internal/stock"
)

// When a worker takes the lock of its segment. A lock costs two round trips to Redis, a collision on a row the wait for
// another's commit.
const (
	queuedBatches = 3             // of several orders, or with orders waiting at their end, at most lockLinger apart
	metWithin     = lockTurn      // after a write that ended so long ago, a change of the row is by somebody who sells now
	metFor        = 10 * lockTurn // for so long after somebody else was met
)

// contention tells a worker whether the lock of its segment saves waiting. It does while orders queue for the SKU, since
// then the row is written again and again; and while others are met on the rows. A SKU that one process sells to one buyer
// at a time needs none.
type contention struct {
	always bool
	queued int       // batches in a row for which orders queued
	met    time.Time // when somebody else was; the zero time: never

	wrote   time.Time // when the last write ended, of this segment
	segment int
	level   int64 // what it held then
	known   bool  // this process has not changed that since
	leaves  bool  // no orders queue, and somebody else sells from it too
}

// locks tells whether to take a lock now.
func (c *contention) locks() bool {
	now := time.Now()
	queues := c.queued >= queuedBatches && now.Sub(c.wrote) <= lockLinger
	return c.always || queues || now.Sub(c.met) < metFor
}

// note learns from the write of a batch, which has taken some units. waiting is how many orders wait at its end, before
// anybody is answered.
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
