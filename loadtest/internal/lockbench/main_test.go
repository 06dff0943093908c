package lockbench

import (
	"testing"

	"go.uber.org/goleak"

	"inventory/loadtest/internal/worker"
)

// TestMain makes the test program the processes that it starts.
func TestMain(m *testing.M) {
	worker.Main(map[string]worker.Work{Worker: Work})
	goleak.VerifyTestMain(m)
}
