package breaks

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking"
	"inventory/loadtest/internal/servers"
)

// several is how many locks are taken as one.
const several = 3

// ours are the kinds of locks of this repository. RedLock needs servers of its own.
func ours(s servers.URLs) []contender {
	kinds := []contender{
		inventory("inventory mutex", func(l *locking.Locks, name string, _ setting) locking.Locker { return l.Mutex(name) }),
		inventory("inventory fair", func(l *locking.Locks, name string, _ setting) locking.Locker { return l.FairMutex(name) }),
		inventory("inventory rwmutex", func(l *locking.Locks, name string, _ setting) locking.Locker {
			return l.RWMutex(name).Writer()
		}),
		readers(inventory("inventory rwmutex reader", func(l *locking.Locks, name string, s setting) locking.Locker {
			if s.rival {
				return l.RWMutex(name).Writer()
			}
			return l.RWMutex(name).Reader()
		})),
		inventory(fmt.Sprint("inventory multilock of ", several), func(l *locking.Locks, name string, _ setting) locking.Locker {
			parts := make([]locking.Locker, several)
			for i := range parts {
				parts[i] = l.Mutex(fmt.Sprint(name, "/", i), locking.Group(name))
			}
			return locking.MultiLock(parts...)
		}),
	}
	if len(s.NodeURLs) == 0 {
		return kinds
	}
	return append(kinds, contender{
		name: fmt.Sprint("inventory redlock of ", len(s.NodeURLs)), ours: true,
		open: func(ctx context.Context, s setting) (*access, error) {
			return openOurs(ctx, s, s.NodeURLs, func(nodes []*locking.Locks, name string) locking.Locker {
				return locking.RedLock(name, nodes...)
			})
		},
	})
}

// inventory is one of our kinds on one server.
func inventory(name string, locker func(l *locking.Locks, name string, s setting) locking.Locker) contender {
	return contender{name: name, ours: true, open: func(ctx context.Context, s setting) (*access, error) {
		return openOurs(ctx, s, []string{s.RedisURL}, func(nodes []*locking.Locks, name string) locking.Locker {
			return locker(nodes[0], name, s)
		})
	}}
}

// readers are holders who let each other in.
func readers(c contender) contender {
	c.shared = true
	return c
}

// openOurs opens locks on some servers.
func openOurs(ctx context.Context, s setting, urls []string, locker func([]*locking.Locks, string) locking.Locker) (*access, error) {
	var clients []*redis.Client
	var nodes []*locking.Locks
	closeAll := func() error {
		var errs []error
		for _, locks := range nodes {
			errs = append(errs, locks.Close())
		}
		for _, rdb := range clients {
			errs = append(errs, rdb.Close())
		}
		return errors.Join(errs...)
	}
	for _, url := range urls {
		rdb, err := openRedis(ctx, url, s)
		if err != nil {
			return nil, errors.Join(err, closeAll())
		}
		clients = append(clients, rdb)
		locks, err := locking.New(rdb, locking.WatchdogLease(s.lease))
		if err != nil {
			return nil, errors.Join(err, closeAll())
		}
		nodes = append(nodes, locks)
	}
	return &access{
		lock: func(ctx context.Context, name string) (*grip, error) {
			return gripOf(locker(nodes, name).Lock(locking.NewOwner(ctx)))
		},
		try: func(ctx context.Context, name string) (*grip, error) {
			g, err := gripOf(locker(nodes, name).TryLock(locking.NewOwner(ctx)))
			if errors.Is(err, locking.ErrBusy) {
				return nil, nil
			}
			return g, err
		},
		close: closeAll,
	}, nil
}

// gripOf is a hold. A MultiLock shows its row the token of the first part, which is whose row it is.
func gripOf(hold *locking.Hold, err error) (*grip, error) {
	if err != nil {
		return nil, err
	}
	return &grip{
		unlock: hold.Unlock,
		fence: func() fence {
			shown := hold
			if hold.Token() == 0 {
				shown = hold.Parts()[0]
			}
			return fence{shown.Token(), shown.Owner()}
		},
		lost: hold.Context(),
	}, nil
}
