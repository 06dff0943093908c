package postgres

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// How long it takes to notice that nobody is there. A host that does not answer leaves time for the next one of the URL.
const (
	connectTimeout = 2 * time.Second // for all that belongs to a connection, of each host
	dialTimeout    = time.Second     // for the network's part of it
	unacknowledged = 2 * time.Second // what was sent and has not arrived
	aliveIdle      = 5 * time.Second // a connection without a word for this long is asked by the kernel,
	aliveEvery     = time.Second     // again and again,
	aliveTries     = 3               // so often
)

// ConnectSoon has connections made, and noticed to be dead, within the bounds above.
func ConnectSoon(config *pgx.ConnConfig) {
	config.ConnectTimeout = connectTimeout
	config.DialFunc = (&net.Dialer{
		Timeout:         dialTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: aliveIdle, Interval: aliveEvery, Count: aliveTries},
		Control: func(network, _ string, socket syscall.RawConn) error {
			if !strings.HasPrefix(network, "tcp") {
				return nil
			}
			return limitUnacknowledged(socket, unacknowledged)
		},
	}).DialContext
}

var errNoCancel = errors.New("PostgreSQL is not asked to cancel a statement")

// neverCancel keeps pgx from asking the server, over a connection of its own, to cancel what a connection that it gives up
// was doing. A commit that waits for a synchronous standby would no longer wait: it would be seen, and told to who asks
// again, although the standby does not have it. And where nobody answers, the question would keep the place of the
// connection in the pool. The server itself ends a statement whose client has gone.
func neverCancel(config *pgconn.Config) {
	dial := config.DialFunc
	var connected atomic.Bool
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if connected.Load() {
			return nil, errNoCancel
		}
		return dial(ctx, network, address)
	}
	config.AfterConnect = func(context.Context, *pgconn.PgConn) error {
		connected.Store(true)
		return nil
	}
}
