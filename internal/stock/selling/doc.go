// Package selling sells stock. Workers write orders in batches, each batch to one segment. A merge fills orders that no single
// segment can fill.
//
// # The path of a deduction
//
// [Service.Deduct] puts an order into the queue of its SKU. A worker, which sells from one segment at a time, serves the queue
// until it is empty. A process has one worker for each SKU that sells:
//
//		queue ──> lock of a segment ──> one write of all queued orders ──> an answer for each order
//		             │ not in time                     │ does not fit
//		             └─> without it,                   ├─> the next segment that could fill it
//		                 under the guard               └─> none could: merge over all segments
//
//	  - The lock ([Config.Lock]) keeps processes out of each other's way: a process that holds it finds the row free. It
//	    decides nothing. A worker takes it while orders queue, or for each batch if locks are fair. A worker that
//	    does not get it in time, or cannot reach Redis, writes without it.
//	  - The write is one transaction of the [stock.Store], relative and conditional. It locks the segment's row, checks the
//	    fencing token on it, inserts the orders that fit and subtracts what it inserted. This guard is on every path. So a
//	    worker that has lost its lock without noticing changes nothing, and a worker without a lock sells nothing twice.
//	  - Small batches join a shared write ([stock.Sharer]). No goroutine waits for it: the writer pops the orders, replies to
//	    them and starts the next batch.
//	  - The worker keeps the lock from batch to batch while there is work, and offers it to others every turn.
//	  - A merge takes the locks of the segments that hold something as a MultiLock, with its own as a part. Then, with the
//	    locks or without, it locks the rows of all segments, ascending. So its refusals are final. It leaves the
//	    remaining units where single segments can sell them.
//
// # Sold out
//
// A merge that found nothing in any segment creates an entry of the sold-out cache: a fact in three parts, read in one
// snapshot of the [stock.Store]. Nothing is left; these orders have been accepted; these are the versions of the segments.
// An order that was not accepted is refused from the entry in its caller's goroutine, without a queue, a worker or a
// statement. A retry of an accepted order is found among the ids, which are held as hashes, and goes to the worker, which
// looks the row up.
//
//   - It lasts a second. While orders come, reading the versions confirms it before that. Every write raises a version. So
//     while the versions are the same, the ids are complete.
//   - It ends at once when this process restocks or sells, and when a notification reports a restock by another process
//     ([stock.Store.Watch]).
//   - So a refusal was true at most a second before its answer. If a notification is late, an order that another process
//     accepted just after a restock may be refused here for that long when it is repeated. The process that accepted it
//     never refuses it.
//   - While there is no entry (its ids are being read, or do not fit) the worker refuses for a second after its merge, and
//     looks up every id.
//
// # Reservations
//
// A deduction may be a reservation, which ends once: by a commit (of all of it or a part), a cancel, or time.
//
//   - It expires by a write. From the instant of its expiry on, every write that meets it ends it: it cannot be committed,
//     and its units go to the next order that needs them. A merge gives them back before it decides, so no order is refused
//     as sold out while there are such units; an entry of the sold-out cache ends when its first live reservation expires. A
//     read ends an expired reservation before it answers, and a sweep ends the rest. So only written rows are reported as
//     expired.
//   - Its buyer's count is lowered when it ends. If a buyer is at the limit and has expired reservations that still count,
//     they are given back first and the order is tried again.
//
// # Time
//
// The instant that decides about sale windows and expiry is read from the clock of the [stock.Store], once the write has
// locked the last row that it has to wait for. For a test it may be another clock ([Config.Clock]).
//
// Nothing is written for a request after its deadline: the earlier of its context's deadline and [Config.AnswerWithin] after
// it came. The store checks every commit against it, wherever the write was delayed. Nothing is written either for a caller
// whose context has ended when the write begins. So a refusal is final once that time has passed since the last attempt
// that got no answer.
//
// # Order ids
//
// The shop's order ids are one namespace. Each buyer who orders with a token has another. Stores see order keys, which
// contain the buyer: see internal/stock/orderkey.go.
//
// # Terms
//
// A SKU may have a sale window, a limit of units for each buyer, and one for each order ([stock.Terms]). A worker reads them
// with the segments. A change of terms raises the layout, so a write by old terms is refused, and the worker reads again. It
// also reads again before it refuses an order by terms, and refuses nothing if the lookup of its id then takes longer than a second.
// So the reason of a refusal was true after the order came. The buyer limit is a constraint of the database as well.
//
// # Failure cases
//
//   - The database does not answer, or the connection breaks in a commit: the outcome is not known. The orders of the batch
//     are told so, and asking again with the same order id tells what happened. If it fails before a commit was sent, they are
//     told that nothing was written ([stock.ErrUnwritten]).
//   - The process dies: what was not committed never was; what was is found by its order id; its locks expire.
//   - The token is refused ([stock.FencedError]): somebody has held the lock since, and the worker goes on without it. Or a
//     Redis with a clock ahead has been here; then the worker still holds its lock, gets a token above the row's, and goes on
//     with that.
//   - Somebody else holds the row of a segment for long: a write waits 50 ms for it, and then takes from another segment. That segment
//     is tried last for half a second, and for up to eight if it is still held. A merge leaves out rows that are held. Orders that only
//     these could fill are not decided (503, nothing is written). Units that come back go to rows that are free. Resegmenting, fewer
//     units and new terms wait for all rows.
//   - Redis is gone: a breaker keeps workers from waiting for it, and finds out when it is back. All goes on under the guard.
//   - A caller leaves: its order is dropped if its write has not begun, and finished if it has.
//   - A write comes too late ([stock.ErrLate]): nothing was written. The orders of its batch that still have time are
//     written again.
//   - A constraint fires ([stock.ErrGuard]): nothing was written. The batch is done over in halves until the order that
//     violates it is alone. It is counted and logged, because no statement of ours should get that far.
package selling
