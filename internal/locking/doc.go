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
//	lock           the handles: Mutex, FairMutex, RWMutex, and the options of a call
//	acquire        one loop for all kinds: what may the caller do next, ask, wait until it is woken, polls or gives up, and again
//	mutex_line     callers wait in a line of this process; its head asks for all, and queues at the server; an unlock may
//	               give the lock to the next in line without a round trip
//	fifo_queue     a first-come lock: each caller queues at the server by itself
//	heartbeat      and shows that it lives
//	grant          what was granted becomes holds; how grants and leases end in this process
//	renew          the watchdog renews leases, and tokens are raised
//	release        Unlock: the last hold frees the lock at the server
//	cleanup        the cleaner: what got no answer is cancelled, or repeated in the background
//
// They act on the types of five files: hold is what a caller gets, call one Lock or TryLock with what it waits for, grant what
// was granted, kind where a lock lives in Redis and its script calls, and locks all that one process knows, from New to Close.
// owner, observer and errors know nothing else.
//
// Files use each other in one direction: lock, acquire, fifo_queue, heartbeat, mutex_line, release, cleanup, and then the types.
// Only locks, call, kind and grant, whose types are made of each other, know each other both ways.
//
// MultiLock is made of these locks, in multilock. So is RedLock: redlock is its hold,
// redlock_vote how it is taken, with its questions to all nodes. inspect looks at locks and frees them by force.
//
// Below, internal/scripts has what the server does, with its arguments and answers; internal/server the round trips, pipelines
// and the nodes of a cluster; internal/subscription the wake-ups. How long anybody waits stands in internal/policy.
package locking
