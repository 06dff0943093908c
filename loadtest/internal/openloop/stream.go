package openloop

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// Request is what is sent.
type Request struct {
	Method string
	Path   string // behind the base URL of the service, with the / it begins with
	Body   []byte // JSON; nil: none
}

// Stream is what is sent at planned times: as many requests as there are times. It is read by several goroutines at once.
type Stream interface {
	// Request returns the i-th, whose body may be appended to buffer.
	Request(i int, buffer []byte) Request
}

// Sum is the SHA-256 of a stream and its planned times: over a line "NANOSECONDS METHOD PATH BODY" of each request.
func Sum(at []time.Duration, stream Stream) string {
	sum := sha256.New()
	var buffer []byte
	for i, planned := range at {
		r := stream.Request(i, buffer[:0])
		// A hash does not fail.
		_, _ = fmt.Fprintf(sum, "%d %s %s %s\n", planned, r.Method, r.Path, r.Body)
		buffer = r.Body
	}
	return hex.EncodeToString(sum.Sum(nil))
}
