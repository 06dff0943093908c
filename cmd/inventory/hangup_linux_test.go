package main

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// finWait2 is the state of a TCP connection whose peer's kernel has confirmed that no more is sent.
const finWait2 = 5

// hangUp closes a connection, and returns when the peer's kernel knows. On a busy machine that can take a while, and
// until then the process cannot see it.
func hangUp(t *testing.T, conn net.Conn) {
	t.Helper()
	tcp := conn.(*net.TCPConn)
	raw, err := tcp.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := tcp.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for known := false; !known; {
		var info *unix.TCPInfo
		var failed error
		err := raw.Control(func(fd uintptr) { info, failed = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		known = info.State == finWait2
		if t.Context().Err() != nil {
			t.Fatal("the peer does not hear of it")
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}
