package app

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
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

// leastWaitTLS is the same over TLS, where a new caller shakes hands first.
const leastWaitTLS = 500 * time.Millisecond

// lookAgain is between looks for a place in a full listener, and for the end of the last connection.
const lookAgain = 2 * time.Millisecond

// A listener has a bounded number of connections. If a connection comes when all places are taken, it gets the place of one whose
// caller the service waits for: for a header, for a body, until an answer is read, or for the next request. Of those the
// listener closes the one for which the service has waited longest. So a caller that does not go on keeps nobody out, whatever it
// leaves undone. A new connection waits only if the service works for all others.
//
// Callers that only connect could still take the place of one that rests between two requests. So strangers, whose
// connections have had no request of an admitted caller, are closed first while they have at least half of the places.
type listener struct {
	net.Listener
	most    int
	least   time.Duration // see leastWait
	closing context.Context
	close   func() error // of the listener inside, once: the server closes it too

	mu               sync.Mutex
	inside           int       // how many connections there are
	strangers, known list.List // of *conn: those that the service waits for, the longest first
}

func newListener(inner net.Listener, most int, least time.Duration) *listener {
	l := &listener{Listener: inner, most: most, least: least}
	closing, end := context.WithCancel(context.Background())
	l.closing, l.close = closing, sync.OnceValue(func() error {
		end()
		return inner.Close()
	})
	return l
}

// Accept waits for the next connection, and for a place for it.
func (l *listener) Accept() (net.Conn, error) {
	inner, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	for {
		if c := l.place(inner); c != nil {
			return c, nil
		}
		if err := sleep(l.closing, lookAgain); err != nil {
			inner.Close()
			return nil, net.ErrClosed
		}
	}
}

// place gives a connection a place, if there is one or one can be freed.
func (l *listener) place(inner net.Conn) *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside >= l.most {
		longest := l.longest()
		if longest == nil || time.Since(longest.since) < l.least {
			return nil
		}
		longest.leave()
		longest.Conn.Close()
	}
	c := &conn{Conn: inner, listener: l}
	l.inside++
	c.wait()
	return c
}

// longest returns the connection to be closed first; nil: the service works for all.
func (l *listener) longest() *conn {
	stranger, known := firstOf(&l.strangers), firstOf(&l.known)
	switch {
	case stranger == nil:
		return known
	case known == nil, l.strangers.Len() >= l.most/2, stranger.since.Before(known.since):
		return stranger
	default:
		return known
	}
}

func firstOf(waiting *list.List) *conn {
	if first := waiting.Front(); first != nil {
		return first.Value.(*conn)
	}
	return nil
}

// Close stops accepting. Connections stay.
func (l *listener) Close() error { return l.close() }

// drain waits until all connections have ended, or ctx ends.
func (l *listener) drain(ctx context.Context) {
	for l.count() > 0 && sleep(ctx, lookAgain) == nil {
	}
}

// count returns how many connections there are.
func (l *listener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inside
}

// conn is a connection of a listener. The service works on some of its requests, or waits for its caller.
type conn struct {
	net.Conn
	listener *listener
	admitted atomic.Bool // a request of an admitted caller has come

	// With the listener's mu:
	ended    bool
	requests int           // how many the service works on; 0: it waits for the caller
	since    time.Time     // when it began to wait
	among    *list.List    // strangers or known, when it last waited
	element  *list.Element // its place there
}

// Close closes the connection.
func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.leave()
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends the sending side. net/http calls it so that a caller can read the answer before the connection ends.
func (c *conn) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// leave frees the place, with mu.
func (c *conn) leave() {
	c.among.Remove(c.element)
	if !c.ended {
		c.ended = true
		c.listener.inside--
	}
}

// wait notes that the service waits for the caller since now, with mu.
func (c *conn) wait() {
	c.since, c.among = time.Now(), &c.listener.strangers
	if c.admitted.Load() {
		c.among = &c.listener.known
	}
	c.element = c.among.PushBack(c)
}

// work notes that the service works on one more request.
func (c *conn) work() {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.requests++
	c.among.Remove(c.element)
}

// pause notes that the service works on one request less.
func (c *conn) pause() {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if c.requests--; c.requests == 0 && !c.ended {
		c.wait()
	}
}

type connKey struct{}

// connContext is for [http.Server.ConnContext].
func connContext(ctx context.Context, outer net.Conn) context.Context {
	if encrypted, ok := outer.(*tls.Conn); ok {
		outer = encrypted.NetConn()
	}
	c := outer.(*conn) // as the listener is a [listener]
	return api.WithAdmitted(context.WithValue(ctx, connKey{}, c), &c.admitted)
}

// noteWork passes requests to a handler, and notes for their connections when the service works: from the end of the body
// until the handler is done, but not while it writes.
func noteWork(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := &exchange{ResponseWriter: w, ReadCloser: r.Body, conn: r.Context().Value(connKey{}).(*conn)} // as the server has connContext
		if r.ProtoMajor == 1 {
			e.room = keptBytes
		}
		defer e.pause()
		if r.ContentLength == 0 {
			e.work()
		} else {
			e.request = *r // net/http checks the body of its own request
			e.request.Body = e
			r = &e.request
		}
		next.ServeHTTP(e, r)
	})
}

// exchange is a request and its answer. While its body is read the service waits for the caller, and while its answer is written:
// over HTTP/2 a write waits for the caller's window, without any write to the connection.
type exchange struct {
	http.ResponseWriter
	io.ReadCloser              // the body
	request       http.Request // with it
	conn          *conn
	works         bool // the service works on it
	room          int  // bytes that net/http still keeps until the handler is done: to write them waits for nobody
}

// keptBytes of an answer net/http keeps over HTTP/1.
const keptBytes = 2 << 10

func (e *exchange) work() {
	if !e.works {
		e.works = true
		e.conn.work()
	}
}

// pause reports false if the service did not work on it.
func (e *exchange) pause() bool {
	worked := e.works
	if e.works = false; worked {
		e.conn.pause()
	}
	return worked
}

// Read reads bytes of the body, and notes its end.
func (e *exchange) Read(to []byte) (int, error) {
	n, err := e.ReadCloser.Read(to)
	if errors.Is(err, io.EOF) {
		e.work()
	}
	return n, err
}

// Write writes bytes of the answer.
func (e *exchange) Write(text []byte) (int, error) {
	if e.room -= len(text); e.room < 0 && e.pause() {
		defer e.work()
	}
	return e.ResponseWriter.Write(text)
}

// FlushError is for [http.ResponseController].
func (e *exchange) FlushError() error {
	if e.pause() {
		defer e.work()
	}
	return http.NewResponseController(e.ResponseWriter).Flush()
}

// Unwrap is for [http.ResponseController].
func (e *exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }
