package textbook

import (
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// ConnectZooKeeper connects to a server by its host:port, and returns when there is a session. That ends when the server
// has not heard of its client for as long as session says. The caller closes the connection.
func ConnectZooKeeper(ctx context.Context, address string, session time.Duration, dial zk.Dialer) (*zk.Conn, error) {
	connection, events, err := zk.Connect([]string{address}, session, zk.WithDialer(dial), zk.WithLogger(silence{}))
	if err != nil {
		return nil, fmt.Errorf("reach ZooKeeper: %w", err)
	}
	for {
		select {
		case event := <-events:
			if event.State == zk.StateHasSession {
				return connection, nil
			}
		case <-ctx.Done():
			connection.Close()
			return nil, fmt.Errorf("reach ZooKeeper: %w", ctx.Err())
		}
	}
}

// silence logs nothing: what matters, errors say.
type silence struct{}

// Printf implements [zk.Logger].
func (silence) Printf(string, ...any) {}
