package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pingLimit is how long a connection that has been at rest may take to show that it lives.
const pingLimit = 300 * time.Millisecond

// A network that swallows everything, or a server that is another one now, kills all connections at once and does not
// say so. The first one of them that is missed tells of the others:
//
//	a statement or a ping is not answered in time ──> its connection is closed ──> all at rest are asked, at the same
//	time ──> those that do not answer are closed
//
// Those in use end with their statements. What is closed leaves its place in the pool at once.
type renewal struct {
	died    chan struct{} // holds one word that a connection has died in use
	closing chan struct{}
	running sync.WaitGroup
}

func newRenewal() *renewal {
	return &renewal{died: make(chan struct{}, 1), closing: make(chan struct{})}
}

// watch makes the renewal part of what a pool will be made of.
func (r *renewal) watch(config *pgxpool.Config) {
	if config.PingTimeout == 0 {
		config.PingTimeout = pingLimit
	}
	config.BeforeClose = func(conn *pgx.Conn) {
		if !conn.IsClosed() {
			return // for a reason of ours, such as its age
		}
		conn.PgConn().Conn().Close() // pgx would say goodbye first, and wait for that
		select {
		case r.died <- struct{}{}:
		default:
		}
	}
}

// run asks the connections of a pool after each death, until stop.
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

// ask pings all connections that are at rest. Who does not answer is closed by that, and does not come back to the pool.
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
