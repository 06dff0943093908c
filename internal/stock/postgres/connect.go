package postgres

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock"
)

// How long it takes to notice that a host does not answer. There must be time left for the next host of the URL: a server that hangs
// never answers, but its kernel still accepts connections, so each new connection first waits there.
const (
	connectTimeout = 2 * time.Second // to connect to one host, all steps together, or as long as [connectTrips] take
	oneOfSeveral   = time.Second     // the same, to one host of several
	dialTimeout    = time.Second     // for the network's part of it
	aliveIdle      = 5 * time.Second // after this long without traffic the kernel probes the host,
	aliveEvery     = time.Second     // again after this long,
	aliveTries     = 3               // and this many times
)

// connectSoon bounds how long it takes to connect, and to notice a dead connection, by the times above.
func connectSoon(config *pgx.ConnConfig) {
	config.ConnectTimeout = connectTimeout
	if hasSeveral(config) {
		config.ConnectTimeout = oneOfSeveral
	}
	config.DialFunc = (&net.Dialer{
		Timeout:         dialTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: aliveIdle, Interval: aliveEvery, Count: aliveTries},
	}).DialContext
}

// hasSeveral reports whether a URL names several hosts, and not one with TLS and without.
func hasSeveral(config *pgx.ConnConfig) bool {
	return slices.ContainsFunc(config.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.Host != config.Host || f.Port != config.Port })
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

// statementLimit is how long one statement may take, if its access says nothing else. Its connection may have died unnoticed, and after this long no caller
// waits for the answer any more.
const statementLimit = 2 * time.Second

// sentFor is how long a statement that was sent goes on after its context has ended. To interrupt it costs the connection, and so
// PostgreSQL a process: callers with deadlines of milliseconds would have it make a new one for each request.
const sentFor = 100 * time.Millisecond

// unbegun is the error of a message that was not sent, because its context had ended.
type unbegun struct{ error }

// Unwrap returns the context's error.
func (e unbegun) Unwrap() error { return e.error }

// SafeToRetry is what pgconn asks of its own errors.
func (unbegun) SafeToRetry() bool { return true }

// limited does work that takes no longer than one statement. It does not begin if its context has ended.
func (a Access) limited(ctx context.Context, work func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return unbegun{err}
	}
	until := time.Now().Add(cmp.Or(a.Limit, statementLimit))
	if deadline, is := ctx.Deadline(); is {
		until = stock.Earlier(until, deadline.Add(sentFor))
	}
	sent, interrupt := context.WithDeadline(context.WithoutCancel(ctx), until)
	defer interrupt()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			time.AfterFunc(sentFor, interrupt)
		}
	})()
	return work(sent)
}

// pingLimit is how long an idle connection may take to show that it lives, or as long as [pingTrips] take.
const pingLimit = 300 * time.Millisecond

// renewal closes connections that have died. When the network loses everything, or another server has taken over, all
// connections die at once, and no message says so. The first one that fails is a sign that others may have died:
//
//	a statement or a ping is not answered in time ──> its connection is closed ──> all idle ones are pinged, at the same
//	time ──> those that do not answer are closed
//
// Connections in use end with their statements. A closed connection leaves its place in the pool at once.
type renewal struct {
	running sync.WaitGroup // counts those that ask, or wait for that
	asking  chan struct{}  // full while one asks, and until there is a pool; a mutex would stop virtual time
	pool    *pgxpool.Pool
	limit   func() time.Duration // of a ping
}

// open opens a pool whose connections are renewed.
func (r *renewal) open(ctx context.Context, config *pgxpool.Config, sessions *sessions) (pool *pgxpool.Pool, err error) {
	least := cmp.Or(config.PingTimeout, pingLimit)
	r.limit = func() time.Duration { return sessions.pace.ping(least) }
	config.ShouldPing = sessions.awake(least)
	config.BeforeClose = r.closes
	r.asking = make(chan struct{}, 1)
	r.asking <- struct{}{}
	defer func() { <-r.asking }()
	r.pool, err = pgxpool.NewWithConfig(ctx, config)
	return r.pool, err
}

// closes is called before the pool closes a connection.
func (r *renewal) closes(conn *pgx.Conn) {
	if !conn.IsClosed() {
		return // for a reason of ours, such as its age
	}
	conn.PgConn().Conn().Close() // pgx would say goodbye first, and wait for that
	r.running.Go(r.ask)
}

// ask pings all idle connections. The ping closes one that does not answer, and it does not return to the pool.
func (r *renewal) ask() {
	r.asking <- struct{}{}
	defer func() { <-r.asking }()
	ctx, cancel := context.WithTimeout(context.Background(), r.limit())
	defer cancel()
	var asked sync.WaitGroup
	for _, conn := range r.pool.AcquireAllIdle(ctx) {
		asked.Go(func() {
			defer conn.Release()
			_ = conn.Ping(ctx)
		})
	}
	asked.Wait()
}
