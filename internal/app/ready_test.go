package app_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"inventory/internal/app"
)

// TestADatabaseThatTakesNoWritesIsNotReady: a standby, for example. The service starts on it, and may become ready.
func TestADatabaseThatTakesNoWritesIsNotReady(t *testing.T) {
	t.Parallel()
	url := open(t, app.LockNone, "").url // has the schema
	a, err := app.Start(t.Context(), app.Config{DatabaseURL: url + "&default_transaction_read_only=on", Lock: app.LockNone})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.AdminURL()+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), `"database":"not_writable"`) {
		t.Errorf("got %s %s, %v; want 503 with the database not_writable", response.Status, body, err)
	}
}
