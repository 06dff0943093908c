package app

import (
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestWhoEndsItsSideIsAnswered: a caller may end its sending side after its request, and read on.
func TestWhoEndsItsSideIsAnswered(t *testing.T) {
	t.Parallel()
	begun, end := make(chan struct{}), make(chan struct{})
	_, address := listen(t, func(_ http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		select {
		case <-end:
		case <-r.Context().Done():
			t.Error("the request has ended before it was answered")
			<-end
		}
	})
	for _, sent := range []string{
		request, "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
	} {
		c := call(t, address)
		c.send(sent)
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		<-begun
		time.Sleep(100 * time.Millisecond) // in which the request must not end
		end <- struct{}{}
		c.answered()
		if _, err := c.answers.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("%q: after the answer: %v", sent, err)
		}
	}
}

// TestWhoHangsUpEndsItsRequest: also a caller that had ended its sending side before.
func TestWhoHangsUpEndsItsRequest(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}), make(chan struct{})
	_, address := listen(t, func(_ http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	})
	for name, leave := range map[string]func(*net.TCPConn) error{
		"reset":            func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) },
		"ended, and reset": func(c *net.TCPConn) error { return errors.Join(c.CloseWrite(), c.SetLinger(0), c.Close()) },
		"closed later": func(c *net.TCPConn) error {
			time.Sleep(200 * time.Millisecond) // a caller that loses patience
			return c.Close()
		},
	} {
		c := call(t, address)
		c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
		<-begun
		if err := leave(c.Conn.(*net.TCPConn)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the request goes on", name)
		}
	}
}
