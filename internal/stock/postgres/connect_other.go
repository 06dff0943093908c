//go:build !linux

package postgres

import (
	"syscall"
	"time"
)

// limitUnacknowledged leaves it to the bounds of statements.
func limitUnacknowledged(syscall.RawConn, time.Duration) error { return nil }
