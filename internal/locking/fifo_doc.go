// Package locking has two kinds of lock that are first come, first served.
//
// # Fair and read-write
//
// FairMutex and RWMutex are one protocol: a lock with a writing side, and for the RWMutex a
// reading side, in front of which callers queue at the server, each with a ticket of its own.
//
// # Keys of first-come locks
//
// A FairMutex has the roles f..., an RWMutex rw...; the keys of the reading side exist for an RWMutex only.
//
//	f   rw    hash    the writing side: writer -> count, seq (last attempt), token    TTL: its lease
//	    rwr   zset    reader -> expiry, ms of the server's clock                      the longest of them
//	    rwc   hash    reader -> "count seq token"; token of the phase                 the same
//	fq  rwq   zset    waiting writer -> score                                         1 min
//	    rws   zset    waiting reader -> score                                         1 min
//	fh  rwh   zset    waiter -> deadline of its heartbeat                             1 min
//	fp  rwp   string  when the lock was talked about, when the dead may be dropped    1 min
//
// Writers and readers are holders as those of a Mutex are: each grant has a name of its own, and an owner that has both
// sides has two. So whoever asks tells what its owner is called on the other side. A waiter is PROCESS:TICKET. Both
// queues draw their scores from one sequence, the highest of the last one + 1 and the server's time in microseconds:
// together they are one queue, in which the first writer is found without a look at the readers. A wake-up is "TICKET
// STATE-KEY" on the channel of the process.
//
// # States of a FairMutex, and of the writing side
//
//	           acquire, nobody queues            acquire, same owner: count + 1
//	+------+ ---------------------------> +------+ <--+
//	| free |                              | held | ---+     release: count - 1
//	+------+ <--------------------------- +------+          renew: expiry put off
//	    ^      last release, queue empty   |    ^
//	    |                     last release,|    | acquire by the head
//	    |                     or the lease |    |
//	    | all have left       runs out     v    |
//	    +-------------------------------- +----------+
//	                                      | the head | --+  the head leaves or dies:
//	                                      | is next  | <-+  the next is the head
//	                                      +----------+
//
// A free lock with a queue belongs to the head of the queue: whoever else asks queues, or finds it busy. So
// nobody passes a waiter that lives, however long it takes to come; and one that dies holds up the others for
// as long as its heartbeat lasts, which is 3 s.
//
// # States of an RWMutex
//
//	                      W: write lock, w: its release; R: read lock, r: the last reader's release
//
//	         W                        R by the writer
//	 +------+ -> +---------+ ------------------------> +-------------------+
//	 | free |    | written |                           | written, and read |
//	 +------+ <- +---------+ <------------------------ | by the writer     |
//	  |    ^  w                r: still written        +-------------------+
//	  |    |                                                    | w: the writer has become a reader,
//	R |    | r        +------+                                  v    and others may enter
//	  |    +--------- | read | <--------------------------------+
//	  +-------------> +------+  R by anybody who waits behind no writer
//
// A reader enters if nobody writes and no writer came before it. So the readers at the head enter together, and
// those who come later, up to the first writer who waits, join them. A writer enters if nobody reads or
// writes and nobody came before it. An owner that has a side gets it again without a look at the queue. An
// owner that reads and does not write is refused the writing side with ErrUpgrade, also while it waits for it.
//
// A phase is a time of reading without a break. It begins when a reader enters a lock without readers, also
// when that is the writer itself, and has one token, minted then: it is above that of the writer before it
// and below that of the next. Each reader keeps the token that it came with. Where TokenAbove raises a writer that reads
// as well, its phase and its reading hold rise above it.
//
// A reader that its owner took under the writer's context, or under one made of that, goes on when the writer is
// unlocked: its context ends as the other one does, but not by that. Then it follows what the writer's Lock was
// called with.
//
// Each reader has an expiry of its own. It is what its own renewals and releases change, and nobody else's. The
// keys live as long as the last one; readers whose time is over are forgotten by whoever comes next, at most
// 100 in one script, so that no script looks at all readers.
//
// # Waiting of first-come locks
//
// Every caller tries; if the lock is busy, the same script gives it a place in the queue, which is held by its
// ticket. A release, and whoever leaves the queue, wakes those who may enter now: the first writer, or the
// readers before it. 100 are woken at once; then each one that enters wakes one more.
//
// Once a second a process shows for all its tickets that they live, in one round trip, and asks in the same script
// whose turn it is: so a wake-up that got lost costs a second. The answer tells as well when the lease of
// the holder ends, and then the process asks at once. Where it is told that a ticket has no place, as after a
// FLUSHALL, its caller queues again.
//
// # Failures of first-come locks
//
// A waiter dies. Its deadline passes, and whoever finds it in its way, or beats next, drops it and wakes the
// next. A waiter whose process was stopped for longer queues again, behind the others. One that gives up is taken out
// of the queue as soon as the server answers, however long that takes.
//
// The server stands still. When it goes on all deadlines have passed, but nobody is dead. If nobody has talked
// about the lock for 2 s, nobody is dropped for 3 s. The time of a talk is what its script has read, for the
// server may have stood still in the middle of it. A waiter asks on for 10 s when it gets no answer.
//
// The server's clock steps. Scores never fall. A step forward looks like a pause; after a step back, deadlines
// and the pause for the dead are cut to what they can be at most. Expiries are as wrong as a TTL would be.
//
// The answer to a waiter's attempt is lost. It keeps its place and asks again, for the same grant: if the lost attempt
// was granted, the next is told so, with the same token. The lost one gets a tombstone. When the waiter gives up after
// that, it also says that nobody has that grant, in the same script as it leaves the queue.
package locking
