package app

import (
	"errors"
	"net"
	"net/http"
	"testing"

	"inventory/internal/busytest"
)

// TestHangUpEndsTheRequest: also a caller that ends its sending side.
func TestHangUpEndsTheRequest(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}), make(chan struct{})
	_, address := listen(t, func(_ http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	})
	for name, leave := range map[string]func(*net.TCPConn) error{
		"reset":              func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) },
		"closed":             (*net.TCPConn).Close,
		"ended sending side": (*net.TCPConn).CloseWrite,
	} {
		c := call(t, address)
		c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
		busytest.Receive(t, "the request", begun)
		if err := leave(c.Conn.(*net.TCPConn)); err != nil {
			t.Fatal(err)
		}
		busytest.Receive(t, "the end of the request of a caller that has "+name, ended)
	}
}
