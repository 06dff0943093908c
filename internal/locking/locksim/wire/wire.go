// Package wire has connections that never leave the memory. They wait in virtual time only, so that tests in bubbles of
// testing/synctest can use them in place of sockets.
package wire

import (
	"bytes"
	"net"
)

// A Wire is a client's end of a connection. It is a net.Conn.
type Wire struct {
	net.Conn
	in   chan []byte   // what comes from the network; nil hangs up
	over chan struct{} // closed when nobody reads it any more
}

// New returns a wire. Written bytes go to send. When the client has closed it, or it was hung up, close is called.
func New(send func([]byte), close func()) *Wire {
	near, far := net.Pipe()
	w := &Wire{Conn: near, in: make(chan []byte, 1<<10), over: make(chan struct{})}
	go w.read(far, send, close)
	go w.write(far)
	return w
}

// read hands to the network what the client writes.
func (w *Wire) read(far net.Conn, send func([]byte), closed func()) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := far.Read(buffer)
		if err != nil {
			close(w.over)
			closed()
			return
		}
		send(buffer[:n])
	}
}

// write brings to the client what comes from the network.
func (w *Wire) write(far net.Conn) {
	defer func() { _ = far.Close() }()
	for {
		select {
		case p := <-w.in:
			if p == nil {
				return
			}
			_, _ = far.Write(p) // a closed connection takes nothing
		case <-w.over:
			return
		}
	}
}

// Deliver brings what comes from the network.
func (w *Wire) Deliver(p []byte) {
	if len(p) > 0 {
		w.bring(bytes.Clone(p))
	}
}

// HangUp ends the connection, as the client hears of it: after all that was delivered.
func (w *Wire) HangUp() { w.bring(nil) }

func (w *Wire) bring(p []byte) {
	select {
	case w.in <- p:
	case <-w.over:
	}
}
