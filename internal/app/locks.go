package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"inventory/internal/locking"
)

// lockLease is how long a segment stays locked after its holder has died.
const lockLease = 5 * time.Second

// openLocks opens the lock library on each server.
func (a *App) openLocks(ctx context.Context, servers redisServers, observer locking.Observer) ([]*locking.Locks, error) {
	var all []*locking.Locks
	silent := new(atomic.Int32)
	for _, server := range servers {
		locks, err := locking.New(server.client, locking.WatchdogLease(lockLease), locking.Observe(&wakeups{Observer: observer, warnings: a.warnings, silent: silent}))
		if err != nil {
			return nil, fmt.Errorf("open locks: %w", err)
		}
		a.onClose(func(context.Context) error { return locks.Close() })
		err = locks.CheckServer(ctx)
		if errors.Is(err, locking.ErrEviction) {
			a.warnings.begin("redis_evicts_locks", "a Redis server throws locks away when its memory is full: set maxmemory-policy noeviction", "error", err)
		}
		if errors.Is(err, locking.ErrRights) {
			a.warnings.begin("redis_refuses_locks", "a Redis server refuses commands that locks need: give its user the rights of OPERATIONS.md", "error", err)
		}
		all = append(all, locks)
	}
	return all, nil
}

// wakeups is an observer of the locks on one server that also warns while no wake-ups come from it.
type wakeups struct {
	locking.Observer
	warnings *warnings
	silent   *atomic.Int32 // how many servers send none
}

// Polling implements [locking.PollingObserver].
func (w *wakeups) Polling(why error) {
	if o, ok := w.Observer.(locking.PollingObserver); ok {
		o.Polling(why)
	}
	switch {
	case why != nil:
		w.silent.Add(1)
		w.warnings.begin(wakeupsWarning, "waiters for locks poll: let the Redis user SUBSCRIBE and PUBLISH (+subscribe +publish &lk:wake:*), through whatever is in between", "error", why)
	case w.silent.Add(-1) == 0:
		w.warnings.end(wakeupsWarning)
	}
}

const wakeupsWarning = "redis_wakes_nobody"

// SegmentLock returns the function that makes the lock of a segment, of the given kind. If one server has the locks of
// all segments of a SKU, they are a group: a merge takes them in one round trip.
func SegmentLock(kind string, locks []*locking.Locks) func(sku string, segment int) locking.Locker {
	name := func(sku string, segment int) string { return sku + "/" + strconv.Itoa(segment) }
	switch kind {
	case LockFair:
		return func(sku string, segment int) locking.Locker {
			return locks[0].FairMutex(name(sku, segment), locking.Group(sku))
		}
	case LockRed:
		return func(sku string, segment int) locking.Locker { return locking.RedLock(name(sku, segment), locks...) }
	default:
		return func(sku string, segment int) locking.Locker {
			return locks[0].Mutex(name(sku, segment), locking.Group(sku))
		}
	}
}
