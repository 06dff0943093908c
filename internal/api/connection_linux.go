package api

import "golang.org/x/sys/unix"

// peerClosed reports whether the peer of a socket sends no more, even if there is something left to read before the end.
func peerClosed(fd uintptr) bool {
	events := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} //nolint:gosec // a file descriptor
	n, err := unix.Poll(events, 0)
	return err == nil && n > 0 && events[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
}
