package tail

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"inventory/internal/cli"
	"inventory/loadtest/internal/target"
)

// asWorker makes the test program the processes that it starts.
const asWorker = "tail-worker"

func TestMain(m *testing.M) {
	logging.Disable()
	if len(os.Args) == 2 && os.Args[1] == asWorker {
		if err := target.Serve(context.Background(), os.Stdin, cli.Streams{Out: os.Stdout, Err: os.Stderr}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}
