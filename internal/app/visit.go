package app

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"time"

	"inventory/internal/api"
)

// unreadTime is for how long the service waits for the rest of a body that its handler does not want. A caller that sends it
// by then keeps its connection.
const unreadTime = 250 * time.Millisecond

// place is what a request knows of its connection.
type place struct {
	guest *guest // nil: not in a room
	wire  *wire  // nil: of HTTP/2
}

type placeKey struct{}

// hasty reports whether the caller has sent a request before it had the answer to an earlier one.
func (p *place) hasty() bool { return p.wire != nil && p.wire.hasty.Load() }

// placeContext is for [http.Server.ConnContext].
func placeContext(ctx context.Context, conn net.Conn) context.Context {
	p := &place{guest: guestOf(conn)}
	switch c := conn.(type) {
	case *wire:
		p.wire = c
	case encryptedWire:
		p.wire = c.wire
	}
	return api.ConnContext(context.WithValue(ctx, placeKey{}, p), connectionOf(conn))
}

// connectionOf returns what the API knows of a connection.
func connectionOf(conn net.Conn) *api.Connection {
	if g := guestOf(conn); g != nil {
		return g.caller
	}
	return api.NewConnection(conn)
}

// attended passes requests to a handler, and notes for their guests when the service works and when it waits: for a body, until
// a caller reads its answer, and from when the handler is done.
func attended(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := r.Context().Value(placeKey{}).(*place)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		if p.hasty() {
			runtime.Gosched() // its next requests are there already: it would leave the processor to nobody
		}
		if p.wire != nil {
			p.wire.reads.Store(r.Method == http.MethodGet || r.Method == http.MethodHead)
		}
		v := &visit{ResponseWriter: w, place: p}
		if r.ContentLength == 0 {
			v.begin()
		} else {
			v.request = *r // net/http looks at the body of its own request
			v.body = body{r.Body, v}
			v.request.Body = &v.body
			r = &v.request
		}
		if p.guest != nil {
			w = v
		}
		next.ServeHTTP(w, r)
		v.end()
	})
}

// visit is a request that is being answered.
type visit struct {
	http.ResponseWriter
	*place
	request http.Request
	body    body
	working bool
}

func (v *visit) begin() {
	if !v.working {
		v.working = true
		v.guest.begin()
	}
}

// end is for when the handler is done. The bodies that it did not want are not waited for.
func (v *visit) end() {
	if v.working {
		v.guest.finish(!v.hasty())
		return
	}
	if v.wire == nil || v.request.Header["Expect"] != nil { // HTTP/2 resets the request alone; a caller that expects to be asked sends nothing
		return
	}
	v.wire.unread.Store(true)
	_ = http.NewResponseController(v.ResponseWriter).SetReadDeadline(time.Now().Add(unreadTime)) // fails on a connection that is closed
}

// Write writes a part of the answer. The caller has to read it.
func (v *visit) Write(part []byte) (int, error) {
	defer v.pause()()
	return v.ResponseWriter.Write(part)
}

// FlushError sends what was written.
func (v *visit) FlushError() error {
	defer v.pause()()
	return http.NewResponseController(v.ResponseWriter).Flush()
}

// pause notes that the caller is waited for, until the returned function is called.
func (v *visit) pause() (resume func()) {
	if !v.working {
		return func() {}
	}
	v.guest.finish(true)
	return v.guest.begin
}

// Unwrap is for [http.ResponseController].
func (v *visit) Unwrap() http.ResponseWriter { return v.ResponseWriter }

// body is the body of a visit. The service works from its end on.
type body struct {
	io.ReadCloser
	visit *visit
}

// Read reads a part of the body.
func (b *body) Read(part []byte) (int, error) {
	n, err := b.ReadCloser.Read(part)
	if errors.Is(err, io.EOF) {
		b.visit.begin()
	}
	return n, err
}
