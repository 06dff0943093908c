package breaks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// cable carries the connections of a client. A cut ends them at both ends. While the cable is out, there are no new ones.
type cable struct {
	mu    sync.Mutex
	out   bool
	conns []*net.TCPConn
}

var errOut = errors.New("the cable is out")

// dial dials through the cable.
func (c *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	tcp, is := conn.(*net.TCPConn)
	switch {
	case !is:
		return nil, errors.Join(fmt.Errorf("cannot cut a connection to %s: it is not TCP", address), conn.Close())
	case c.out:
		return nil, errors.Join(errOut, conn.Close())
	}
	c.conns = append(c.conns, tcp)
	return conn, nil // itself: clients check its socket
}

// set ends all connections. If the cable is then out, there are no new ones.
func (c *cable) set(out bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = out
	for _, conn := range c.conns {
		// Both ends read the end of the stream, as from a proxy that hangs up. A closed connection stays closed.
		_, _ = conn.CloseWrite(), conn.CloseRead()
	}
	c.conns = nil
}
