package kinds

import (
	"context"
	"errors"
	"fmt"

	"inventory/internal/locking"
	"inventory/loadtest/internal/servers"
)

// several is how many locks are taken as one.
const several = 3

// The names of our kinds.
const (
	Mutex     = "inventory mutex"
	Fair      = "inventory fair"
	RWMutex   = "inventory rwmutex"
	Reader    = "inventory rwmutex reader"
	MultiLock = "inventory multilock of 3"
	RedLock   = "inventory redlock of 3"
)

// ours are the kinds of locks of this repository. RedLock needs servers of its own.
func ours(at servers.URLs) []Kind {
	kind := func(name string, of lockOfOurs) Kind {
		return Kind{Name: name, Ours: true, OnRedis: true, Shared: name == Reader, Open: openLocks(of, at.RedisURL)}
	}
	all := []Kind{
		kind(Mutex, func(on []*locking.Locks, name string, _ Setting) locking.Locker { return on[0].Mutex(name) }),
		kind(Fair, func(on []*locking.Locks, name string, _ Setting) locking.Locker { return on[0].FairMutex(name) }),
		kind(RWMutex, func(on []*locking.Locks, name string, _ Setting) locking.Locker { return on[0].RWMutex(name).Writer() }),
		kind(Reader, func(on []*locking.Locks, name string, s Setting) locking.Locker {
			if s.Rival {
				return on[0].RWMutex(name).Writer()
			}
			return on[0].RWMutex(name).Reader()
		}),
		kind(MultiLock, func(on []*locking.Locks, name string, _ Setting) locking.Locker {
			parts := make([]locking.Locker, several)
			for i := range parts {
				parts[i] = on[0].Mutex(fmt.Sprint(name, "/", i), locking.Group(name))
			}
			return locking.MultiLock(parts...)
		}),
	}
	if len(at.NodeURLs) > 0 {
		all = append(all, Kind{Name: RedLock, Ours: true, OnRedis: true, Open: openLocks(
			func(on []*locking.Locks, name string, _ Setting) locking.Locker { return locking.RedLock(name, on...) }, at.NodeURLs...)})
	}
	return all
}

// lockOfOurs is a lock of a name on some servers.
type lockOfOurs func(on []*locking.Locks, name string, s Setting) locking.Locker

// openLocks opens locks of ours on some servers. Each acquisition has a new owner.
func openLocks(of lockOfOurs, urls ...string) func(context.Context, Setting) (*Client, error) {
	return func(ctx context.Context, s Setting) (*Client, error) {
		var opened servers.Closers
		var on []*locking.Locks
		for _, url := range urls {
			rdb, err := OpenRedis(ctx, url, s)
			if err != nil {
				return nil, errors.Join(err, opened.Close())
			}
			opened.OnClose(rdb.Close)
			locks, err := locking.New(rdb, locking.WatchdogLease(s.Lease))
			if err != nil {
				return nil, errors.Join(err, opened.Close())
			}
			opened.OnClose(locks.Close)
			on = append(on, locks)
		}
		return &Client{Close: opened.Close, Lock: func(name string) Lock {
			lock := of(on, name, s)
			return func(ctx context.Context) (Hold, error) {
				hold, err := lock.Lock(locking.NewOwner(ctx))
				if err != nil { // and not a hold that is nil, but has a type
					return nil, err
				}
				return hold, nil
			}
		}}, nil
	}
}
