package api

import (
	"time"

	"golang.org/x/sys/unix"
)

// tellsApart: the system knows when a caller has ended its side.
const tellsApart = true

// hasReset reports whether the peer of a socket has reset the connection.
func hasReset(fd uintptr) bool { return polled(fd)&(unix.POLLHUP|unix.POLLERR) != 0 }

// hasHungUp reports whether the peer of a socket has reset the connection, or has ended its side of it later than one that
// reads on. It need not be read to its end.
func hasHungUp(fd uintptr) bool {
	switch events := polled(fd); {
	case events == 0:
		return false
	case events&(unix.POLLHUP|unix.POLLERR) != 0:
		return true
	}
	// The end of its side came with the last acknowledgement: none follows while nothing is sent.
	info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) //nolint:gosec // a file descriptor
	return err == nil && time.Duration(int64(info.Last_data_recv)-int64(info.Last_ack_recv))*time.Millisecond > readsOn
}

// polled returns what has happened at the end of a socket's peer; 0: nothing.
func polled(fd uintptr) int16 {
	events := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} //nolint:gosec // a file descriptor
	if n, err := unix.Poll(events, 0); err != nil || n == 0 {
		return 0
	}
	return events[0].Revents
}

// hasUnread reports whether bytes of a socket wait to be read.
func hasUnread(fd uintptr) bool {
	bytes, err := unix.IoctlGetInt(int(fd), unix.SIOCINQ) //nolint:gosec // a file descriptor
	return err == nil && bytes > 0
}
