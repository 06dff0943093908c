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
func ours() []Kind {
	kind := func(name string, of func(on *locking.Locks, name string, s Setting) locking.Locker) Kind {
		return Kind{Name: name, Ours: true, OnRedis: true, Open: openLocks(func(s Setting) []string { return []string{s.RedisURL} },
			func(on []*locking.Locks, name string, s Setting) locking.Locker { return of(on[0], name, s) })}
	}
	reader := kind(Reader, func(on *locking.Locks, name string, s Setting) locking.Locker {
		if s.Rival {
			return on.RWMutex(name).Writer()
		}
		return on.RWMutex(name).Reader()
	})
	reader.Shared = true
	return []Kind{
		kind(Mutex, func(on *locking.Locks, name string, _ Setting) locking.Locker { return on.Mutex(name) }),
		kind(Fair, func(on *locking.Locks, name string, _ Setting) locking.Locker { return on.FairMutex(name) }),
		kind(RWMutex, func(on *locking.Locks, name string, _ Setting) locking.Locker { return on.RWMutex(name).Writer() }),
		reader,
		kind(MultiLock, func(on *locking.Locks, name string, _ Setting) locking.Locker {
			parts := make([]locking.Locker, several)
			for i := range parts {
				parts[i] = on.Mutex(fmt.Sprint(name, "/", i), locking.Group(name))
			}
			return locking.MultiLock(parts...)
		}),
		{
			Name: RedLock, Ours: true, OnRedis: true, absent: func(s servers.URLs) bool { return len(s.NodeURLs) == 0 },
			Open: openLocks(func(s Setting) []string { return s.NodeURLs },
				func(on []*locking.Locks, name string, _ Setting) locking.Locker { return locking.RedLock(name, on...) }),
		},
	}
}

// openLocks opens locks of ours on some servers. Each acquisition has a new owner.
func openLocks(urls func(Setting) []string, of func(on []*locking.Locks, name string, s Setting) locking.Locker) func(context.Context, Setting) (*Client, error) {
	return func(ctx context.Context, s Setting) (*Client, error) {
		var opened servers.Closers
		var on []*locking.Locks
		for _, url := range urls(s) {
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
