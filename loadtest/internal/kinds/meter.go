package kinds

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// Meter counts what clients send: commands to Redis and MongoDB, statements of PostgreSQL, packets to ZooKeeper.
type Meter struct {
	Commands atomic.Int64
}

// TraceQueryStart implements [pgx.QueryTracer].
func (m *Meter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	m.Commands.Add(1)
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (*Meter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// watching makes connections that count what is written: the commands of Redis, or for ZooKeeper each write, which is a packet.
func (m *Meter) watching(dial Dial, redis bool) Dial {
	if m == nil {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		counted := &counted{Conn: conn, meter: m}
		if redis {
			counted.requests = &requests{}
		}
		if tcp, is := conn.(*net.TCPConn); is {
			return &countedTCP{counted, tcp}, nil
		}
		return counted, nil
	}
}

// counted is one connection, which one goroutine at a time writes to.
type counted struct {
	net.Conn
	meter    *Meter
	requests *requests // nil: each write is one command
}

// Write implements [net.Conn].
func (c *counted) Write(p []byte) (int, error) {
	commands := int64(1)
	if c.requests != nil {
		commands = c.requests.count(p)
	}
	c.meter.Commands.Add(commands)
	return c.Conn.Write(p)
}

// countedTCP gives go-redis access to the socket, which it checks if it can.
type countedTCP struct {
	*counted
	syscall.Conn
}

// requests finds the commands in what a client writes: arrays of texts with their lengths, cut anywhere.
type requests struct {
	kind   byte // of the line that is being read: '*', '$', or 0 between lines
	number int  // of that line, so far
	skip   int  // bytes of a text that are still to come
}

// count returns how many commands begin in p.
func (r *requests) count(p []byte) (commands int64) {
	for len(p) > 0 {
		if r.skip > 0 {
			n := min(r.skip, len(p))
			r.skip -= n
			p = p[n:]
			continue
		}
		switch b := p[0]; {
		case r.kind == 0:
			r.kind, r.number = b, 0
		case b >= '0' && b <= '9':
			r.number = r.number*10 + int(b-'0')
		case b == '\n':
			if r.kind == '*' {
				commands++
			} else {
				r.skip = r.number + len("\r\n")
			}
			r.kind = 0
		}
		p = p[1:]
	}
	return commands
}
