package app

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// defaultMaxConnections is how many connections the public listener has at most unless told otherwise.
const defaultMaxConnections = 10_000

// A room is a listener that bounds how many connections there are. Where a new one comes to a full room, the one that has
// been without a request for longest is closed: connections that do nothing, or whose requests never come, keep nobody
// out. Only when all are being answered the new one waits.
type room struct {
	net.Listener
	most int

	mu     sync.Mutex
	freed  *sync.Cond // with mu: a connection has gone or has nothing to do
	inside int
	idle   list.List // of *guest, the longest first
	closed bool
}

func newRoom(l net.Listener, most int) *room {
	r := &room{Listener: l, most: most}
	r.freed = sync.NewCond(&r.mu)
	return r
}

// guest is a connection in a room.
type guest struct {
	net.Conn
	room  *room
	place *list.Element // among those that are idle; nil: it is not
	left  bool
}

// NetConn returns the connection inside.
func (g *guest) NetConn() net.Conn { return g.Conn }

// Accept waits for the next connection, and for a place for it.
func (r *room) Accept() (net.Conn, error) {
	conn, err := r.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g := &guest{Conn: conn, room: r}
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.inside >= r.most {
		switch longest := r.idle.Front(); {
		case r.closed:
			conn.Close()
			return nil, net.ErrClosed
		case longest == nil:
			r.freed.Wait()
		default:
			r.leave(longest.Value.(*guest)).Close()
		}
	}
	r.inside++
	g.place = r.idle.PushBack(g)
	return g, nil
}

// Close stops accepting. Connections stay.
func (r *room) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.freed.Broadcast()
	return r.Listener.Close()
}

// note is for [http.Server.ConnState]: a connection is busy from when the header of a request is there until it is
// answered.
func (r *room) note(conn net.Conn, state http.ConnState) {
	g := guestOf(conn)
	if g == nil || (state != http.StateActive && state != http.StateIdle) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case g.left:
	case state == http.StateActive && g.place != nil:
		r.idle.Remove(g.place)
		g.place = nil
	case state == http.StateIdle && g.place == nil:
		g.place = r.idle.PushBack(g)
		r.freed.Signal()
	}
}

// guestOf finds the guest inside the connections around it.
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

// leave takes a guest out, whose lock is held, and returns its connection.
func (r *room) leave(g *guest) net.Conn {
	if g.left {
		return g.Conn
	}
	g.left = true
	if g.place != nil {
		r.idle.Remove(g.place)
		g.place = nil
	}
	r.inside--
	r.freed.Signal()
	return g.Conn
}

// Close closes the connection.
func (g *guest) Close() error {
	g.room.mu.Lock()
	conn := g.room.leave(g)
	g.room.mu.Unlock()
	return conn.Close()
}

// CloseWrite ends what is sent, and leaves what comes.
func (g *guest) CloseWrite() error { return closeWrite(g.Conn) }

// closeWrite ends what a connection sends, where it can: net/http lets the caller read the answer so, before it cuts off
// what they still send.
func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
