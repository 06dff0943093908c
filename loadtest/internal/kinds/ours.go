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
	one := func(s servers.URLs) []string { return []string{s.RedisURL} }
	nodes := func(s servers.URLs) []string { return s.NodeURLs }
	return []Kind{
		{Name: Mutex, Ours: true, Open: openLocks(one, func(on []*locking.Locks, name string, _ Setting) locking.Locker { return on[0].Mutex(name) })},
		{Name: Fair, Ours: true, Open: openLocks(one, func(on []*locking.Locks, name string, _ Setting) locking.Locker { return on[0].FairMutex(name) })},
		{Name: RWMutex, Ours: true, Open: openLocks(one, func(on []*locking.Locks, name string, _ Setting) locking.Locker {
			return on[0].RWMutex(name).Writer()
		})},
		{Name: Reader, Ours: true, Shared: true, Open: openLocks(one, func(on []*locking.Locks, name string, s Setting) locking.Locker {
			if s.Rival {
				return on[0].RWMutex(name).Writer()
			}
			return on[0].RWMutex(name).Reader()
		})},
		{Name: MultiLock, Ours: true, Open: openLocks(one, func(on []*locking.Locks, name string, _ Setting) locking.Locker {
			parts := make([]locking.Locker, several)
			for i := range parts {
				parts[i] = on[0].Mutex(fmt.Sprint(name, "/", i), locking.Group(name))
			}
			return locking.MultiLock(parts...)
		})},
		{
			Name: RedLock, Ours: true, absent: func(s servers.URLs) bool { return len(s.NodeURLs) == 0 },
			Open: openLocks(nodes, func(on []*locking.Locks, name string, _ Setting) locking.Locker { return locking.RedLock(name, on...) }),
		},
	}
}

// openLocks opens locks of ours on some servers.
func openLocks(urls func(servers.URLs) []string, of func(on []*locking.Locks, name string, s Setting) locking.Locker) func(context.Context, Setting) (*Client, error) {
	return func(ctx context.Context, s Setting) (*Client, error) {
		var opened servers.Closers
		var on []*locking.Locks
		for _, url := range urls(s.URLs) {
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
		return &Client{Lock: func(name string) Lock { return asLock(of(on, name, s)) }, Close: opened.Close}, nil
	}
}

// asLock is a lock of ours as a [Lock]. Each acquisition has a new owner.
func asLock(l locking.Locker) Lock {
	return func(ctx context.Context, wait bool) (Hold, error) {
		take := l.TryLock
		if wait {
			take = l.Lock
		}
		hold, err := take(locking.NewOwner(ctx))
		switch {
		case errors.Is(err, locking.ErrBusy):
			return nil, errors.Join(ErrBusy, err)
		case err != nil:
			return nil, err
		}
		return hold, nil
	}
}
