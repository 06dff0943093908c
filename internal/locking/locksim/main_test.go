package locksim_test

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

func TestMain(m *testing.M) {
	logging.Disable() // the client library reports every connection that we cut
	os.Exit(m.Run())
}
