package app

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"inventory/internal/api"
)

// wire is an HTTP/1 connection that turns the answers that net/http makes itself into problems.
type wire struct {
	net.Conn
	caller *api.Connection
	unread atomic.Bool // the caller may still be sending a body when it is closed: see linger
	hasty  atomic.Bool // the caller has sent a request before it had the answer to an earlier one
	reads  atomic.Bool // its request is one that only reads

	encrypted bool
	heard     atomic.Int64 // when an encrypted caller has last sent something, in nanoseconds
}

func newWire(conn net.Conn) *wire { return &wire{Conn: conn, caller: connectionOf(conn)} }

// Read reads what the caller sends. While a handler works, net/http reads a single byte: what it reads is the next request,
// and at the end of input it cancels the handler. But a caller may end its sending side and read on. So the end of input
// is told only if the caller has hung up.
func (w *wire) Read(to []byte) (int, error) {
	n, err := w.Conn.Read(to)
	switch {
	case len(to) > 1:
	case n > 0:
		w.hasty.Store(true)
	case errors.Is(err, io.EOF):
		return 0, w.caller.AwaitEnd(w.silence(), w.reads.Load())
	}
	if w.encrypted && n > 0 {
		w.heard.Store(time.Now().UnixNano())
	}
	return n, err
}

// silence returns for how long an encrypted caller has sent nothing: to the system the end of its side is a few bytes more.
func (w *wire) silence() time.Duration {
	if !w.encrypted {
		return 0
	}
	return time.Since(time.Unix(0, w.heard.Load()))
}

// Write writes an answer, or a part of one. An answer that net/http makes itself is one write.
func (w *wire) Write(answer []byte) (int, error) {
	problem, ok := api.RawProblem(answer)
	if !ok {
		return w.Conn.Write(answer)
	}
	if _, err := w.Conn.Write(problem); err != nil {
		return 0, err
	}
	return len(answer), nil
}

// NetConn returns the connection inside.
func (w *wire) NetConn() net.Conn { return w.Conn }

// CloseWrite ends the sending side. net/http calls it before it closes a connection whose caller may still be sending.
func (w *wire) CloseWrite() error { return linger(w.Conn) }

// Close closes the connection.
func (w *wire) Close() error {
	if w.unread.Swap(false) {
		_ = linger(w.Conn) // what fails here fails below
	}
	return w.Conn.Close()
}

// encryptedWire is a wire whose requests know how they were encrypted.
type encryptedWire struct {
	*wire
	tls *tls.Conn
}

// ConnectionState is for net/http, which calls it.
func (w encryptedWire) ConnectionState() tls.ConnectionState { return w.tls.ConnectionState() }

// wires is a listener of wires.
type wires struct{ net.Listener }

// Accept waits for the next connection.
func (l wires) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newWire(conn), nil
}

// encrypted is a listener that returns connections after their handshake, when their version of HTTP is known. net/http
// accepts HTTP/2 only on a connection of crypto/tls itself, so only connections of HTTP/1 become wires.
type encrypted struct {
	net.Listener
	config  *tls.Config
	log     *slog.Logger
	shaken  chan net.Conn
	failed  chan error // of Accept
	closing context.Context
	close   context.CancelFunc
	running sync.WaitGroup
}

func encrypt(l net.Listener, config *tls.Config, log *slog.Logger) *encrypted {
	e := &encrypted{Listener: l, config: config, log: log, shaken: make(chan net.Conn), failed: make(chan error)}
	e.closing, e.close = context.WithCancel(context.Background())
	e.running.Go(e.run)
	return e
}

// run makes the handshakes of connections, as many at a time as there may be connections.
func (e *encrypted) run() {
	for e.closing.Err() == nil {
		conn, err := e.Listener.Accept()
		if err == nil {
			e.running.Go(func() { e.shake(conn) })
			continue
		}
		select {
		case e.failed <- err: // net/http decides whether to go on
		case <-e.closing.Done():
		}
	}
}

func (e *encrypted) shake(conn net.Conn) {
	limited, cancel := context.WithTimeout(e.closing, headerTimeout)
	defer cancel()
	secure := tls.Server(conn, e.config)
	if err := secure.HandshakeContext(limited); err != nil {
		e.refuse(conn, err)
		return
	}
	if g := guestOf(conn); g != nil {
		g.heard()
	}
	var ready net.Conn = secure
	if secure.ConnectionState().NegotiatedProtocol != "h2" {
		inside := newWire(secure)
		inside.encrypted = true
		ready = encryptedWire{inside, secure}
	}
	select {
	case e.shaken <- ready:
	case <-e.closing.Done():
		conn.Close()
	}
}

// refuse ends a connection whose handshake has failed. Anybody can make a handshake fail, so it logs nothing.
func (e *encrypted) refuse(conn net.Conn, err error) {
	e.log.Debug("TLS handshake failed", "from", conn.RemoteAddr(), "error", err)
	if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok && plain.Conn != nil {
		_, _ = conn.Write(api.NoTLS()) // if the caller does not read it, nothing helps
		stop := context.AfterFunc(e.closing, func() { conn.Close() })
		_ = linger(conn)
		stop()
	}
	conn.Close()
}

// Accept waits for the next connection that has shaken hands.
func (e *encrypted) Accept() (net.Conn, error) {
	select {
	case conn := <-e.shaken:
		return conn, nil
	case err := <-e.failed:
		return nil, err
	case <-e.closing.Done():
		return nil, net.ErrClosed
	}
}

// Close stops accepting, and ends handshakes.
func (e *encrypted) Close() error {
	e.close()
	err := e.Listener.Close()
	e.running.Wait()
	return err
}
