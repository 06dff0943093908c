package app

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// defaultMaxConnections bounds the connections of the public listener if the configuration does not.
const defaultMaxConnections = 10_000

// noneComes is for how long no connection has come when a listener that stops is closed.
const noneComes = time.Millisecond

// A room is a listener with a bounded number of connections. If a connection comes to a full room, the room closes the
// connection that has been without a request for the longest time. So idle connections, and those whose requests never
// come, keep no caller out. A new connection waits only if all others are being answered.
type room struct {
	*net.TCPListener
	most int

	mu      sync.Mutex
	freed   *sync.Cond // with mu: a connection has gone or become idle
	inside  int
	idle    list.List // of *guest, the one idle for longest first
	stopped bool      // accepts only those that wait already
	empty   bool      // none waits any more, and the listener is closed
	closed  bool
}

func newRoom(l *net.TCPListener, most int) *room {
	r := &room{TCPListener: l, most: most}
	r.freed = sync.NewCond(&r.mu)
	return r
}

// guest is a connection in a room.
type guest struct {
	net.Conn
	room  *room
	place *list.Element // among the idle ones; nil: not idle
	left  bool
}

// NetConn returns the connection inside.
func (g *guest) NetConn() net.Conn { return g.Conn }

// Accept waits for the next connection, and for room for it.
func (r *room) Accept() (net.Conn, error) {
	conn, err := r.accept()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.end()
		return nil, err
	}
	g := &guest{Conn: conn, room: r}
	for r.inside >= r.most && !r.closed {
		if longest := r.idle.Front(); longest != nil {
			r.leave(longest.Value.(*guest)).Close()
		} else {
			r.freed.Wait()
		}
	}
	if r.closed {
		conn.Close()
		return nil, net.ErrClosed
	}
	r.inside++
	g.place = r.idle.PushBack(g)
	return g, nil
}

// accept waits for the next connection. After stop it waits for a moment only.
func (r *room) accept() (net.Conn, error) {
	conn, err := r.TCPListener.Accept()
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return conn, err
	}
	if err := r.SetDeadline(time.Now().Add(noneComes)); err != nil {
		return nil, err
	}
	return r.TCPListener.Accept()
}

// end is for Accept, which has failed. After stop it closes the listener, whose server goes on until Close.
func (r *room) end() {
	if !r.stopped {
		return
	}
	r.empty = true
	_ = r.TCPListener.Close() // fails if Close has done it
	r.freed.Broadcast()
	for !r.closed {
		r.freed.Wait()
	}
}

// stop stops accepting, and returns when all connections have gone, or ctx ends. Those that the system has accepted for us are
// accepted too: it would reset them.
func (r *room) stop(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	defer context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.freed.Broadcast()
	})()
	if !r.stopped {
		r.stopped = true
		if err := r.SetDeadline(time.Now()); err != nil {
			return err
		}
	}
	for (r.inside > 0 || !r.empty) && ctx.Err() == nil {
		r.freed.Wait()
	}
	return nil
}

// Close stops accepting. Connections stay.
func (r *room) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.freed.Broadcast()
	if r.empty {
		return nil
	}
	r.empty = true
	return r.TCPListener.Close()
}

// note is for [http.Server.ConnState]: a connection is busy from when a request's header is complete until the answer.
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
		r.freed.Broadcast()
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

// leave takes a guest out and returns its connection. The room's mutex is held.
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
	r.freed.Broadcast()
	return g.Conn
}

// Close closes the connection.
func (g *guest) Close() error {
	g.room.mu.Lock()
	conn := g.room.leave(g)
	g.room.mu.Unlock()
	return conn.Close()
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
