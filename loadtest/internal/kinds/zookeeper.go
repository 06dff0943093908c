package kinds

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// Sequential is what ZooKeeper's recipe for a lock is called.
const Sequential = "ZooKeeper sequential nodes"

// session is how long ZooKeeper believes that a client lives which has crashed.
const session = 10 * time.Second

// openSequential connects to ZooKeeper, and returns when there is a session, which all callers share, as its documentation says.
func openSequential(ctx context.Context, s Setting) (*Client, error) {
	dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
		conn, err := net.DialTimeout(network, address, timeout)
		return packets{conn, s.Meter}, err
	}
	connection, events, err := zk.Connect([]string{s.ZooKeeper}, session, zk.WithDialer(dial), zk.WithLogger(silence{}))
	if err != nil {
		return nil, fmt.Errorf("reach ZooKeeper: %w", err)
	}
	for {
		select {
		case event := <-events:
			if event.State == zk.StateHasSession {
				return &Client{
					Lock:  func(name string) Lock { return queue{connection, name}.lock },
					Close: func() error { connection.Close(); return nil },
				}, nil
			}
		case <-ctx.Done():
			connection.Close()
			return nil, fmt.Errorf("reach ZooKeeper: %w", ctx.Err())
		}
	}
}

// silence logs nothing: errors say what matters.
type silence struct{}

// Printf implements [zk.Logger].
func (silence) Printf(string, ...any) {}

// queue is ZooKeeper's recipe: a caller makes an ephemeral node with the next number under the lock's node. The lowest number has
// the lock, and each of the others watches the one before it. So it is fair, and a release wakes one waiter.
//
// Its flaw: the node is the session's. If the holder stands still for longer than its session lasts, the node goes and the next
// caller has the lock; the holder finds that out only after it has gone on. The numbers grow and would do as a fencing token,
// but the recipe does not use them. And a session that lives keeps the node of a release that got lost.
type queue struct {
	zooKeeper *zk.Conn
	name      string
}

// node is that of the lock.
func (l queue) node() string { return "/" + url.PathEscape(l.name) }

// lock is a [Lock].
func (l queue) lock(ctx context.Context) (Hold, error) {
	mine, err := l.enqueue()
	if err == nil {
		if err = l.await(ctx, mine); err != nil {
			err = errors.Join(err, l.leave(mine))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("take the lock %s: %w", l.name, err)
	}
	return unlock(func(context.Context) error {
		err := l.zooKeeper.Delete(mine, -1)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return ErrNotHeld
		case err != nil:
			return fmt.Errorf("give the lock %s back: %w", l.name, err)
		}
		return nil
	}), nil
}

// enqueue makes the caller's node.
func (l queue) enqueue() (string, error) {
	everybody := zk.WorldACL(zk.PermAll)
	for {
		node, err := l.zooKeeper.CreateProtectedEphemeralSequential(l.node()+"/n-", nil, everybody)
		if !errors.Is(err, zk.ErrNoNode) {
			return node, err
		}
		if _, err := l.zooKeeper.Create(l.node(), nil, 0, everybody); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return "", err
		}
	}
}

// await returns when the caller is the first.
func (l queue) await(ctx context.Context, mine string) error {
	for {
		before, err := l.before(mine)
		if err != nil || before == "" {
			return err
		}
		there, _, gone, err := l.zooKeeper.ExistsW(before)
		if err != nil {
			return err
		}
		if !there {
			continue // there will be no event
		}
		select {
		case event := <-gone:
			if event.Err != nil {
				return event.Err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// before returns the node before the caller's; "" if the caller is the first, and an error if it is not in the queue.
func (l queue) before(mine string) (string, error) {
	all, _, err := l.zooKeeper.Children(l.node())
	if err != nil {
		return "", err
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(number(a), number(b)) })
	switch place := slices.Index(all, strings.TrimPrefix(mine, l.node()+"/")); place {
	case -1:
		return "", zk.ErrSessionExpired
	case 0:
		return "", nil
	default:
		return l.node() + "/" + all[place-1], nil
	}
}

// number is the end of a node's name: ten digits that grow.
func number(node string) string { return node[strings.LastIndex(node, "-")+1:] }

// leave takes the caller out of the queue. If ZooKeeper cannot be reached, the node goes with the session.
func (l queue) leave(mine string) error {
	if err := l.zooKeeper.Delete(mine, -1); !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return nil
}
