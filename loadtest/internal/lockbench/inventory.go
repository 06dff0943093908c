package lockbench

import (
	"context"
	"errors"
	"fmt"

	"inventory/internal/locking"
	"inventory/loadtest/internal/servers"
)

// Names that targets are about.
const (
	mutexName = "inventory mutex"
	fairName  = "inventory fair"
)

// inventoryMutex is the mutex of this repository.
func inventoryMutex() kind {
	return inventory(mutexName, func(l *locking.Locks, name string) locking.Locker { return l.Mutex(name) })
}

// inventoryFair is the first-come lock.
func inventoryFair() kind {
	return inventory(fairName, func(l *locking.Locks, name string) locking.Locker { return l.FairMutex(name) })
}

// inventoryWriter is the write side of the read-write lock.
func inventoryWriter() kind {
	return inventory("inventory rwmutex", func(l *locking.Locks, name string) locking.Locker {
		return l.RWMutex(name).Writer()
	})
}

// inventoryReader is its read side.
func inventoryReader() kind {
	return inventory("inventory rwmutex reader", func(l *locking.Locks, name string) locking.Locker {
		return l.RWMutex(name).Reader()
	})
}

// several is how many locks are taken as one.
const several = 3

// inventoryMultiLock is several mutexes as one.
func inventoryMultiLock() kind {
	return inventory("inventory multilock of 3", func(l *locking.Locks, name string) locking.Locker {
		parts := make([]locking.Locker, several)
		for i := range parts {
			parts[i] = l.Mutex(fmt.Sprint(name, "/", i), locking.Group(name))
		}
		return locking.MultiLock(parts...)
	})
}

// inventory is one of our kinds.
func inventory(name string, locker func(l *locking.Locks, name string) locking.Locker) kind {
	return kind{name: name, ours: true, open: func(ctx context.Context, s servers.URLs, callers int) (client, error) {
		w, err := openWire(ctx, s.RedisURL, callers)
		if err != nil {
			return nil, err
		}
		locks, err := locking.New(w.rdb)
		if err != nil {
			return nil, errors.Join(err, w.rdb.Close())
		}
		return &inventoryClient{wire: w, locks: locks, locker: locker}, nil
	}}
}

type inventoryClient struct {
	wire   *wire
	locks  *locking.Locks
	locker func(l *locking.Locks, name string) locking.Locker
}

func (c *inventoryClient) commands() int64 { return c.wire.commands.Load() }

func (c *inventoryClient) handle(name string) handle { return inventoryHandle{c.locker(c.locks, name)} }

func (c *inventoryClient) close() error { return errors.Join(c.locks.Close(), c.wire.rdb.Close()) }

type inventoryHandle struct{ locker locking.Locker }

func (h inventoryHandle) lock(ctx context.Context) (hold, error) {
	held, err := h.locker.Lock(ctx)
	if err != nil {
		return nil, err
	}
	return held, nil
}
