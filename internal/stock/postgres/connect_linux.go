package postgres

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// limitUnacknowledged makes the kernel give up a connection when what was sent is not acknowledged in time.
func limitUnacknowledged(socket syscall.RawConn, limit time.Duration) error {
	var err error
	controlErr := socket.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
	})
	return errors.Join(controlErr, err)
}
