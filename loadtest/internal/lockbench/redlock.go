package lockbench

import (
	"context"
	"errors"

	"inventory/internal/locking"
	"inventory/loadtest/internal/servers"
)

// inventoryRedLock is one lock on three independent servers.
func inventoryRedLock() kind {
	return kind{
		name: "inventory redlock of 3", ours: true,
		absent: func(s servers.URLs) bool { return len(s.NodeURLs) == 0 },
		open: func(ctx context.Context, s servers.URLs, callers int) (client, error) {
			c := &redLockClient{}
			for _, url := range s.NodeURLs {
				w, err := openWire(ctx, url, callers)
				if err != nil {
					return nil, errors.Join(err, c.close())
				}
				c.wires = append(c.wires, w)
				locks, err := locking.New(w.rdb)
				if err != nil {
					return nil, errors.Join(err, c.close())
				}
				c.nodes = append(c.nodes, locks)
			}
			return c, nil
		},
	}
}

type redLockClient struct {
	wires []*wire
	nodes []*locking.Locks
}

func (c *redLockClient) commands() (sum int64) {
	for _, w := range c.wires {
		sum += w.commands.Load()
	}
	return sum
}

func (c *redLockClient) handle(name string) handle {
	return inventoryHandle{locking.RedLock(name, c.nodes...)}
}

func (c *redLockClient) close() error {
	var errs []error
	for _, locks := range c.nodes {
		errs = append(errs, locks.Close())
	}
	for _, w := range c.wires {
		errs = append(errs, w.rdb.Close())
	}
	return errors.Join(errs...)
}
