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
// # The way of a contended Mutex
//
//	 1  lock          Lock of a Mutex: its address, the options of the call
//	 2  acquire       one loop for all kinds: what may the caller do next, ask, wait, and again
//	 3  mutex_line    callers wait in a line of this process; its head asks for all, and queues at the server
//	 4  kind          the script calls of each kind of lock
//	 5  internal/scripts, acquire.lua    what the server does, its arguments and answers
//	 6  internal/server                  round trips, pipelines, the nodes of a cluster
//	 7  wait          the caller sleeps until it is woken, polls or gives up
//	 8  internal/subscription            wake-ups from other processes
//	 9  registry      what was granted: the lease, its grant, its holds and their deadlines
//	10  renew         the watchdog, and a MultiLock, renew leases
//	11  hold          what the caller gets: context, token, time that is left
//	12  release       Unlock: the last hold frees the lock at the server
//	13  handoff       or gives it to the next in line
//
// A first-come lock goes the same way, with fifo_queue in place of mutex_line: each of its callers queues at the server
// by itself, and internal/heartbeat shows that it lives. MultiLock and RedLock are made of these locks, in multilock and
// redlock; internal/quorum counts the votes. What got no answer, internal/cleaner cancels or repeats. How long anybody waits
// stands in internal/policy, what keys look like in internal/keys.
package locking
