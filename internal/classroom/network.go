package classroom

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"inventory/internal/app"
)

// redisServers is the number of Redis servers, as a RedLock needs them. The other locks use the first one.
const redisServers = 3

// network is between the processes and the Redis servers that they share. It can be cut at both ends.
type network struct {
	servers []*app.EmbeddedRedis

	mu    sync.Mutex
	down  bool         // the first server is stopped
	apart map[int]bool // processes that reach no server
	conns map[*conn]struct{}
}

func newNetwork() (*network, error) {
	n := &network{apart: make(map[int]bool), conns: make(map[*conn]struct{})}
	for range redisServers {
		server, err := app.StartEmbeddedRedis()
		if err != nil {
			return nil, errors.Join(err, n.close())
		}
		n.servers = append(n.servers, server)
	}
	return n, nil
}

func (n *network) close() error {
	for _, server := range n.servers {
		server.Close()
	}
	return nil
}

var errNoWay = errors.New("connection refused")

// dialer returns the function by which a process connects.
func (n *network) dialer(process int, gate *gate) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		server := 0
		if _, err := fmt.Sscanf(address, app.Embedded+"-%d", &server); err != nil {
			return nil, fmt.Errorf("address %q: %w", address, err)
		}
		to, err := n.servers[server].Dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: to, network: n, gate: gate, process: process, server: server}
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.blocksLocked(c) {
			return nil, errors.Join(errNoWay, to.Close())
		}
		n.conns[c] = struct{}{}
		return c, nil
	}
}

func (n *network) blocksLocked(c *conn) bool {
	return n.down && c.server == 0 || n.apart[c.process]
}

// change cuts or mends the network by do, and closes the connections that are cut.
func (n *network) change(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
	for c := range n.conns {
		if n.blocksLocked(c) {
			delete(n.conns, c)
			_ = c.Conn.Close() // its other end notices
		}
	}
}

func (n *network) stop(down bool)              { n.change(func() { n.down = down }) }
func (n *network) cut(process int, apart bool) { n.change(func() { n.apart[process] = apart }) }
func (n *network) isCut(process int) bool      { n.mu.Lock(); defer n.mu.Unlock(); return n.apart[process] }
func (n *network) isDown() bool                { n.mu.Lock(); defer n.mu.Unlock(); return n.down }
func (n *network) empty() {
	for _, server := range n.servers {
		server.Empty()
	}
}

// conn is a connection of a process. It stands still while the process does.
type conn struct {
	net.Conn
	network         *network
	gate            *gate
	process, server int
}

// Read implements [net.Conn].
func (c *conn) Read(to []byte) (int, error) {
	read, err := c.Conn.Read(to)
	c.gate.pass()
	return read, err
}

// Write implements [net.Conn].
func (c *conn) Write(from []byte) (int, error) {
	c.gate.pass()
	return c.Conn.Write(from)
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.network.mu.Lock()
	delete(c.network.conns, c)
	c.network.mu.Unlock()
	return c.Conn.Close()
}
