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
		audit, cancel := patience(run, time.Hour, time.Minute)
		defer cancel()
		time.Sleep(30 * time.Minute) // of a clock that waits for nothing
		interrupt()
		time.Sleep(59 * time.Second)
		if audit.Err() != nil {
			t.Error("it ended with its run")
		}
		time.Sleep(2 * time.Second)
		if audit.Err() == nil {
			t.Error("it goes on and on")
		}
		unhurried, cancel := patience(t.Context(), time.Hour, time.Minute)
		defer cancel()
		time.Sleep(59 * time.Minute)
		if unhurried.Err() != nil {
			t.Error("it ended before its time")
		}
	})
}
