package app

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"inventory/internal/api"
)

// wire is an HTTP/1 connection that turns the answers that net/http makes itself into problems.
type wire struct {
	net.Conn
	unread atomic.Bool // the caller may still be sending a body when it is closed: see linger
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
	return &wire{Conn: conn}, nil
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
	var ready net.Conn = secure
	if secure.ConnectionState().NegotiatedProtocol != "h2" {
		ready = encryptedWire{&wire{Conn: secure}, secure}
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
