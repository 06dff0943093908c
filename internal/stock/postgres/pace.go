package postgres

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The limits of connections, in round trips. A server that is slow, or far away, is not a dead one.
const (
	connectTrips = 8 // for TCP, TLS, the user, the password and the settings
	pingTrips    = 3 // one round trip may take longer than another
)

// How long a round trip may take before one has been measured.
const (
	slowServer    = time.Second
	slowOfSeveral = 300 * time.Millisecond // there must be time left for the next host
)

// restful is how long a connection may be idle before it is asked whether it lives.
const restful = time.Second

// pace is how fast the server answers: the round trip that the latest connection measured.
type pace struct{ nanoseconds atomic.Int64 }

// note records a round trip.
func (p *pace) note(roundTrip time.Duration) { p.nanoseconds.Store(int64(roundTrip)) }

// roundTrip returns the latest round trip; 0: there was none.
func (p *pace) roundTrip() time.Duration { return time.Duration(p.nanoseconds.Load()) }

// connect returns how long a connection may take, which may always take the least time.
func (p *pace) connect(config *pgx.ConnConfig, least time.Duration) time.Duration {
	trip := p.roundTrip()
	if trip == 0 {
		trip = slowServer
		if hasSeveral(config) {
			trip = slowOfSeveral
		}
	}
	return max(least, connectTrips*trip)
}

// ping returns how long the answer to a ping may take, which may always take the least time.
func (p *pace) ping(least time.Duration) time.Duration { return max(least, pingTrips*p.roundTrip()) }

// awake pings a connection that was idle. If it does not answer, pgx closes it, and the pool takes another. It is what the pool asks
// whether it should ping, and the answer is no: the pool's own limit does not follow the server.
func (s *sessions) awake(least time.Duration) func(context.Context, pgxpool.ShouldPingParams) bool {
	return func(ctx context.Context, idle pgxpool.ShouldPingParams) bool {
		if idle.IdleDuration > restful {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.pace.ping(least))
			defer cancel()
			_ = idle.Conn.Ping(ctx)
		}
		return false
	}
}
