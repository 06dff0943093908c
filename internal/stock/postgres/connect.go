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

// How long it takes to notice that a host does not answer. There must be time left for the next host of the URL.
const (
	connectTimeout = 2 * time.Second // to connect to one host, with all that this takes
	dialTimeout    = time.Second     // for the network's part of it
	unacknowledged = 2 * time.Second // for what was sent to be acknowledged
	aliveIdle      = 5 * time.Second // after this long without traffic the kernel asks whether the host lives,
	aliveEvery     = time.Second     // again after this long,
	aliveTries     = 3               // and so many times
)

// ConnectSoon makes connecting end, and dead connections be noticed, within the bounds above.
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

// neverCancel keeps pgx from asking the server to cancel a statement. pgx does so, over a second connection, when it gives
// up a connection. A commit that waits for a synchronous standby would then stop waiting: others would see it, and a caller
// who asks again would be told of it, although the standby does not have it. And if the server does not answer, the request
// would occupy the connection's place in the pool. The server itself ends a statement whose client has gone.
func neverCancel(config *pgconn.Config) {
	dial := config.DialFunc
	var connected atomic.Bool
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if connected.Load() {
			return nil, errNoCancel
		}
		return dial(ctx, network, address)
	}
	next := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		connected.Store(true)
		if next == nil {
			return nil
		}
		return next(ctx, conn)
	}
}
