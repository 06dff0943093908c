package lockbench

import (
	"context"
	"errors"

	"inventory/internal/locking"
)

// inventoryMutex is the mutex of this repository.
func inventoryMutex() kind {
	return inventory("inventory mutex", func(l *locking.Locks, name string) locking.Locker { return l.Mutex(name) })
}

// inventory is one of our kinds.
func inventory(name string, locker func(l *locking.Locks, name string) locking.Locker) kind {
	return kind{name: name, ours: true, open: func(ctx context.Context, s Servers, callers int) (client, error) {
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
