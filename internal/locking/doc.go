// Package locking provides distributed locks on Redis: a reentrant Mutex, a FairMutex in strict order of
// arrival, an RWMutex, MultiLock, which takes several locks as one, and RedLock, which is one lock on a
// majority of independent servers. All have a watchdog, fencing tokens and a signal when a lock is lost.
//
//	locks, err := locking.New(rdb)
//	hold, err := locks.Mutex("sku-1/3", locking.Group("sku-1")).Lock(ctx)
//	defer hold.Unlock(ctx)
//	work(hold.Context(), hold.Token())
//
// Locks is one process's way to one server. An owner is who holds locks: it travels in contexts (WithOwner), and
// exclusion is between owners. A Hold is one successful Lock. While it is held the watchdog renews its lease; when it
// is lost its context ends with ErrLost. The token grows with every grant: compare it where you write, for no lock can
// stop a process that does not know that it is late.
//
// PROTOCOL.md, next to this file, explains how it works, and why a lost answer, a late copy, a dead waiter or a clock that
// steps does no harm.
//
// # The files, in the order in which a lock is taken and given back
//
//	locks          New, its options, and the locks that a caller makes: Mutex, FairMutex, RWMutex
//	acquire        Lock and TryLock, for all kinds: look what the caller may do next, ask the server, wait for a wake-up or for the
//	               time to poll, and look again
//	fifo_queue     a first-come lock: each caller has its own place in the queue of the server, and shows by a heartbeat that it lives
//	mutex_line     a mutex: callers stand in a line of this process. Its head asks for all, and queues at the server
//	renew          the watchdog renews leases, and tokens are raised
//	release        Unlock gives the lock to the next in line without a round trip, or the last hold frees it at the server
//	grant          what was granted becomes holds; how grants and leases end in this process
//	cleanup        the cleaner repeats, in the background, what got no answer
//	acquisition    what one Lock wants, how long it waits, and what it asks of a kind of lock
//	kind           the script calls of each kind of lock
//	registry       the types of all this: what one process knows of its locks, the lines of its callers, and the keys of a lock in Redis
//	hold           what a caller gets
//	owner          who holds locks
//	outcome        what callers and an Observer are told
//
// Files use those that come later. Three exceptions name types alone: acquisition has room for a caller of mutex_line, registry
// names what acquisition makes of it, and an owner keeps its RedLocks.
//
// MultiLock is made of these locks, in multilock. So is RedLock: redlock_line is a candidate, with its place in the line of a node, and
// redlock the hold, with the question to all nodes. inspect looks at locks and frees them by force.
//
// Below, internal/scripts has what the server does, with its arguments and answers; internal/server the round trips, pipelines,
// the nodes of a cluster, and the work in the background; internal/subscription the wake-ups. How long anybody waits stands in
// internal/policy.
package locking
