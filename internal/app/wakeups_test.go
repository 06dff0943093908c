package app

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"inventory/internal/locking/lockmetrics"
)

// TestAServerThatWakesNobodyIsAWarning, until it does.
func TestAServerThatWakesNobodyIsAWarning(t *testing.T) {
	t.Parallel()
	metrics, err := lockmetrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	warns := newWarnings(slog.New(slog.DiscardHandler))
	observer := wakeups{metrics, warns}
	observer.Polling(errors.New("NOPERM"))
	if got := warns.list(); len(got) != 1 {
		t.Errorf("it wakes nobody: got %v, want a warning", got)
	}
	observer.Polling(nil)
	if got := warns.list(); len(got) != 0 {
		t.Errorf("it wakes: got %v, want no warning", got)
	}
}
