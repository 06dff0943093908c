package selling

import "time"

// queuedBatches is how many batches in a row must have had several orders, or have left some waiting, with gaps of at most
// lockLinger, for orders to queue. One is not enough: of a thousand SKUs, many meet two orders at a time now and then.
const queuedBatches = 3

// lockRule decides whether a worker takes the lock of its segment. A lock costs two round trips to Redis, and saves the wait for
// another process's commit. It pays while orders queue: since then the row is written all the time, and the worker keeps the lock
// from batch to batch. A SKU that is sold to one buyer at a time needs none.
type lockRule struct {
	always bool      // because locks are fair
	queued int       // batches in a row for which orders queued
	wrote  time.Time // when the last of them ended
}

// locks reports whether to take a lock for a batch.
func (r *lockRule) locks() bool {
	return r.always || r.queued >= queuedBatches && time.Since(r.wrote) <= lockLinger
}

// note learns from the write of a batch, which was ready for its lock at an instant: a wait for that is no gap between batches.
// Some orders wait at the end of the write, before the first answer.
func (r *lockRule) note(ready time.Time, orders, waiting int) {
	if orders < 2 && waiting == 0 || ready.Sub(r.wrote) > lockLinger {
		r.queued = 0
	}
	if orders > 1 || waiting > 0 {
		r.queued++
	}
	r.wrote = time.Now()
}
