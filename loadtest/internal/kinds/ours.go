package kinds

import (
	"context"
	"errors"
	"fmt"

	"inventory/internal/locking"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/textbook"
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
	reader := onOne(Reader, func(l *locking.Locks, name string, s Setting) locking.Locker {
		if s.Rival {
			return l.RWMutex(name).Writer()
		}
		return l.RWMutex(name).Reader()
	})
	reader.Shared = true
	redLock := inventory(RedLock, func(s Setting) []string { return s.NodeURLs }, func(nodes []*locking.Locks, name string, _ Setting) locking.Locker {
		return locking.RedLock(name, nodes...)
	})
	redLock.absent = func(s servers.URLs) bool { return len(s.NodeURLs) == 0 }
	return []Kind{
		onOne(Mutex, func(l *locking.Locks, name string, _ Setting) locking.Locker { return l.Mutex(name) }),
		onOne(Fair, func(l *locking.Locks, name string, _ Setting) locking.Locker { return l.FairMutex(name) }),
		onOne(RWMutex, func(l *locking.Locks, name string, _ Setting) locking.Locker { return l.RWMutex(name).Writer() }),
		reader,
		onOne(MultiLock, func(l *locking.Locks, name string, _ Setting) locking.Locker {
			parts := make([]locking.Locker, several)
			for i := range parts {
				parts[i] = l.Mutex(fmt.Sprint(name, "/", i), locking.Group(name))
			}
			return locking.MultiLock(parts...)
		}),
		redLock,
	}
}

// onOne is one of our kinds on one server.
func onOne(name string, locker func(l *locking.Locks, name string, s Setting) locking.Locker) Kind {
	return inventory(name, func(s Setting) []string { return []string{s.RedisURL} }, func(nodes []*locking.Locks, name string, s Setting) locking.Locker {
		return locker(nodes[0], name, s)
	})
}

// inventory is one of our kinds on some servers.
func inventory(name string, urls func(Setting) []string, locker func(nodes []*locking.Locks, name string, s Setting) locking.Locker) Kind {
	return Kind{Name: name, Ours: true, Open: func(ctx context.Context, s Setting) (*Client, error) {
		var opened servers.Closers
		var nodes []*locking.Locks
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
			nodes = append(nodes, locks)
		}
		return &Client{
			Lock:  func(name string) textbook.Lock { return ourLock{locker(nodes, name, s)} },
			Close: opened.Close,
		}, nil
	}}
}

// ourLock is a lock of ours as the lab knows locks. Each acquisition is another owner's.
type ourLock struct{ locker locking.Locker }

// Lock implements [textbook.Lock].
func (l ourLock) Lock(ctx context.Context) (textbook.Hold, error) {
	return held(l.locker.Lock(locking.NewOwner(ctx)))
}

// TryLock implements [textbook.Lock].
func (l ourLock) TryLock(ctx context.Context) (textbook.Hold, error) {
	return held(l.locker.TryLock(locking.NewOwner(ctx)))
}

func held(hold *locking.Hold, err error) (textbook.Hold, error) {
	switch {
	case errors.Is(err, locking.ErrBusy):
		return nil, errors.Join(textbook.ErrBusy, err)
	case err != nil:
		return nil, err
	}
	return hold, nil
}
