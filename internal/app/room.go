package app

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"inventory/internal/api"
)

// defaultMaxConnections bounds the connections of the public listener if the configuration does not.
const defaultMaxConnections = 10_000

// leastWait is for how long the service waits for any caller before it closes the connection for another one: a new caller sends
// its request within that time, and an answer is sent. Callers that connect again at once cannot keep the service busy with that.
const leastWait = 50 * time.Millisecond

// encryptedWait is the same over TLS: a new caller sends its hello, and after the handshake its request, each within that time.
const encryptedWait = 250 * time.Millisecond

// lateRead is for how long a caller is not waited for whose bytes have come, and which a busy service has not read yet.
const lateRead = 500 * time.Millisecond

// noneComes is for how long no connection has come when a listener that stops is closed.
const noneComes = time.Millisecond

// A room is a listener with a bounded number of connections. If a connection comes to a full room, the room closes one whose
// caller the service waits for: for a header, for a body, until an answer is read, or for the next request. Of those it closes
// the one for which it has waited longest. So a caller that does not go on keeps nobody out, whatever it leaves undone. A new
// connection waits only if the service works for all others.
//
// Callers that only connect could still take the place of one that rests between two requests. So strangers, whose
// connections have not had two requests of admitted callers, are closed first while they have more than half of the room.
type room struct {
	*net.TCPListener
	most    int
	least   time.Duration // see leastWait
	crowded atomic.Bool   // somebody waits until a guest goes, or is waited for

	mu       sync.Mutex
	freed    *sync.Cond // with mu: see crowded
	guests   map[*guest]struct{}
	closable []resting // from the last search; the last one is to be closed first
	stopped  bool      // accepts only those that wait already
	empty    bool      // none waits any more, and the listener is closed
	closed   bool
}

func newRoom(l *net.TCPListener, most int) *room {
	r := &room{TCPListener: l, most: most, least: leastWait, guests: make(map[*guest]struct{})}
	r.freed = sync.NewCond(&r.mu)
	return r
}

// Accept waits for the next connection, and for room for it.
func (r *room) Accept() (net.Conn, error) {
	conn, err := r.accept()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.end()
		return nil, err
	}
	defer r.crowded.Store(false)
	for len(r.guests) >= r.most && !r.closed {
		r.crowded.Store(true) // before the search, so that it misses nobody
		if soon, closed := r.closeOne(); !closed {
			r.waitFor(soon)
		}
	}
	if r.closed {
		conn.Close()
		return nil, net.ErrClosed
	}
	g := &guest{Conn: conn, room: r, caller: api.NewConnection(conn), since: time.Now()}
	r.guests[g] = struct{}{}
	return g, nil
}

// resting is a guest that was waited for when it was searched.
type resting struct {
	*guest
	since time.Time
}

// closeOne closes the connection of a guest, if the service has waited for any long enough. Otherwise it returns when that will
// be so for one of them; 0: nobody knows.
func (r *room) closeOne() (soon time.Duration, closed bool) {
	for range 2 {
		for len(r.closable) > 0 {
			last := len(r.closable) - 1
			g := r.closable[last]
			if _, inside := r.guests[g.guest]; !inside || !g.restsSince(g.since) || g.unread() {
				r.closable = r.closable[:last]
				continue
			}
			if soon = r.least - time.Since(g.since); soon > 0 {
				return soon, false
			}
			r.closable = r.closable[:last]
			delete(r.guests, g.guest)
			g.Conn.Close()
			return 0, true
		}
		soon = r.search()
	}
	return soon, false
}

// waitFor waits until a guest goes, or is waited for, or a time has passed if it is not 0.
func (r *room) waitFor(d time.Duration) {
	if d > 0 {
		defer time.AfterFunc(d, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.freed.Broadcast()
		}).Stop()
	}
	r.freed.Wait()
}

// search finds whom to close next, or returns when to search again; 0: nobody knows. It goes through all guests, and so finds
// an eighth of those that rest at a time.
func (r *room) search() (again time.Duration) {
	var all, strange []resting
	strangers := 1 // the new one
	for g := range r.guests {
		known := g.isKnown()
		if !known {
			strangers++
		}
		since, rests := g.rests()
		if !rests {
			continue
		}
		if g.unread() {
			again = r.least
			continue
		}
		all = append(all, resting{g, since})
		if !known {
			strange = append(strange, resting{g, since})
		}
	}
	found, enough := all, max(1, len(all)/8)
	if beyond := strangers - r.most/2; beyond > 0 && len(strange) > 0 {
		found, enough = strange, min(enough, beyond)
	}
	slices.SortFunc(found, func(a, b resting) int { return b.since.Compare(a.since) })
	r.closable = found[max(0, len(found)-enough):]
	return again
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
	for (len(r.guests) > 0 || !r.empty) && ctx.Err() == nil {
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

// leave takes a guest out that has gone.
func (r *room) leave(g *guest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.guests, g)
	r.freed.Broadcast()
}
