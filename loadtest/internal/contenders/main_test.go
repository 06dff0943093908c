package contenders

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"inventory/internal/busytest"
	"inventory/loadtest/internal/afternoon"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/target"
	"inventory/loadtest/internal/worker"
)

// TestMain makes the test program the processes that it starts.
func TestMain(m *testing.M) {
	worker.Main(map[string]worker.Work{target.Worker: target.Serve, crowd.Worker: crowd.Work, afternoon.Worker: afternoon.Serve})
	logging.Disable()
	busytest.Main(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"), // which sleep
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*Client).mCleaner"))
}
