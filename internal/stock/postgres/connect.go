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
	connectTimeout = 2 * time.Second // to connect to one host, all steps together
	dialTimeout    = time.Second     // for the network's part of it
	unacknowledged = 2 * time.Second // for what was sent to be acknowledged
	aliveIdle      = 5 * time.Second // after this long without traffic the kernel probes the host,
	aliveEvery     = time.Second     // again after this long,
	aliveTries     = 3               // and this many times
)

// ConnectSoon bounds how long it takes to connect, and to notice a dead connection, by the times above.
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
// that repeats its request would get it as the answer, although the standby does not have it. And if the server does not
// answer, the request to cancel would occupy the connection's place in the pool. The server itself ends a statement whose
// client has gone.
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
