package history

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestAnAuditOutlivesItsRun for a while.
func TestAnAuditOutlivesItsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run, interrupt := context.WithCancel(t.Context())
		audit, cancel := Patience(run)
		defer cancel()
		time.Sleep(limit / 2) // of a clock that waits for nothing
		interrupt()
		time.Sleep(lateLimit - time.Second)
		if audit.Err() != nil {
			t.Error("it ended with its run")
		}
		time.Sleep(2 * time.Second)
		if audit.Err() == nil {
			t.Error("it goes on and on")
		}
		unhurried, cancel := Patience(t.Context())
		defer cancel()
		time.Sleep(limit - time.Second)
		if unhurried.Err() != nil {
			t.Error("it ended before its time")
		}
	})
}
