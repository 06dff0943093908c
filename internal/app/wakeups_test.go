package app

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"inventory/internal/locking/lockmetrics"
)

// Two servers that wake nobody are one warning, which ends when both do.
func TestServersThatWakeNobodyAreOneWarning(t *testing.T) {
	t.Parallel()
	metrics, err := lockmetrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	warns, silent := newWarnings(slog.New(slog.NewTextHandler(&log, nil))), new(atomic.Int32)
	one, other := &wakeups{metrics, warns, silent}, &wakeups{metrics, warns, silent}
	one.Polling(errors.New("NOPERM"))
	other.Polling(errors.New("NOPERM"))
	if got := strings.Count(log.String(), "level=WARN"); got != 1 || len(warns.list()) != 1 {
		t.Errorf("two servers: %d lines and the warnings %v, want one of each", got, warns.list())
	}
	one.Polling(nil)
	if got := warns.list(); len(got) != 1 {
		t.Errorf("one server still wakes nobody: got %v, want a warning", got)
	}
	other.Polling(nil)
	if got := warns.list(); len(got) != 0 {
		t.Errorf("both wake: got %v, want no warning", got)
	}
}
