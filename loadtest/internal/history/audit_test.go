package history

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestAnAuditOutlivesItsRunForAWhile holds its two bounds.
func TestAnAuditOutlivesItsRunForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		audit, cancel := patience(ctx, time.Hour, time.Minute)
		defer cancel()
		time.Sleep(30 * time.Minute)
		interrupt()
		time.Sleep(time.Minute - time.Second)
		if audit.Err() != nil {
			t.Error("it has ended with its run")
		}
		time.Sleep(2 * time.Second)
		if audit.Err() == nil {
			t.Error("it goes on")
		}
		whole, cancel := patience(t.Context(), time.Hour, time.Minute)
		defer cancel()
		time.Sleep(time.Hour + time.Second)
		if whole.Err() == nil {
			t.Error("it has no bound")
		}
	})
}
