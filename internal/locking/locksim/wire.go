package locksim

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// A wire is a client's end of a connection. It is a net.Conn that never leaves the memory, and waits in
// virtual time only.
type wire struct {
	link *link

	mu     sync.Mutex
	in     []byte
	cut    bool // the other side is gone
	closed bool // this side is
	until  time.Time
	news   chan struct{}
}

func newWire(l *link) *wire { return &wire{link: l, news: make(chan struct{}, 1)} }

// Read waits for bytes, the end of the connection or the deadline.
func (w *wire) Read(p []byte) (int, error) {
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
func (w *wire) take(p []byte) (n int, until time.Time, err error) {
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

// Write hands the bytes to the network, and never waits.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	closed, cut := w.closed, w.cut
	w.mu.Unlock()
	if closed {
		return 0, net.ErrClosed
	}
	if cut {
		return 0, syscall.EPIPE
	}
	w.link.sent(p)
	return len(p), nil
}

// deliver is what comes from the network.
func (w *wire) deliver(p []byte) {
	w.mu.Lock()
	w.in = append(w.in, p...)
	w.mu.Unlock()
	w.look()
}

// hangUp is the end of the connection, as the client hears of it.
func (w *wire) hangUp() {
	w.mu.Lock()
	w.cut = true
	w.mu.Unlock()
	w.look()
}

// look makes a Read look again.
func (w *wire) look() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// Close ends the connection; what is under way arrives all the same.
func (w *wire) Close() error {
	w.mu.Lock()
	first := !w.closed
	w.closed = true
	w.mu.Unlock()
	w.look()
	if first {
		w.link.finish()
	}
	return nil
}

// SetReadDeadline bounds Read.
func (w *wire) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	w.until = t
	w.mu.Unlock()
	w.look()
	return nil
}

// SetDeadline bounds Read; writing does not wait.
func (w *wire) SetDeadline(t time.Time) error { return w.SetReadDeadline(t) }

// SetWriteDeadline does nothing: writing does not wait.
func (w *wire) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr is nobody's.
func (w *wire) LocalAddr() net.Addr { return address{} }

// RemoteAddr is nobody's.
func (w *wire) RemoteAddr() net.Addr { return address{} }

type address struct{}

// Network is none.
func (address) Network() string { return "simulated" }

// String is no address.
func (address) String() string { return "simulated" }
