package lockbench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// wire is a Redis client of the same settings for every contender. It counts what goes over its connections.
type wire struct {
	rdb      *redis.Client
	commands atomic.Int64
	trips    atomic.Int64 // times that a connection went from reading to writing
}

// redisPatience bounds a connect and an answer.
const redisPatience = 3 * time.Second

// openWire connects to Redis, with a connection for each caller.
func openWire(ctx context.Context, redisURL string, callers int) (*wire, error) {
	options, err := redis.ParseURL(redisURL)
	if err != nil {
		return nil, errors.New("redis URL: must be redis://HOST:PORT/DB or rediss://…") // err may quote a password
	}
	// Of those settings that matter: a script is sent once, and a context's end ends a command.
	options.MaxRetries, options.DialerRetries = -1, 1
	options.ContextTimeoutEnabled, options.DisableIdentity = true, true
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = redisPatience, redisPatience, redisPatience
	spare := 8 // for what a library does beside its callers
	options.PoolSize = callers + spare
	w := &wire{}
	dial := redis.NewDialer(options)
	options.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return w.counted(conn), nil
	}
	w.rdb = redis.NewClient(options)
	if err := w.warm(ctx, callers); err != nil {
		return nil, errors.Join(fmt.Errorf("reach Redis: %w", err), w.rdb.Close())
	}
	return w, nil
}

// warm opens connections and leaves them in the pool.
func (w *wire) warm(ctx context.Context, connections int) error {
	for range connections {
		conn := w.rdb.Conn()
		defer func() { _ = conn.Close() }() // back into the pool
		if err := conn.Ping(ctx).Err(); err != nil {
			return err
		}
	}
	return nil
}

func (w *wire) counted(conn net.Conn) net.Conn {
	if tcp, ok := conn.(*net.TCPConn); ok {
		return &tcpConn{TCPConn: tcp, meter: meter{wire: w}}
	}
	return &otherConn{Conn: conn, meter: meter{wire: w}}
}

// tcpConn keeps all that go-redis can ask of a TCP connection: a plain net.Conn would spare it a look at the socket.
type tcpConn struct {
	*net.TCPConn
	meter
}

func (c *tcpConn) Write(p []byte) (int, error) {
	c.wrote(p)
	return c.TCPConn.Write(p)
}

func (c *tcpConn) Read(p []byte) (int, error) {
	c.asking.Store(false)
	return c.TCPConn.Read(p)
}

type otherConn struct {
	net.Conn
	meter
}

func (c *otherConn) Write(p []byte) (int, error) {
	c.wrote(p)
	return c.Conn.Write(p)
}

func (c *otherConn) Read(p []byte) (int, error) {
	c.asking.Store(false)
	return c.Conn.Read(p)
}

// meter counts the commands and trips of one connection, which one goroutine at a time writes to.
type meter struct {
	wire     *wire
	requests requests
	asking   atomic.Bool // written since the last read
}

func (m *meter) wrote(p []byte) {
	m.wire.commands.Add(m.requests.count(p))
	if !m.asking.Swap(true) {
		m.wire.trips.Add(1)
	}
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
