// Package wire has connections that never leave the memory. They wait in virtual time only, so that tests in bubbles of
// testing/synctest can use them in place of sockets.
package wire

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// A Wire is a client's end of a connection. It is a net.Conn.
type Wire struct {
	send  func([]byte)
	close func()

	mu     sync.Mutex
	in     []byte
	cut    bool // the other side is gone
	closed bool // this side is
	until  time.Time
	news   chan struct{}
}

// New returns a wire. What is written goes to send; the first Close calls close.
func New(send func([]byte), close func()) *Wire {
	return &Wire{send: send, close: close, news: make(chan struct{}, 1)}
}

// Read waits for bytes, the end of the connection or the deadline.
func (w *Wire) Read(p []byte) (int, error) {
	for {
		n, until, err := w.take(p)
		if n > 0 || err != nil {
			return n, err
		}
		if until.IsZero() {
			<-w.news
			continue
		}
		timer := time.NewTimer(time.Until(until))
		select {
		case <-w.news:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// take is Read without waiting.
func (w *Wire) take(p []byte) (n int, until time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return 0, w.until, net.ErrClosed
	case len(w.in) > 0:
		n = copy(p, w.in)
		w.in = w.in[n:]
		return n, w.until, nil
	case w.cut:
		return 0, w.until, io.EOF
	case !w.until.IsZero() && !time.Now().Before(w.until):
		return 0, w.until, os.ErrDeadlineExceeded
	}
	return 0, w.until, nil
}

// Write hands the bytes to the network.
func (w *Wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	closed, cut := w.closed, w.cut
	w.mu.Unlock()
	if closed {
		return 0, net.ErrClosed
	}
	if cut {
		return 0, syscall.EPIPE
	}
	w.send(p)
	return len(p), nil
}

// Deliver brings what comes from the network.
func (w *Wire) Deliver(p []byte) {
	w.mu.Lock()
	w.in = append(w.in, p...)
	w.mu.Unlock()
	w.look()
}

// HangUp ends the connection, as the client hears of it.
func (w *Wire) HangUp() {
	w.mu.Lock()
	w.cut = true
	w.mu.Unlock()
	w.look()
}

// look makes a Read look again.
func (w *Wire) look() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// Close ends the connection; what is under way arrives all the same.
func (w *Wire) Close() error {
	w.mu.Lock()
	first := !w.closed
	w.closed = true
	w.mu.Unlock()
	w.look()
	if first {
		w.close()
	}
	return nil
}

// SetReadDeadline bounds Read.
func (w *Wire) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	w.until = t
	w.mu.Unlock()
	w.look()
	return nil
}

// SetDeadline bounds Read; writing does not wait.
func (w *Wire) SetDeadline(t time.Time) error { return w.SetReadDeadline(t) }

// SetWriteDeadline does nothing: writing does not wait.
func (w *Wire) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr is nobody's.
func (w *Wire) LocalAddr() net.Addr { return address{} }

// RemoteAddr is nobody's.
func (w *Wire) RemoteAddr() net.Addr { return address{} }

type address struct{}

// Network is none.
func (address) Network() string { return "simulated" }

// String is no address.
func (address) String() string { return "simulated" }
