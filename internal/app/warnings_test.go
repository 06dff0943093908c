package app

import (
	"strings"
	"testing"

	"inventory/internal/busytest"
)

func TestWarningsAreLoggedWhenTheyBeginAndEnd(t *testing.T) {
	t.Parallel()
	var log busytest.Log
	w := newWarnings(log.Logger())
	w.begin("wake_ups", "the Redis user must be allowed to SUBSCRIBE", "error", "NOPERM")
	w.begin("wake_ups", "the Redis user must be allowed to SUBSCRIBE", "error", "NOPERM")
	if got := strings.Count(log.String(), "level=WARN"); got != 1 {
		t.Errorf("a warning that begins twice is logged %d times, want 1:\n%s", got, log.String())
	}
	if got := w.list(); len(got) != 1 || got["wake_ups"] == "" {
		t.Errorf("current warnings: got %v, want wake_ups alone", got)
	}
	w.end("wake_ups")
	w.end("wake_ups")
	if got := strings.Count(log.String(), "level=INFO"); got != 1 {
		t.Errorf("a warning that ends twice is logged %d times, want 1:\n%s", got, log.String())
	}
	if got := w.list(); len(got) != 0 {
		t.Errorf("current warnings: got %v, want none", got)
	}
	w.begin("wake_ups", "the Redis user must be allowed to SUBSCRIBE")
	if got := strings.Count(log.String(), "level=WARN"); got != 2 {
		t.Errorf("a warning that begins again is logged %d times in all, want 2:\n%s", got, log.String())
	}
}
