package kinds

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
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
	var waiting sync.WaitGroup
	for {
		select {
		case event := <-events:
			if event.State == zk.StateHasSession {
				return &Client{
					Lock:  func(name string) Lock { return sequential(connection, name, &waiting) },
					Close: func() error { connection.Close(); waiting.Wait(); return nil },
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

// sequential is ZooKeeper's recipe, by the Go client: a caller makes an ephemeral node with the next number under the lock's node. The
// lowest number has the lock, and each of the others watches the one before it. So it is fair, and a release wakes one waiter. A
// waiter that gives up keeps its place, and gives the lock back when it has it. The end of the connection ends all waits.
//
// Its flaw: the node is the session's. If the holder stands still for longer than its session lasts, the node goes and the next
// caller has the lock; the holder finds that out only after it has gone on. The numbers grow and would do as a fencing token,
// but the recipe does not use them. And a session that lives keeps the node of a release that got lost.
func sequential(on *zk.Conn, name string, waiting *sync.WaitGroup) Lock {
	return func(ctx context.Context) (Hold, error) {
		lock := zk.NewLock(on, "/"+url.PathEscape(name), zk.WorldACL(zk.PermAll))
		taken := make(chan error, 1)
		waiting.Go(func() { taken <- lock.Lock() })
		var err error
		select {
		case err = <-taken:
		case <-ctx.Done():
			err = ctx.Err()
			waiting.Go(func() {
				if <-taken == nil {
					_ = lock.Unlock() // if that fails, the node goes with the session
				}
			})
		}
		if err != nil {
			return nil, fmt.Errorf("take the lock %s: %w", name, err)
		}
		return unlock(func(context.Context) error {
			err := lock.Unlock()
			switch {
			case errors.Is(err, zk.ErrNoNode):
				return ErrNotHeld
			case err != nil:
				return fmt.Errorf("give the lock %s back: %w", name, err)
			}
			return nil
		}), nil
	}
}
