// Package selling sells stock. Workers write orders in batches, each batch to one segment; a merge fills what no single
// segment can fill.
//
// # The way of a deduction
//
// [Service.Deduct] puts an order into the queue of its SKU. A worker serves the queue: a goroutine that sells from one
// segment at a time. A process has one worker for each SKU that sells, and extra ones while there is a backlog:
//
//		queue ──> lock of a segment ──> one write of all that has queued ──> an answer for each order
//		             │ not in time                     │ does not fit
//		             └─> without it,                   ├─> the next segment that could fill it
//		                 under the guard               └─> none could: merge over all segments
//
//	  - The lock ([Config.Lock]) keeps processes out of each other's way: a process that holds it finds the row free. It
//	    decides nothing. A worker takes it while orders queue, or others are met on the rows. One that does not get it in
//	    time, or has no Redis to ask, writes without it.
//	  - The write is one transaction of the [stock.Store], relative and conditional. It locks the segment's row, checks the
//	    fencing token on it, inserts the orders that fit and subtracts what it inserted. This guard is on every path. So a
//	    worker that has lost its lock without knowing it changes nothing, and one without a lock sells nothing twice.
//	  - The worker keeps the lock from batch to batch while there is work, and offers it to others every turn.
//	  - A merge takes the locks of the segments that hold something as a MultiLock, with its own as a part. Then, with the
//	    locks or without, it locks the rows of all segments, ascending. So its refusals are final. It leaves the rest where
//	    single segments can sell it.
//
// # Sold out
//
// A merge that found nothing in any segment begins an entry of the sold-out cache: a fact in three parts that one snapshot
// of the [stock.Store] told. Nothing is left; these orders have been accepted; these are the versions of the segments. A
// loser is refused from it in its own goroutine, without a queue, a worker or a statement. A winner who asks again is found
// among the ids, which are held as hashes, and goes through the worker, which looks the row up.
//
//   - It lasts a second. While buyers ask, reading the versions refreshes it before that. Every write raises one, so while
//     they are the same, the ids are all there are.
//   - It ends at once when this process restocks or sells, and when a notification tells of another's restock
//     ([stock.Store.Watch]).
//   - So a refusal was true at most a second before its answer. Until then, if the notification is late, a winner who bought
//     from another process just after a restock may be refused here too. The process that sold never does that.
//   - While there is no entry (ids are being read, or find no room) the worker refuses for a second after its merge, and
//     looks up every id.
//
// # Reservations
//
// A deduction may be a reservation, which ends once: by a commit (of all of it or a part), a cancel, or time.
//
//   - It expires by a write. From the instant of its expiry on, every write that meets it ends it: it cannot be committed,
//     and its units are for the next order that needs them. A merge gives them back before it decides, so nobody is told
//     "sold out" while they are there; an entry of the sold-out cache ends with its first live reservation. A read ends it
//     first, and a sweep ends what nobody asks for. So "expired" is told of written rows alone.
//   - Its buyer's count is lowered when it ends. If a batch meets a buyer at the limit and expired reservations that still
//     count, they are given back first and the order is tried again.
//
// # Time
//
// The instant that decides about sale windows and expiry is read from the clock of the [stock.Store], once the write has
// locked the last row that it has to wait for. For a test it may be another clock ([Config.Clock]).
//
// Nothing is written for a request after its deadline: that of its context, and [Config.AnswerWithin] from when it came.
// The store holds every commit to it, wherever the write was held up. Nor is anything written for a caller whose context
// has ended when the write begins. So a refusal is final once that time has passed since the last attempt that got no
// answer.
//
// # Order ids
//
// Those of a shop are one namespace, those of each buyer who orders with a token are another. Stores see keys, in which
// the buyer is contained: see internal/stock/orderkey.go.
//
// # Terms
//
// A SKU may have a sale window, a number of units a buyer, a number of units an order ([stock.Terms]). A worker reads them with
// the segments. A change of terms raises the layout, so a write by old terms is refused, and the worker reads anew; it does so
// too before it refuses anybody by terms. The buyer limit is a constraint of the database as well.
//
// # Failure cases
//
//   - The database does not answer, or the connection breaks in a commit: the outcome is not known. The orders of the batch
//     are told so, and asking again with the same order id tells what happened.
//   - The process dies: what was not committed never was; what was is found by its order id; its locks expire.
//   - The token is refused ([stock.FencedError]): somebody has held the lock since, and the worker goes on without it. Or a
//     Redis with a clock ahead has been here; then the worker still holds its lock, gets a token above the row's, and goes on
//     with that.
//   - Redis is gone: a breaker keeps workers from waiting for it, and finds out when it is back. All goes on under the guard.
//   - A caller leaves: its order is dropped if its write has not begun, and finished if it has.
//   - A write comes too late ([stock.ErrLate]): nothing was written. The orders of its batch that still have time are
//     written again.
//   - A constraint fires ([stock.ErrGuard]): nothing was written. The batch is done over in halves until the order that
//     violates it is alone. It is counted and logged, because no statement of ours should get that far.
package selling
