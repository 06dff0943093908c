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

// locker makes a lock of ours on some servers.
type locker func(nodes []*locking.Locks, name string, s Setting) locking.Locker

// ours are the kinds of locks of this repository. RedLock needs servers of its own.
func ours() []Kind {
	all := []Kind{
		inventory(Mutex, func(on []*locking.Locks, name string, _ Setting) locking.Locker { return on[0].Mutex(name) }),
		inventory(Fair, func(on []*locking.Locks, name string, _ Setting) locking.Locker { return on[0].FairMutex(name) }),
		inventory(RWMutex, func(on []*locking.Locks, name string, _ Setting) locking.Locker { return on[0].RWMutex(name).Writer() }),
		inventory(Reader, func(on []*locking.Locks, name string, s Setting) locking.Locker {
			if s.Rival {
				return on[0].RWMutex(name).Writer()
			}
			return on[0].RWMutex(name).Reader()
		}),
		inventory(MultiLock, func(on []*locking.Locks, name string, _ Setting) locking.Locker {
			parts := make([]locking.Locker, several)
			for i := range parts {
				parts[i] = on[0].Mutex(fmt.Sprint(name, "/", i), locking.Group(name))
			}
			return locking.MultiLock(parts...)
		}),
		inventory(RedLock, func(on []*locking.Locks, name string, _ Setting) locking.Locker { return locking.RedLock(name, on...) }),
	}
	for i := range all {
		switch all[i].Name {
		case Reader:
			all[i].Shared = true
		case RedLock:
			all[i].absent = func(s servers.URLs) bool { return len(s.NodeURLs) == 0 }
		}
	}
	return all
}

// inventory is one of our kinds.
func inventory(kind string, of locker) Kind {
	return Kind{Name: kind, Ours: true, Open: func(ctx context.Context, s Setting) (*Client, error) {
		var opened servers.Closers
		var nodes []*locking.Locks
		urls := []string{s.RedisURL}
		if kind == RedLock {
			urls = s.NodeURLs
		}
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
			nodes = append(nodes, locks)
		}
		return &Client{Lock: func(name string) Lock { return asLock(of(nodes, name, s)) }, Close: opened.Close}, nil
	}}
}

// asLock is a lock of ours as the lab knows locks. Each acquisition is another owner's.
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
