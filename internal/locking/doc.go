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
// # Where things are
//
//	mutex, fifo, fair, rwmutex      the kinds of lock; MultiLock in multilock, RedLock in red...
//	acquire, mutex_ask, fifo_ask    one loop acquires all kinds; how to ask and to wait in line differ
//	registry, admit                 what this process knows of its locks: leases, grants, holds
//	line, waiter, ticket            who waits here
//	hold, lease                     what was granted
//	handoff, release, settlement    how it is given back, or to the next waiter
//	watchdog, keep, deadlines       how leases are renewed, and end
//	wait, wakeup                    how callers wait and are woken
//	internal/cleaner                what is cancelled and repeated in the background
//	internal/heartbeat              shows the server who waits
//	internal/policy                 the wait policy: how long to wait before asking again
//	internal/keys                   addresses of locks
//	internal/scripts                the Lua scripts, their arguments and answers
//	internal/server                 round trips, pipelines, the nodes of a cluster
//	internal/subscription           wake-ups
//	internal/quorum                 a vote of several servers
package locking
