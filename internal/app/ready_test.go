package app_test

import (
	"net/http"
	"strings"
	"testing"

	"inventory/internal/app"
	"inventory/internal/busytest"
)

// TestADatabaseThatTakesNoWritesIsNotReady: a standby, for example. The service starts on it, and may become ready.
func TestADatabaseThatTakesNoWritesIsNotReady(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	url := open(t, app.LockNone, "").url // has the schema
	a := startOn(t, app.Config{DatabaseURL: url + "&default_transaction_read_only=on", Lock: app.LockNone})
	busytest.Soon(t, "the database is not_writable", func() bool { // and not unreachable, as a busy one may be
		status, body := ask(t, a.AdminURL()+"/readyz")
		if status != http.StatusServiceUnavailable {
			t.Fatalf("got %d %s, want 503", status, body)
		}
		return strings.Contains(body, `"database":"not_writable"`)
	})
}
