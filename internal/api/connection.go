package api

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"
)

// connection carries requests, and can report whether its other end has hung up.
type connection struct {
	raw  syscall.RawConn
	look func(fd uintptr) // notes the state of the socket; made once, since it is called for every request
	gone atomic.Bool
}

type connectionKey struct{}

// ConnContext is for [http.Server.ConnContext]. With it a write checks the socket of its caller. If the process stopped
// while a request waited, net/http notices too late that its caller has hung up.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	for {
		wrapped, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = wrapped.NetConn()
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return ctx
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return ctx // it is closed
	}
	c := &connection{raw: raw}
	c.look = func(fd uintptr) {
		if peerClosed(fd) {
			c.gone.Store(true)
		}
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// hungUp reports whether the other end has closed the connection.
func (c *connection) hungUp() bool {
	if c == nil || c.gone.Load() {
		return c != nil
	}
	if err := c.raw.Control(c.look); err != nil {
		return true // it is closed at this end
	}
	return c.gone.Load()
}
