package breaks

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"inventory/loadtest/internal/worker"
)

// TestMain makes the test program the process that it starts.
func TestMain(m *testing.M) {
	worker.Main(map[string]worker.Work{Worker: Hold})
	logging.Disable()
	goleak.VerifyTestMain(m)
}
