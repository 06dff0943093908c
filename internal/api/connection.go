package api

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"inventory/internal/access"
)

// Connection carries requests, and knows whether the caller at its other end has hung up.
//
// A caller that has reset its connection has hung up. One that has ended its sending side may have hung up, or reads on: the
// two look the same until something is sent. Callers that read on end their side right after their request. So a caller
// counts as one that reads on if it has done that, and otherwise as one that has hung up.
type Connection struct {
	raw      syscall.RawConn  // nil: there is no socket to look at
	look     func(fd uintptr) // notes the state of the socket; made once, since it is called for every request
	gone     atomic.Bool      // the caller has hung up
	admitted atomic.Int64     // requests of admitted callers
	end      sync.Once        // of ended
	ended    chan struct{}    // closed when the caller has ended its sending side, and may read on
}

// readsOn is how long after its request a caller that reads on ends its sending side, at most.
const readsOn = 40 * time.Millisecond

type connectionKey struct{}

// NewConnection returns a connection whose socket is inside the given one.
func NewConnection(conn net.Conn) *Connection {
	for {
		wrapped, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = wrapped.NetConn()
	}
	c := &Connection{ended: make(chan struct{})}
	c.look = func(fd uintptr) {
		if hasHungUp(fd) {
			c.gone.Store(true)
		}
	}
	if socket, ok := conn.(syscall.Conn); ok {
		c.raw, _ = socket.SyscallConn() // fails if it is closed, and so does every use
	}
	return c
}

// ConnContext is for [http.Server.ConnContext]. With it a write checks the socket of its caller. If the process stopped
// while a request waited, net/http notices too late that its caller has hung up.
func ConnContext(ctx context.Context, c *Connection) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

func connectionIn(ctx context.Context) *Connection {
	c, _ := ctx.Value(connectionKey{}).(*Connection)
	return c
}

// hungUp reports whether the caller has hung up.
func (c *Connection) hungUp() bool {
	if c == nil || c.raw == nil || c.gone.Load() {
		return c != nil && c.raw != nil
	}
	if err := c.raw.Control(c.look); err != nil {
		return true // it is closed at this end
	}
	return c.gone.Load()
}

// AwaitEnd is for who reads from a connection whose caller has ended its sending side that long after its last bytes; 0 if only the
// system knows. It returns io.EOF when the caller has hung up, and the error of the connection if that is closed or its
// deadline for reading comes. A caller whose request only reads has hung up once it has reset: answering it does no harm.
func (c *Connection) AwaitEnd(after time.Duration, onlyReads bool) error {
	if c.raw == nil || !tellsApart || !onlyReads && after > readsOn {
		return io.EOF
	}
	c.end.Do(func() { close(c.ended) })
	err := c.raw.Read(func(fd uintptr) bool {
		if onlyReads {
			return hasReset(fd)
		}
		c.look(fd)
		return c.gone.Load()
	})
	if err != nil {
		return err
	}
	return io.EOF
}

// sideEnded returns a channel that is closed when the caller has ended its sending side, and may read on.
func (c *Connection) sideEnded() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.ended
}

// Unread reports whether the caller has sent something that was not read yet.
func (c *Connection) Unread() (unread bool) {
	if c.raw == nil {
		return false
	}
	_ = c.raw.Control(func(fd uintptr) { unread = hasUnread(fd) }) // fails if it is closed
	return unread
}

// Known reports whether the connection has had a request of a caller with a key or a token, or two of admitted callers.
func (c *Connection) Known() bool { return c.admitted.Load() > 1 }

// Admit notes a request of an admitted caller.
func (c *Connection) Admit(caller access.Caller) {
	switch {
	case c == nil:
	case caller.ID != "":
		c.admitted.Store(2)
	default:
		c.admitted.Add(1)
	}
}
