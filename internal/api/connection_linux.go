package api

import (
	"time"

	"golang.org/x/sys/unix"
)

// knowsHalfClose: the system knows when a caller has ended its side.
const knowsHalfClose = true

// hasHungUp reports whether the peer of a socket has reset the connection, or has ended its side of it later than one that
// reads on. It need not be read to its end.
func hasHungUp(fd uintptr) bool {
	events := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} //nolint:gosec // a file descriptor
	switch n, err := unix.Poll(events, 0); {
	case err != nil || n == 0:
		return false
	case events[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0:
		return true
	}
	// The end of its side came with the last acknowledgement: none follows while nothing is sent.
	info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) //nolint:gosec // a file descriptor
	return err == nil && time.Duration(int64(info.Last_data_recv)-int64(info.Last_ack_recv))*time.Millisecond > halfCloseWithin
}
