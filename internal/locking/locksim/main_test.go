package locksim_test

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

func TestMain(m *testing.M) {
	logging.Disable()       // the client library reports every connection that we cut
	debug.SetGCPercent(400) // a history is short, and most of its memory is garbage at its end
	os.Exit(m.Run())
}
