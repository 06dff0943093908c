package app

import (
	"io"
	"net"
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
