package app

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// A caller may be answered before it has sent all of its body: that is too large, or the key is wrong. If the connection is
// closed with bytes that nobody has read, the system resets it, and the caller, who still sends, may never see the answer. So
// what comes is read for a while, and forgotten.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 16 << 20
)

// linger ends the sending side of a connection, and reads what still comes.
func linger(conn net.Conn) error {
	err := closeWrite(conn)
	_ = conn.SetReadDeadline(time.Now().Add(lingerTime)) // fails on a connection that is closed, and so does what follows
	_, _ = io.CopyN(io.Discard, conn, lingerBytes)       // whatever ends it, the answer is sent
	return err
}

type wireKey struct{}

// wireContext is for [http.Server.ConnContext]: requests know their wire.
func wireContext(ctx context.Context, conn net.Conn) context.Context {
	switch c := conn.(type) {
	case *wire:
		return context.WithValue(ctx, wireKey{}, c)
	case encryptedWire:
		return context.WithValue(ctx, wireKey{}, c.wire)
	default: // HTTP/2 resets the request alone
		return ctx
	}
}

// lingering makes a wire linger whose caller wants it closed after the answer. net/http ends it at once, whatever has not been
// read; in all other cases it calls CloseWrite first.
func lingering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		if !r.Close || r.ContentLength <= 0 || r.Header["Expect"] != nil {
			return
		}
		if _, err := r.Body.Read(nil); err != nil {
			return // it was read to its end
		}
		if wire, ok := r.Context().Value(wireKey{}).(*wire); ok {
			wire.unread.Store(true)
		}
	})
}
