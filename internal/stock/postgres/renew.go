package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

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
