package postgres

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
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

// statementLimit is how long one statement may take. Its connection may have died unnoticed, and after this long no caller
// waits for the answer any more.
const statementLimit = 2 * time.Second

// limited does work that takes no longer than one statement.
func limited(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, statementLimit)
	defer cancel()
	return work(ctx)
}

// pingLimit is how long an idle connection may take to show that it lives.
const pingLimit = 300 * time.Millisecond

// renewal closes connections that have died. When the network loses everything, or another server has taken over, all
// connections die at once, and no message says so. The first one that fails is a sign that others may have died:
//
//	a statement or a ping is not answered in time ──> its connection is closed ──> all idle ones are pinged, at the same
//	time ──> those that do not answer are closed
//
// Connections in use end with their statements. A closed connection leaves its place in the pool at once.
type renewal struct {
	hosts   *hosts
	died    chan struct{} // holds one: a connection has died in use
	closing chan struct{}
	running sync.WaitGroup
}

func newRenewal(hosts *hosts) *renewal {
	return &renewal{hosts: hosts, died: make(chan struct{}, 1), closing: make(chan struct{})}
}

// watch adds the renewal to the configuration of a pool.
func (r *renewal) watch(config *pgxpool.Config) {
	if config.PingTimeout == 0 {
		config.PingTimeout = pingLimit
	}
	config.BeforeClose = func(conn *pgx.Conn) {
		if !conn.IsClosed() {
			return // for a reason of ours, such as its age
		}
		r.hosts.died(conn)
		conn.PgConn().Conn().Close() // pgx would say goodbye first, and wait for that
		select {
		case r.died <- struct{}{}:
		default:
		}
	}
}

// run pings the connections of a pool after each death, until stop.
func (r *renewal) run(pool *pgxpool.Pool) {
	for {
		select {
		case <-r.died:
			ask(pool)
		case <-r.closing:
			return
		}
	}
}

func (r *renewal) stop() {
	close(r.closing)
	r.running.Wait()
}

// ask pings all idle connections. The ping closes one that does not answer, and it does not return to the pool.
func ask(pool *pgxpool.Pool) {
	ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
	defer cancel()
	var asked sync.WaitGroup
	for _, conn := range pool.AcquireAllIdle(ctx) {
		asked.Go(func() {
			defer conn.Release()
			_ = conn.Ping(ctx)
		})
	}
	asked.Wait()
}
