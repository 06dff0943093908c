// Package selling sells stock: lanes that serve orders in batches, merges for what no
// single segment can fill.
//
// # The way of a deduction
//
// [Service.Deduct] puts an order into the queue of its SKU. A lane serves it, a goroutine that works at one segment at a
// time. A process has one for each SKU that sells, and more while orders crowd in that one lane does not keep up with:
//
//		queue ──> lock of a segment ──> one write of all that has queued ──> an answer for each order
//		             │ not in time                     │ does not fit
//		             └─> without it,                   ├─> the next segment that could fill it
//		                 under the guard               └─> none could: merge over all segments
//
//	  - The lock ([Config.Lock]) keeps processes out of each other's way: who holds it finds the row free. It decides
//	    nothing. A lane that does not get it in time, or has no Redis to ask, writes without it.
//	  - The write is one transaction of the [stock.Store], relative and conditional: it locks the segment's row, checks the
//	    fencing token on it, inserts the orders that fit and subtracts what it inserted. This guard is on every path,
//	    so a lane that lost its lock without knowing it changes nothing, and one without a lock sells nothing twice.
//	  - The lane keeps the lock from batch to batch while there is work, and offers it to others every turn.
//	  - A merge takes the locks of the segments that hold something as a MultiLock, with its own as a part, and then,
//	    with them or without, the rows of all segments, ascending. So what it refuses is refused truly. It leaves the
//	    rest where single segments can sell it.
//
// # Sold out
//
// A merge that found nothing in any segment begins a memory of the SKU: a fact in three parts that one snapshot of the
// [stock.Store] told. Nothing is left; these orders have been accepted; these are the versions of the segments. A loser is
// refused from it in its own goroutine, without a queue, a lane or a statement. A winner who asks again is found among
// the ids, held as hashes, and goes through the lane, which looks the row up.
//
//   - It lasts a second. While buyers ask, a look at the versions confirms it before that: every write raises one, so
//     where they are the same, the ids still are all there are.
//   - It ends at once when this process restocks or sells, and when another's restock is heard of ([stock.Store.Watch]).
//   - So a refusal was true at most a second before its answer. Until then, where the notice is late, also a winner
//     who bought from another process just after a restock may be refused here; the process that sold never does that.
//   - Where there is no memory (ids are being read, or find no room) the lane refuses for a second after its merge, and
//     looks up every id.
//
// # Reservations
//
// A deduction may be a reservation, which ends once: by a commit (of all of it or a part), a cancel, or time.
//
//   - It expires by a write. From the instant of its expiry on, every write that meets it ends it: it cannot be committed,
//     and its units are for the next order that needs them. A merge gives them back before it decides, so nobody is told
//     "sold out" while they are there; the memory of a SKU that sold out ends with its first live reservation. Whoever
//     reads it has it ended first, and a sweep ends what nobody asks for. So "expired" is told of written rows alone.
//   - Its buyer's count is lowered with its end. Where a batch meets a buyer at its limit and expired reservations that still
//     count, they go back first and the order is tried again.
//
// # Time
//
// The instant that decides about windows and expiry is read from the clock of the [stock.Store], once the last row is locked
// that a write has to wait for. For a test it may be another clock ([Config.Clock]).
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
// A SKU may be sold in a window of time, a number of units a buyer, a number of units an order ([stock.Terms]). They never
// change, so a lane reads them once. The buyer limit is a constraint of the database as well.
//
// # Failure cases
//
//   - The database does not answer, or the connection breaks in a commit: the outcome is not known. The orders of
//     the batch are told so, and asking again with the same order id tells what happened.
//   - The process dies: what was not committed never was; what was is found by its order id; its locks expire.
//   - The token is refused ([stock.FencedError]): somebody has held the lock since, and the lane goes on without it. Or a
//     Redis with a clock ahead has been here; then the lane still holds its lock, gets a token above the row's, and
//     goes on with that.
//   - Redis is gone: a breaker keeps lanes from waiting for it, and finds out when it is back. All goes on under the
//     guard.
//   - A caller leaves: its order is dropped if its write has not begun, and finished if it has.
//   - A write comes too late ([stock.ErrLate]): nothing was written. Those of its batch who still have time are written again.
//   - A constraint fires ([stock.ErrGuard]): nothing was written. The batch is done over in halves until the order that
//     violates it stands alone. It is counted and logged, because no statement of ours should get that far.
package selling
