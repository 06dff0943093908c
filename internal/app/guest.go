package app

import (
	"net"
	"sync"
	"time"

	"inventory/internal/api"
)

// guest is a connection in a room. The service works on some of its requests, or waits for its caller.
type guest struct {
	net.Conn
	room   *room
	caller *api.Connection

	mu    sync.Mutex
	works int       // requests that the service works on
	since time.Time // when the service last heard of the caller
}

// begin notes that the service works on a request of the guest, until finish. A nil guest is in no room.
func (g *guest) begin() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.works++
}

// heard notes that the service waits for the caller since now.
func (g *guest) heard() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.since = time.Now()
}

// finish notes that the service waits for the caller again. If heard, it has waited since now.
func (g *guest) finish(heard bool) {
	if g == nil {
		return
	}
	g.mu.Lock()
	g.works--
	if heard {
		g.since = time.Now()
	}
	g.mu.Unlock()
	if g.room.crowded.Load() {
		g.room.mu.Lock()
		defer g.room.mu.Unlock()
		g.room.freed.Broadcast()
	}
}

// isKnown reports whether the caller keeps using its connection, and may.
func (g *guest) isKnown() bool { return g != nil && g.caller.Known() }

// rests reports whether the service works on nothing for the guest, and since when.
func (g *guest) rests() (since time.Time, rests bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.since, g.works == 0
}

// restsSince reports whether the service has worked on nothing for the guest since then.
func (g *guest) restsSince(then time.Time) bool {
	since, rests := g.rests()
	return rests && since.Equal(then)
}

// unread reports whether the caller has sent something that the service has not read: the service is late, not the caller. A
// caller that does not read its answers can bring that about, so it counts for a while only.
func (g *guest) unread() bool {
	since, _ := g.rests()
	return time.Since(since) < lateRead && g.caller.Unread()
}

// NetConn returns the connection inside.
func (g *guest) NetConn() net.Conn { return g.Conn }

// Close closes the connection.
func (g *guest) Close() error {
	g.room.leave(g)
	return g.Conn.Close()
}

// CloseWrite ends the sending side, and leaves the other open.
func (g *guest) CloseWrite() error { return closeWrite(g.Conn) }

// closeWrite ends the sending side of a connection, if it can. net/http does this so that a caller can read the answer
// before the connection ends.
func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// guestOf finds the guest inside the connections around it; nil: there is none.
func guestOf(conn net.Conn) *guest {
	for {
		if g, ok := conn.(*guest); ok {
			return g
		}
		around, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		conn = around.NetConn()
	}
}
