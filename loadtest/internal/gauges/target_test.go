package gauges

import (
	"io"
	"math"
	"os"
	"testing"
	"time"

	"inventory/internal/app"
	"inventory/loadtest/internal/target"
)

func open(t *testing.T, c target.Config) *target.Target {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.Process = target.Process{Command: []string{program, serves}, Logs: io.Discard}
	to, err := target.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := to.Close(); err != nil {
			t.Error(err)
		}
	})
	return to
}

// TestPrivateServersAreAllTold starts them as scenarios do.
func TestPrivateServersAreAllTold(t *testing.T) {
	t.Parallel()
	got := Start(t.Context(), Of(open(t, target.Config{Private: true})), time.Hour).Stop()
	if len(got.Notes) > 0 {
		t.Errorf("notes %q", got.Notes)
	}
	for _, p := range processes() {
		if math.IsNaN(got.CPU(p)) {
			t.Errorf("the processor time of %v is not known", p)
		}
	}
	if math.IsNaN(got.Grown(redisCommands)) || math.IsNaN(got.Grown(walSyncs)) {
		t.Errorf("%v commands, %v syncs", got.Grown(redisCommands), got.Grown(walSyncs))
	}
}

func TestEmbeddedIsSaidToBe(t *testing.T) {
	t.Parallel()
	sources := Of(open(t, target.Config{}))
	if sources.RedisURL != app.Embedded || len(sources.ServiceMetricsURLs) != 1 {
		t.Errorf("%+v", sources)
	}
}
