package kinds

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Meter counts what clients send: commands to Redis and MongoDB, statements of PostgreSQL, packets to ZooKeeper.
type Meter struct {
	Commands atomic.Int64
	Trips    atomic.Int64 // times that a connection to Redis went from reading to writing
}

// TraceQueryStart implements [pgx.QueryTracer].
func (m *Meter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	m.Commands.Add(1)
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (*Meter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// watching makes connections of which what is written is counted.
func (m *Meter) watching(dial Dial, count func() func(written []byte) int64) Dial {
	if m == nil {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		counted := &counted{Conn: conn, meter: m, count: count()}
		if tcp, is := conn.(*net.TCPConn); is {
			return &countedTCP{counted, tcp}, nil
		}
		return counted, nil
	}
}

// commands counts those that are sent to Redis.
func commands() func([]byte) int64 { return new(requests).count }

// packets counts what a client of ZooKeeper writes: each packet is one write.
func packets() func([]byte) int64 { return func([]byte) int64 { return 1 } }

// counted is one connection, which one goroutine at a time writes to.
type counted struct {
	net.Conn
	meter  *Meter
	count  func(written []byte) int64
	asking atomic.Bool // written since the last read
}

// Write implements [net.Conn].
func (c *counted) Write(p []byte) (int, error) {
	c.meter.Commands.Add(c.count(p))
	if !c.asking.Swap(true) {
		c.meter.Trips.Add(1)
	}
	return c.Conn.Write(p)
}

// Read implements [net.Conn].
func (c *counted) Read(p []byte) (int, error) {
	c.asking.Store(false)
	return c.Conn.Read(p)
}

// countedTCP lets go-redis look at the socket, as it does where it can.
type countedTCP struct {
	*counted
	socket
}

// socket is what a TCP connection has beside.
type socket interface {
	SyscallConn() (syscall.RawConn, error)
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

// dialZooKeeper is how its client dials, which knows no context.
func (s Setting) dialZooKeeper(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return s.Meter.watching(s.dial, packets)(ctx, network, address)
}
