package app

import (
	"log/slog"
	"testing"
)

func TestOnlyWindowsIsWarnedOf(t *testing.T) {
	t.Parallel()
	for system, want := range map[string]bool{"windows": true, "linux": false, "darwin": false, "freebsd": false} {
		a := &App{warnings: newWarnings(slog.New(slog.DiscardHandler))}
		a.warnOfPlatform(system)
		if _, warned := a.warnings.list()["platform"]; warned != want {
			t.Errorf("on %s the warning is there: %v, want %v", system, warned, want)
		}
	}
}
