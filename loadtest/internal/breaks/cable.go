package breaks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// cable is what the connections of a client go through. It can be cut: what went through it is over then, for both ends.
// While it is out, there are no new connections.
type cable struct {
	mu    sync.Mutex
	out   bool
	conns map[*net.TCPConn]struct{}
}

var errOut = errors.New("the cable is out")

// dial dials through the cable.
func (c *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return conn, err
	}
	tcp, is := conn.(*net.TCPConn)
	if !is {
		return nil, errors.Join(fmt.Errorf("cannot cut a connection to %s: it is not TCP", address), conn.Close())
	}
	return c.add(tcp)
}

func (c *cable) add(conn *net.TCPConn) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out {
		return nil, errors.Join(errOut, conn.Close())
	}
	if c.conns == nil {
		c.conns = map[*net.TCPConn]struct{}{}
	}
	c.conns[conn] = struct{}{}
	return conn, nil // itself: clients look at its socket
}

// set ends all connections. If the cable is out from then on, there are no new ones.
func (c *cable) set(out bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = out
	for conn := range c.conns {
		// Both ends read the end of the stream, as from a proxy that hangs up. One that has been closed stays so.
		_, _ = conn.CloseWrite(), conn.CloseRead()
	}
	clear(c.conns)
}
