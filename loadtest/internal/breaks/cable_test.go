package breaks

import (
	"errors"
	"io"
	"net"
	"testing"
)

func TestCable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c := &cable{}
	connect := func() (near, far net.Conn) {
		t.Helper()
		near, err := c.dial(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if far, err = listener.Accept(); err != nil {
			t.Fatal(err)
		}
		return near, far
	}
	for _, out := range []bool{false, true} {
		near, far := connect()
		c.set(out)
		for _, conn := range []net.Conn{near, far} {
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("read from a connection that was cut: %v", err)
			}
			_ = conn.Close()
		}
	}
	if _, err := c.dial(t.Context(), "tcp", listener.Addr().String()); !errors.Is(err, errOut) {
		t.Errorf("dial while the cable is out: %v", err)
	}
	c.set(false)
	near, far := connect()
	_, _ = near.Close(), far.Close()
}
