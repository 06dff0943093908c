//go:build !linux

package postgres

import (
	"syscall"
	"time"
)

// limitUnacknowledged does nothing here: only the bounds of statements apply.
func limitUnacknowledged(syscall.RawConn, time.Duration) error { return nil }
